"""Fused Gumbel-max draw for NVIDIA GPUs (Triton): the noise of `engine/noise.py`, without writing it to memory."""

# Kernels are typed by Triton at their launch; names in capitals are its compile-time constants.
# ruff: noqa: N803
# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"

from typing import Final

import torch
import triton
import triton.language as tl

_TILE: Final = 4096

# The multipliers of engine/noise.py, as signed numbers.
_MIX_1: Final = tl.constexpr(0x7FEB352D)
_MIX_2: Final = tl.constexpr(0x846CA68B - (1 << 32))


@triton.jit
def _draw(logits, best, temperature, keys_1, keys_2, words, scores, tokens, vocab, logits_row, TILE: tl.constexpr):
    """One program finds the winner among one tile of one row's tokens."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    token = part * TILE + tl.arange(0, TILE)
    inside = token < vocab
    x = tl.load(words + token, mask=inside, other=0) ^ tl.load(keys_1 + row)
    x = x * _MIX_1
    x = x ^ ((x >> 15) & 0x1FFFF)
    x = x ^ tl.load(keys_2 + row)
    x = x * _MIX_2
    x = x ^ ((x >> 16) & 0xFFFF)
    uniform = ((x & 0x7FFFFFFF).to(tl.float32) + 0.5) / 2147483648.0
    # -log(1 - u); near 0 by its series, where 1 - u has no digits left for it.
    series = uniform * (1.0 + uniform * (0.5 + uniform * 0.33333333))
    waiting = tl.where(uniform < 0.0078125, series, -tl.log(1.0 - uniform))
    logit = tl.load(logits + row * logits_row + token, mask=inside, other=-float("inf")).to(tl.float32)
    score = (logit - tl.load(best + row)) / tl.load(temperature + row) - tl.log(waiting)
    # A row without a finite logit has no winner, and a reduction of NaN no defined one.
    score = tl.where(inside & (score == score), score, -float("inf"))
    winner = tl.argmax(score, 0)
    to = row * tl.num_programs(1) + part
    tl.store(scores + to, tl.max(score, 0))
    tl.store(tokens + to, part * TILE + winner)


def draw(
    logits: torch.Tensor,
    best: torch.Tensor,
    temperature: torch.Tensor,
    key_1: torch.Tensor,
    key_2: torch.Tensor,
    words: torch.Tensor,
) -> torch.Tensor:
    """One token a row from softmax(logits / temperature): int64 `[rows]`.

    `logits` `[rows, vocab]` (its last dimension contiguous); `best` (the row's largest logit) and `temperature`
    float32 `[rows]`; keys int32 `[rows]`; `words` int32 `[vocab]`, as `engine/noise.py` makes them.
    """
    rows, vocab = logits.shape
    parts = triton.cdiv(vocab, _TILE)
    scores = torch.empty(rows, parts, dtype=torch.float32, device=logits.device)
    tokens = torch.empty(rows, parts, dtype=torch.int64, device=logits.device)
    _draw[rows, parts](
        logits, best, temperature, key_1, key_2, words, scores, tokens, vocab, logits.stride(0), TILE=_TILE
    )
    return tokens.gather(1, scores.argmax(1, keepdim=True)).squeeze(1)
