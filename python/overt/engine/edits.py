"""Edits of a step's logits: what is sparse or depends on what a sequence has so far, sent by the scheduler.

They are applied in place, entry by entry: no tensor of rows × vocabulary is made for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from overt.engine.arena import PARAM_COLUMNS, Words

_HEADER: Final = 10
_REPETITION, _FREQUENCY, _PRESENCE = (
    PARAM_COLUMNS.index(f"{name}_penalty_f32") for name in ("repetition", "frequency", "presence")
)

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Edits:
    """A step's edits on the host. Row numbers are rows of the step; pairs (row, token) come once each."""

    bias_rows: Words
    bias_tokens: Words
    bias_values: Floats
    """Added to the logit: finite, or -inf where the token is banned."""
    penalty_rows: Words
    penalty_tokens: Words
    penalty_counts: Words
    """Times the token was made; 0: it is in the prompt only."""
    allowed_rows: Words
    allowed_starts: Words
    """Row `allowed_rows[i]` may make `allowed_ids[allowed_starts[i]:allowed_starts[i + 1]]` and nothing else."""
    allowed_ids: Words
    prompt_positions: Words
    """Tokens, by their place among the step's packed tokens, after which a prompt's log probability is wanted."""
    prompt_targets: Words
    """The token whose log probability that is."""
    prompt_top: int
    """Most alternatives wanted beside a prompt's tokens."""
    logprob_rows: Words
    """Rows whose sampled token's log probability is wanted."""
    logprob_top: int
    """Most alternatives wanted beside sampled tokens."""
    mask_rows: Words
    """Rows that a grammar holds."""
    masks: Words
    """`[mask_rows, words]`: bit `i % 32` of word `i // 32` is 1 where the row may make token `i`."""

    @classmethod
    def read(cls, data: bytes) -> "Edits":
        """Views of the scheduler's little-endian int32 words. Raises ValueError where their length is not the header's.

        The words are `[bias, penalties, allowed rows, allowed ids, prompt tokens, prompt_top, logprob rows,
        logprob_top, mask rows, words of a mask]`, all but the two `top` being counts, then the fields above in their
        order.
        """
        words = np.frombuffer(data, dtype="<i4")
        if words.size < _HEADER:
            raise ValueError(f"edits of {words.size} words have no header ({_HEADER} words)")
        bias, penalty, rows, ids, prompt, prompt_top, logprobs, logprob_top, masks, width = words[:_HEADER].tolist()
        sizes = [bias] * 3 + [penalty] * 3 + [rows, rows + 1, ids] + [prompt] * 2 + [logprobs, masks, masks * width]
        ends = np.cumsum([_HEADER, *sizes])
        if min(sizes) < 0 or ends[-1] != words.size:
            header = words[:_HEADER].tolist()
            raise ValueError(f"edits of {words.size} words, but their header {header} says {ends[-1]}")
        part = iter(np.split(words, ends[:-1])[1:])
        return cls(
            bias_rows=next(part),
            bias_tokens=next(part),
            bias_values=next(part).view(np.float32),
            penalty_rows=next(part),
            penalty_tokens=next(part),
            penalty_counts=next(part),
            allowed_rows=next(part),
            allowed_starts=next(part),
            allowed_ids=next(part),
            prompt_positions=next(part),
            prompt_targets=next(part),
            prompt_top=prompt_top,
            logprob_rows=next(part),
            logprob_top=logprob_top,
            mask_rows=next(part),
            masks=next(part).reshape(masks, width),
        )

    @cached_property
    def rows(self) -> Words:
        """The rows whose logits change, ascending."""
        return np.unique(np.concatenate([self.bias_rows, self.penalty_rows, self.allowed_rows, self.mask_rows]))


class DeviceEdits:
    """The edits on the device, there by one copy."""

    def __init__(self, edits: Edits, device: torch.device | str) -> None:
        self.host = edits
        parts: Sequence[NDArray[np.int32] | Floats] = (
            edits.bias_rows,
            edits.bias_tokens,
            edits.bias_values,
            edits.penalty_rows,
            edits.penalty_tokens,
            edits.penalty_counts,
            np.repeat(edits.allowed_rows, np.diff(edits.allowed_starts)),
            edits.allowed_ids,
            edits.allowed_rows,
            edits.prompt_positions,
            edits.prompt_targets,
            edits.logprob_rows,
            edits.mask_rows,
            edits.masks.reshape(-1),
        )
        words = torch.from_numpy(np.concatenate([part.view(np.int32) for part in parts]))
        if torch.device(device).type == "cuda":
            # From pageable memory the copy would wait for the step that runs.
            words = words.pin_memory()
        split = torch.split(words.to(device, non_blocking=True), [len(part) for part in parts])
        self.bias = split[0], split[1], split[2].view(torch.float32)
        self.penalty = split[3], split[4], split[5]
        self.allowed = split[6], split[7], split[8]
        self.prompt = split[9], split[10]
        self.logprob_rows = split[11]
        self.masks = split[12], split[13].view(edits.masks.shape)


def apply(edits: DeviceEdits, logits: torch.Tensor, params: torch.Tensor) -> torch.Tensor:
    """Changes `logits` (float32 `[rows, vocab]`) in place, in the sampler's order; `params` is int32 `[rows, columns]`.

    Returns, for `sampler.greedy_tokens`, of each row the largest logit before that was looked at, `[rows]`, -inf
    where none was: it tells whether a row without any token left had one.
    """
    best = logits.new_full((logits.shape[0],), -torch.inf)
    if len(edits.host.mask_rows):
        _mask(logits, edits, best)
    if len(edits.host.allowed_rows):
        _allow(logits, edits, best)
    if len(edits.host.bias_rows):
        rows, tokens, values = edits.bias
        index = (rows.long(), tokens.long())
        before = logits[index]
        best.scatter_reduce_(0, index[0], before, "amax")
        logits.index_put_(index, before.add_(values))
    if len(edits.host.penalty_rows):
        _penalise(logits, edits, params)
    return best


def _mask(logits: torch.Tensor, edits: DeviceEdits, best: torch.Tensor) -> None:
    """Sets all tokens that a grammar does not allow to -inf; those beyond its mask are not allowed."""
    rows, masks = edits.masks
    shifts = torch.arange(32, dtype=torch.int32, device=masks.device)
    vocab = logits.shape[-1]
    if logits.is_cuda:
        index = rows.long()
        best.index_copy_(0, index, logits.amax(-1).index_select(0, index))
        logits[index] = logits[index].masked_fill_(_forbidden(masks, shifts, vocab), -torch.inf)
        return
    for place, row in enumerate(edits.host.mask_rows.tolist()):
        torch.amax(logits[row], -1, out=best[row])
        logits[row].masked_fill_(_forbidden(masks[place], shifts, vocab), -torch.inf)


def _forbidden(masks: torch.Tensor, shifts: torch.Tensor, vocab: int) -> torch.Tensor:
    """Whether each token is not allowed: bool `[..., vocab]`, of masks int32 `[..., words]`."""
    bits = (masks[..., None] >> shifts).bitwise_and_(1).eq_(0).flatten(-2)
    forbidden = bits[..., :vocab].bool()
    return torch.nn.functional.pad(forbidden, (0, vocab - forbidden.shape[-1]), value=True)


def _allow(logits: torch.Tensor, edits: DeviceEdits, best: torch.Tensor) -> None:
    """Sets all but the allowed tokens to -inf, in the rows that have such a list."""
    at, ids, rows = (part.long() for part in edits.allowed)
    if logits.is_cuda:
        found = torch.maximum(best, logits.amax(-1)).index_select(0, rows)
        best.index_copy_(0, rows, found)
    else:
        for row in edits.host.allowed_rows.tolist():
            best[row] = torch.maximum(best[row], logits[row].amax(-1))
    kept = logits[at, ids]
    logits.index_fill_(0, rows, -torch.inf)
    logits.index_put_((at, ids), kept)


def _penalise(logits: torch.Tensor, edits: DeviceEdits, params: torch.Tensor) -> None:
    """Repetition, over prompt and output; then frequency and presence, over the output."""
    rows, tokens, counts = edits.penalty
    index = (rows.long(), tokens.long())
    repetition, frequency, presence = (
        params[:, column].view(torch.float32).index_select(0, index[0])
        for column in (_REPETITION, _FREQUENCY, _PRESENCE)
    )
    values = logits[index]
    values = torch.where(values > 0, values / repetition, values * repetition)
    values -= frequency * counts
    values -= torch.where(counts > 0, presence, 0)
    logits.index_put_(index, values)
