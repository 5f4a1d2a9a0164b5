"""The sampler: logits to tokens, in one pass over all rows, with per-row parameters.

A greedy row takes the largest logit. Any other row divides by its temperature, cuts away tokens by min_p, top_k
and top_p, in this order, and takes the largest sum of logit and Gumbel noise (`noise.py`), which is a draw from
the softmax. Every cut is a threshold on the logit, and tokens equal to the threshold stay: the result does
not depend on how a sort breaks ties.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from overt.engine.arena import PARAM_COLUMNS, Words
from overt.engine.noise import gumbel, row_keys

SHORTLIST: Final = 65
"""Most likely tokens looked at before a row is sorted: 64, and one that shows whether the 64th has an equal."""

_COLDEST: Final = 1e-30
"""Least temperature: below it 0 / 0 could come up."""

_COLUMN: Final = {name: index for index, name in enumerate(PARAM_COLUMNS)}


@dataclass(frozen=True, slots=True)
class RowKinds:
    """Row numbers by what has to be done for them, known on the host."""

    plain: list[int]
    """Rows that draw from all tokens."""
    filtered: list[int]
    """Rows with top_k, top_p or min_p."""


@dataclass(frozen=True, slots=True)
class _Params:
    """Parameters of some rows, one column each: `[rows, 1]`."""

    temperature: torch.Tensor
    top_p: torch.Tensor
    top_k: torch.Tensor
    log_min_p: torch.Tensor
    key_1: torch.Tensor
    key_2: torch.Tensor


def row_kinds(params: Words, sampling: Words) -> RowKinds:
    """Sorts rows by kind, from their parameters `[rows, columns]` and the arena's 0/1 `sample` column."""
    floats = params.view(np.float32)
    random = (params[:, _COLUMN["greedy"]] == 0) & (sampling != 0)
    filtered = random & (
        (params[:, _COLUMN["top_k"]] > 0)
        | (floats[:, _COLUMN["top_p_f32"]] < 1)
        | (floats[:, _COLUMN["min_p_f32"]] > 0)
    )
    return RowKinds(np.flatnonzero(random & ~filtered).tolist(), np.flatnonzero(filtered).tolist())


def greedy_tokens(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest logit of each row and its token; -1 for a row whose largest is NaN or infinite."""
    token = logits.argmax(-1, keepdim=True)
    best = logits.gather(-1, token)
    return best, torch.where(best.isfinite(), token, -1).squeeze(-1)


def sample(
    logits: torch.Tensor,
    params: torch.Tensor,
    positions: torch.Tensor,
    words: torch.Tensor,
    kinds: RowKinds,
) -> torch.Tensor:
    """One token a row, int64 `[rows]`; -1 where the row's logits were not finite.

    `logits` is `[rows, vocab]`, `params` int32 `[rows, columns]` (PARAM_COLUMNS), `positions` int32 `[rows]` of the
    tokens to be drawn, `words` is `noise.token_words(vocab)`. Rows in neither list of `kinds` are greedy.
    """
    best, tokens = greedy_tokens(logits)
    for rows, filtered in ((kinds.plain, False), (kinds.filtered, True)):
        # One row at a time stays in a CPU's cache; a GPU wants all at once.
        step = len(rows) if logits.is_cuda else 1
        for start in range(0, len(rows), max(step, 1)):
            chosen = rows[start : start + step]
            index = slice(chosen[0], chosen[0] + 1) if step == 1 else chosen
            row_params = _params(params[index], positions[index])
            if logits.is_cuda and not filtered:
                drawn = _fused_draw(logits[index], best[index], row_params, words)
            else:
                drawn = _draw(logits[index].float() - best[index].float(), row_params, words, filtered=filtered)
            tokens[index] = torch.where(tokens[index] < 0, -1, drawn)
    return tokens


def _fused_draw(logits: torch.Tensor, best: torch.Tensor, params: _Params, words: torch.Tensor) -> torch.Tensor:
    """`_draw` of unfiltered rows in one kernel, which never writes the noise to memory."""
    from overt.kernels.gumbel import draw

    def column(values: torch.Tensor) -> torch.Tensor:
        return values.contiguous().view(-1)

    return draw(
        logits,
        column(best.float()),
        column(params.temperature),
        column(params.key_1),
        column(params.key_2),
        words,
    )


def _params(params: torch.Tensor, positions: torch.Tensor) -> _Params:
    columns = dict(zip(PARAM_COLUMNS, params.unbind(-1), strict=True))
    floats = dict(zip(PARAM_COLUMNS, params.view(torch.float32).unbind(-1), strict=True))
    key_1, key_2 = row_keys(columns["seed_lo"], columns["seed_hi"], columns["choice"], positions)
    return _Params(
        temperature=floats["temperature_f32"][:, None].clamp(min=_COLDEST),
        top_p=floats["top_p_f32"][:, None],
        top_k=columns["top_k"][:, None].long(),
        log_min_p=floats["min_p_f32"][:, None].clamp(min=0).log(),
        key_1=key_1[:, None],
        key_2=key_2[:, None],
    )


def _draw(scores: torch.Tensor, params: _Params, words: torch.Tensor, *, filtered: bool) -> torch.Tensor:
    """Draws one token a row. `scores` is logits minus the row's largest; it is overwritten."""
    scores /= params.temperature
    if not filtered:
        return (scores + gumbel(words, params.key_1, params.key_2)).argmax(-1)
    count = min(SHORTLIST, scores.shape[-1])
    top, ids = scores.topk(count)
    cut, known = _cut(top, params, _mass(scores, params.log_min_p), whole=count == scores.shape[-1])
    if not bool(known.all()):
        rows = (~known).squeeze(-1).nonzero().squeeze(-1)
        some = _rows(params, rows)
        ordered = scores[rows].sort(-1, descending=True).values
        cut[rows] = _cut(ordered, some, _mass(scores[rows], some.log_min_p), whole=True)[0]
    shortlisted = torch.where(top >= cut, top + gumbel(words[ids], params.key_1, params.key_2), -torch.inf)
    tokens = ids.gather(-1, shortlisted.argmax(-1, keepdim=True)).squeeze(-1)
    if count == scores.shape[-1]:
        return tokens
    # Rows that keep more tokens than the shortlist holds draw from all that pass the cut.
    longer = (cut <= top[:, -1:]).squeeze(-1)
    if bool(longer.any()):
        rows = longer.nonzero().squeeze(-1)
        noisy = scores[rows] + gumbel(words, params.key_1[rows], params.key_2[rows])
        tokens[rows] = torch.where(scores[rows] >= cut[rows], noisy, -torch.inf).argmax(-1)
    return tokens


def _rows(params: _Params, rows: torch.Tensor) -> _Params:
    return _Params(
        params.temperature[rows],
        params.top_p[rows],
        params.top_k[rows],
        params.log_min_p[rows],
        params.key_1[rows],
        params.key_2[rows],
    )


def _mass(scores: torch.Tensor, floor: torch.Tensor) -> torch.Tensor:
    """Sum of exp(score) over the tokens not below `floor`: `[rows, 1]`."""
    return torch.where(scores >= floor, scores.exp(), 0).sum(-1, keepdim=True)


def _cut(top: torch.Tensor, params: _Params, mass: torch.Tensor, *, whole: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest score that is kept, and whether `top` sufficed to know it: `[rows, 1]` each.

    `top` is the largest scores of each row, descending; `whole` says that these are all. `mass` is the sum of
    exp(score) over all tokens that pass min_p.
    """
    count = top.shape[-1]
    cut = params.log_min_p
    # top_k: the k-th score. Only a score above the last of `top` is sure to have no equal beyond it.
    k = params.top_k.clamp(1, count)
    kth = torch.where(params.top_k > 0, top.gather(-1, k - 1), -torch.inf)
    limited = kth > cut
    inside = kth > top[:, -1:]
    known = (params.top_k <= 0) | inside | (cut > top[:, -1:])
    cut = torch.where(limited, kth, cut)
    # top_p: the shortest prefix whose share of what is left reaches p.
    kept = torch.where(top >= cut, top.exp(), 0)
    mass = torch.where(limited, kept.sum(-1, keepdim=True), mass)
    before = kept.cumsum(-1) - kept
    prefix = ((before < params.top_p * mass) & (top >= cut)).sum(-1, keepdim=True).clamp_(min=1)
    nucleus = params.top_p < 1
    last = top.gather(-1, prefix - 1)
    known = known & (~nucleus | (last > top[:, -1:]))
    cut = torch.where(nucleus, torch.maximum(cut, last), cut)
    return cut, known | whole
