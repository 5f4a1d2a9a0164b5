"""The sampler: logits to tokens, in one pass over all rows, with per-row parameters.

Logits come here edited (`edits.py`). A greedy row takes the largest. Any other row divides by its temperature, cuts
away tokens by min_p, top_k, top_p and typical_p, in this order, and takes the largest sum of logit and Gumbel noise
(`noise.py`), which is a draw from the softmax of what is left. Every cut is a threshold, and tokens equal to it
stay: the result does not depend on how a sort breaks ties.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from overt.engine.arena import PARAM_COLUMNS, Words
from overt.engine.noise import gumbel, row_keys

SHORTLIST: Final = 65
"""Most likely tokens looked at first: 64, and one that shows whether the 64th has an equal."""

BROKEN: Final = -1
"""Token of a row whose logits were not finite."""

NOTHING_ALLOWED: Final = -2
"""Token of a row whose edits left no token."""

_LADDER: Final = (SHORTLIST, 32 * SHORTLIST)
"""Sizes of the shortlist that are tried on a CPU before a row is sorted."""

_COLDEST: Final = 1e-30
"""Least temperature: below it 0 / 0 could come up."""

_AT_ONCE: Final = 64
"""Most rows that a GPU cuts at once: sorting needs a few times their memory."""

_COLUMN: Final = {name: index for index, name in enumerate(PARAM_COLUMNS)}


class Kind(IntEnum):
    """What has to be done for a row, known on the host."""

    GREEDY = 0
    PLAIN = 1
    """Draws from all tokens."""
    SHORT = 2
    """The cut is known from a shortlist: min_p alone, or top_k within it."""
    WIDE = 3
    """It may take all tokens to know the cut."""
    TYPICAL = 4
    """typical_p, which no threshold on the logit expresses."""


Kinds = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _Params:
    """Parameters of some rows, one column each: `[rows, 1]`."""

    temperature: torch.Tensor
    top_p: torch.Tensor
    top_k: torch.Tensor
    log_min_p: torch.Tensor
    typical_p: torch.Tensor

    def take(self, rows: slice | torch.Tensor) -> "_Params":
        return _Params(*(getattr(self, field.name)[rows] for field in fields(self)))


def row_kinds(params: Words, sampling: Words) -> Kinds:
    """The kind of each row, from the rows' parameters `[rows, columns]` and the arena's 0/1 `sample` column."""
    floats = params.view(np.float32)
    top_k, top_p = params[:, _COLUMN["top_k"]], floats[:, _COLUMN["top_p_f32"]]
    short = (top_k > 0) & (top_k < SHORTLIST)
    wide = ((top_k > 0) | (top_p < 1)) & ~short
    kinds = np.select(
        [
            (params[:, _COLUMN["greedy"]] != 0) | (sampling == 0),
            floats[:, _COLUMN["typical_p_f32"]] < 1,
            wide,
            short | (floats[:, _COLUMN["min_p_f32"]] > 0),
        ],
        [Kind.GREEDY, Kind.TYPICAL, Kind.WIDE, Kind.SHORT],
        Kind.PLAIN,
    )
    return kinds.astype(np.int8)


def greedy_tokens(logits: torch.Tensor, before: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest logit of each row `[rows, 1]` and its token, int64 `[rows]`.

    BROKEN for a row whose largest is NaN or infinite, NOTHING_ALLOWED where edits made it so: `before` is what
    `edits.apply` returned.
    """
    token = logits.argmax(-1, keepdim=True)
    best = logits.gather(-1, token)
    token = torch.where(best.isfinite(), token, BROKEN)
    if before is not None:
        before = before[:, None]
        token = torch.where((best == -torch.inf) & before.isfinite(), NOTHING_ALLOWED, token)
        token = torch.where(before.isfinite() | (before == -torch.inf), token, BROKEN)
    return best, token.squeeze(-1)


def sample(
    logits: torch.Tensor,
    params: torch.Tensor,
    positions: torch.Tensor,
    words: torch.Tensor,
    kinds: Kinds,
    before: torch.Tensor | None = None,
) -> torch.Tensor:
    """One token a row, int64 `[rows]`; BROKEN and NOTHING_ALLOWED as `greedy_tokens` tells them.

    `logits` is `[rows, vocab]`, `params` int32 `[rows, columns]` (PARAM_COLUMNS), `positions` int32 `[rows]` of the
    tokens to be drawn, `words` is `noise.token_words(vocab)`, `kinds` is `row_kinds`' answer.
    """
    best, tokens = greedy_tokens(logits, before)
    if not kinds.any():
        return tokens
    columns = _columns(params)
    seed_lo, seed_hi, choice = (params[:, _COLUMN[name]] for name in ("seed_lo", "seed_hi", "choice"))
    key_1, key_2 = (key[:, None] for key in row_keys(seed_lo, seed_hi, choice, positions))
    result = tokens.clone()
    for rows, kind in _groups(kinds, logits):
        if kind == Kind.GREEDY:
            continue
        own = columns.take(rows)
        if logits.is_cuda:
            result[rows] = _draw_on_gpu(logits[rows], best[rows], own, key_1[rows], key_2[rows], words, kind)
        else:
            scores = (logits[rows].float() - best[rows].float()).div_(own.temperature)
            result[rows] = _draw(scores, own, key_1[rows], key_2[rows], words, kind)
    return torch.where(tokens < 0, tokens, result)


def log_distribution(logits: torch.Tensor, params: torch.Tensor, kinds: Kinds) -> torch.Tensor:
    """Log probabilities of what `sample` draws from: float32 `[rows, vocab]`, -inf for tokens that were cut away.

    The arguments are those of `sample`. A greedy row's are the log softmax of its logits.
    """
    result = torch.empty_like(logits, dtype=torch.float32)
    columns = _columns(params)
    for rows, kind in _groups(kinds, logits):
        scores = logits[rows].float()
        if kind != Kind.GREEDY:
            own = columns.take(rows)
            scores = (scores - scores.amax(-1, keepdim=True)).div_(own.temperature)
            if kind != Kind.PLAIN:
                cut, _, _ = _cut(scores, own, kind)
                _keep(scores, cut, own, kind)
        result[rows] = scores.log_softmax(-1)
    return result


def on_device(rows: Sequence[int] | NDArray[np.int64], like: torch.Tensor) -> torch.Tensor:
    """Row numbers as an index of `like`. Indexing with a list would wait for all that a GPU has to do."""
    index = torch.tensor(rows, dtype=torch.int64)
    return index.pin_memory().to(like.device, non_blocking=True) if like.is_cuda else index


def _groups(kinds: Kinds, like: torch.Tensor) -> Iterator[tuple[slice | torch.Tensor, Kind]]:
    """Rows that are handled together. One row at a time stays in a CPU's cache; a GPU wants all of a kind at once."""
    if not like.is_cuda:
        for row, kind in enumerate(kinds.tolist()):
            yield slice(row, row + 1), Kind(kind)
        return
    order = np.argsort(kinds, kind="stable")
    index = None
    end = 0
    for kind in Kind:
        first, end = end, end + int((kinds == kind).sum())
        step = _AT_ONCE if kind > Kind.PLAIN else len(kinds)
        for start in range(first, end, step):
            stop = min(start + step, end)
            low, high = int(order[start]), int(order[stop - 1]) + 1
            if high - low == stop - start:
                yield slice(low, high), kind
            else:
                index = on_device(order, like) if index is None else index
                yield index[start:stop], kind


def _columns(params: torch.Tensor) -> _Params:
    floats = params.view(torch.float32)

    def column(name: str) -> torch.Tensor:
        return floats[:, _COLUMN[name], None]

    return _Params(
        temperature=column("temperature_f32").clamp(min=_COLDEST),
        top_p=column("top_p_f32"),
        top_k=params[:, _COLUMN["top_k"], None].long(),
        log_min_p=column("min_p_f32").clamp(min=0).log(),
        typical_p=column("typical_p_f32"),
    )


def _draw(
    scores: torch.Tensor, params: _Params, key_1: torch.Tensor, key_2: torch.Tensor, words: torch.Tensor, kind: Kind
) -> torch.Tensor:
    """Draws the token of one row: `[1]`. `scores` is its logits, the largest 0, by the temperature; overwritten."""
    if kind != Kind.PLAIN:
        cut, top, ids = _cut(scores, params, kind)
        if kind != Kind.TYPICAL and (top.shape[-1] == scores.shape[-1] or bool(cut > top[:, -1:])):
            # All that is kept is in the shortlist.
            noisy = torch.where(top >= cut, top + gumbel(words[ids], key_1, key_2), -torch.inf)
            return ids.gather(-1, noisy.argmax(-1, keepdim=True)).squeeze(-1)
        _keep(scores, cut, params, kind)
    return scores.add_(gumbel(words, key_1, key_2)).argmax(-1)


def _draw_on_gpu(
    logits: torch.Tensor,
    best: torch.Tensor,
    params: _Params,
    key_1: torch.Tensor,
    key_2: torch.Tensor,
    words: torch.Tensor,
    kind: Kind,
) -> torch.Tensor:
    """The same for many rows without waiting for the device; the kernel never writes the noise to memory."""
    from overt.kernels.gumbel import draw

    temperature = params.temperature
    if kind != Kind.PLAIN:
        logits = (logits.float() - best).div_(temperature)
        best, temperature = torch.zeros_like(best), torch.ones_like(temperature)
        cut, _, _ = _cut(logits, params, kind)
        _keep(logits, cut, params, kind)
    best, temperature, key_1, key_2 = (part.contiguous().view(-1) for part in (best.float(), temperature, key_1, key_2))
    return draw(logits, best, temperature, key_1, key_2, words)


def _cut(scores: torch.Tensor, params: _Params, kind: Kind) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The smallest score that min_p, top_k and top_p keep, `[rows, 1]`, and the largest scores and their tokens.

    On a GPU the host says, by the kind, how many of these it takes; on a CPU, for one row, more are taken as needed.
    """
    vocab = scores.shape[-1]
    if scores.is_cuda:
        short = kind == Kind.SHORT and vocab > SHORTLIST
        top, ids = scores.topk(SHORTLIST) if short else scores.sort(-1, descending=True)
        return _cut_by(top, scores, params, nucleus=True), top, ids
    top_k, nucleus = int(params.top_k), float(params.top_p) < 1
    for count in _LADDER:
        if top_k <= count < vocab:
            top, ids = scores.topk(count)
            cut = _cut_by(top, scores, params, nucleus=nucleus)
            if top_k > 0 or not nucleus or bool(cut > top[:, -1:]):
                return cut, top, ids
    top, ids = scores.sort(-1, descending=True)
    return _cut_by(top, scores, params, nucleus=nucleus), top, ids


def _cut_by(top: torch.Tensor, scores: torch.Tensor, params: _Params, *, nucleus: bool) -> torch.Tensor:
    """The cut by `top`, the largest scores in descending order, which must not be fewer than top_k.

    With top_p (`nucleus` says that there may be rows with it) but no top_k, it is right only if it is above the last
    of `top`, or if these are all.
    """
    count = top.shape[-1]
    # top_k: the k-th score.
    kth = top.gather(-1, params.top_k.clamp(1, count) - 1)
    cut = torch.maximum(params.log_min_p, torch.where(params.top_k > 0, kth, -torch.inf))
    if not nucleus:
        return cut
    # top_p: the shortest prefix whose share of what is left reaches p.
    # A GPU adds up in an order that depends on the number of rows: in float64, so that no row's cut does.
    dtype = torch.float64 if scores.is_cuda else torch.float32
    mass = torch.where(scores >= cut, scores.exp(), 0).sum(-1, keepdim=True, dtype=dtype)
    kept = torch.where(top >= cut, top.exp(), 0)
    before = kept.cumsum(-1) - kept
    prefix = ((before < params.top_p * mass) & (top >= cut)).sum(-1, keepdim=True).clamp_(min=1)
    return torch.where(params.top_p < 1, torch.maximum(cut, top.gather(-1, prefix - 1)), cut)


def _keep(scores: torch.Tensor, cut: torch.Tensor, params: _Params, kind: Kind) -> None:
    """Sets to -inf what is below the cut or, of the rest, not typical."""
    scores.masked_fill_(scores < cut, -torch.inf)
    if kind == Kind.TYPICAL:
        scores.masked_fill_(_untypical(scores, params.typical_p), -torch.inf)


def _untypical(scores: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Tokens beyond the smallest set of mass `share` whose information is nearest to the entropy: bool, as `scores`.

    In float64: two tokens, one likelier and one less likely than typical, may be nearly as far from the entropy.
    """
    log_probabilities = scores.double().log_softmax(-1)
    probabilities = log_probabilities.exp()
    entropy = -(log_probabilities * probabilities).nan_to_num_(nan=0.0).sum(-1, keepdim=True)
    distance = (log_probabilities + entropy).abs_()
    nearest, order = distance.sort(-1)
    mass = probabilities.gather(-1, order).cumsum(-1)
    last = (mass < share).sum(-1, keepdim=True).clamp_(max=scores.shape[-1] - 1)
    return distance > nearest.gather(-1, last)
