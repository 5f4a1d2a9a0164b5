"""Attention over the paged KV cache, for NVIDIA GPUs (Triton): KV write, split-KV decode, varlen prefill.

A cache tensor is `[num_blocks * 16, kv_heads, dim]`; a row's block table says which blocks hold its context.
All functions only launch kernels: they may be captured in a CUDA graph.
"""

# Kernels are typed by Triton at their launch; names in capitals are its compile-time constants.
# ruff: noqa: N803
# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"

from collections.abc import Sequence
from typing import Any, Final

import torch
import triton
import triton.language as tl

BLOCK_SIZE: Final = tl.constexpr(16)
QUERY_TILE: Final = 64
"""Query tokens of a prefill program."""

_TARGET_PROGRAMS: Final = 512
_MAX_SPLITS: Final = 16


@triton.jit
def _write_kv(
    key, value, key_cache, value_cache, slots,
    key_token, key_head, value_token, value_head, heads,
    KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program copies K and V of one token and head to the token's slot."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    to = tl.load(slots + token).to(tl.int64) * heads + head
    at = tl.arange(0, TILE)
    row = tl.load(key + token * key_token + head * key_head + at, mask=at < KEY_DIM)
    tl.store(key_cache + to * KEY_DIM + at, row, mask=at < KEY_DIM)
    row = tl.load(value + token * value_token + head * value_head + at, mask=at < VALUE_DIM)
    tl.store(value_cache + to * VALUE_DIM + at, row, mask=at < VALUE_DIM)


@triton.jit
def _attend(
    query, scale, softcap, start, end, first_seen, last_seen, table, key_cache, value_cache, kv_head, kv_heads,
    CAPPED: tl.constexpr, KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, KEY_TILE: tl.constexpr,
    VALUE_TILE: tl.constexpr, QUERIES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Online softmax of a query tile over context positions `start..end`.

    Query i sees positions `first_seen[i]..last_seen[i]`, both included. CAPPED bounds scores by `softcap`. Returns
    the unnormalised output, the running maximum and the running sum, in float32.
    """
    key_at = tl.arange(0, KEY_TILE)
    value_at = tl.arange(0, VALUE_TILE)
    highest = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    output = tl.zeros([QUERIES, VALUE_TILE], tl.float32)
    for position in range(start, end, TILE):
        at = position + tl.arange(0, TILE)
        inside = at < end
        block = tl.load(table + at // BLOCK_SIZE, mask=inside, other=0).to(tl.int64)
        slot = (block * BLOCK_SIZE + at % BLOCK_SIZE) * kv_heads + kv_head
        key = tl.load(
            key_cache + slot[None, :] * KEY_DIM + key_at[:, None],
            mask=inside[None, :] & (key_at < KEY_DIM)[:, None],
            other=0.0,
        )
        score = tl.dot(query, key, input_precision="ieee") * scale
        if CAPPED:
            # tanh by exp, which overflows to where tanh is 1.
            score = softcap * (1.0 - 2.0 / (1.0 + tl.exp(2.0 * score / softcap)))
        seen = inside[None, :] & (at[None, :] >= first_seen[:, None]) & (at[None, :] <= last_seen[:, None])
        score = tl.where(seen, score, -float("inf"))
        higher = tl.maximum(highest, tl.max(score, 1))
        # A query that has seen nothing yet keeps -inf: shift by 0 instead, so that no NaN comes up.
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        weight = tl.exp(score - shift[:, None])
        fade = tl.exp(highest - shift)
        value = tl.load(
            value_cache + slot[:, None] * VALUE_DIM + value_at[None, :],
            mask=inside[:, None] & (value_at < VALUE_DIM)[None, :],
            other=0.0,
        )
        total = total * fade + tl.sum(weight, 1)
        output = output * fade[:, None] + tl.dot(weight.to(value.dtype), value, input_precision="ieee")
        highest = higher
    return output, highest, total


@triton.jit
def _decode(
    query, key_cache, value_cache, tables, lengths, partial, maxima, totals,
    scale, softcap, query_row, query_head, table_row, kv_heads, splits,
    CAPPED: tl.constexpr, GROUP: tl.constexpr, WINDOW: tl.constexpr, KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr,
    KEY_TILE: tl.constexpr, VALUE_TILE: tl.constexpr, QUERIES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program: one row, one K/V head with all its query heads, one split of the context."""
    row = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lengths + row)
    begin = length * 0
    if WINDOW > 0:
        begin = tl.maximum(length - WINDOW, 0)
    share = tl.cdiv(tl.cdiv(length - begin, splits), TILE) * TILE
    start = begin + split * share
    end = tl.minimum(start + share, length)
    member = tl.arange(0, QUERIES)
    head = kv_head * GROUP + member
    key_at = tl.arange(0, KEY_TILE)
    tile = tl.load(
        query + row * query_row + head[:, None] * query_head + key_at[None, :],
        mask=(member < GROUP)[:, None] & (key_at < KEY_DIM)[None, :],
        other=0.0,
    )
    output, highest, total = _attend(
        tile, scale, softcap, start, end, member * 0, member * 0 + (length - 1), tables + row * table_row,
        key_cache, value_cache, kv_head, kv_heads,
        CAPPED, KEY_DIM, VALUE_DIM, KEY_TILE, VALUE_TILE, QUERIES, TILE,
    )  # fmt: skip
    to = (row * kv_heads * GROUP + head) * splits + split
    value_at = tl.arange(0, VALUE_TILE)
    tl.store(maxima + to, highest, mask=member < GROUP)
    tl.store(totals + to, total, mask=member < GROUP)
    tl.store(
        partial + to[:, None] * VALUE_DIM + value_at[None, :],
        output,
        mask=(member < GROUP)[:, None] & (value_at < VALUE_DIM)[None, :],
    )


@triton.jit
def _combine(
    partial, maxima, totals, sinks, output, heads, splits,
    SINKS: tl.constexpr, SPLITS: tl.constexpr, VALUE_DIM: tl.constexpr, VALUE_TILE: tl.constexpr,
):  # fmt: skip
    """One program joins the splits of one row and head."""
    item = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, SPLITS)
    value_at = tl.arange(0, VALUE_TILE)
    present = split < splits
    highest = tl.load(maxima + item * splits + split, mask=present, other=-float("inf"))
    total = tl.load(totals + item * splits + split, mask=present, other=0.0)
    part = tl.load(
        partial + (item * splits + split)[:, None] * VALUE_DIM + value_at[None, :],
        mask=present[:, None] & (value_at < VALUE_DIM)[None, :],
        other=0.0,
    )
    shift = tl.max(highest, 0)
    if SINKS:
        sink = tl.load(sinks + item % heads).to(tl.float32)
        shift = tl.maximum(shift, sink)
    weight = tl.exp(highest - shift)
    whole = tl.sum(total * weight, 0)
    if SINKS:
        whole += tl.exp(sink - shift)
    joined = tl.sum(part * weight[:, None], 0) / whole
    tl.store(output + item * VALUE_DIM + value_at, joined.to(output.dtype.element_ty), mask=value_at < VALUE_DIM)


@triton.jit
def _prefill(
    query, key_cache, value_cache, tables, tiles, sinks, output,
    scale, softcap, query_token, query_head, table_row, kv_heads, heads,
    CAPPED: tl.constexpr, SINKS: tl.constexpr, GROUP: tl.constexpr, WINDOW: tl.constexpr,
    KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, KEY_TILE: tl.constexpr, VALUE_TILE: tl.constexpr,
    QUERIES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program: one tile of query tokens of one row, one head."""
    number = tl.program_id(0)
    head = tl.program_id(1)
    row = tl.load(tiles + number * 4).to(tl.int64)
    first = tl.load(tiles + number * 4 + 1)
    count = tl.load(tiles + number * 4 + 2)
    position = tl.load(tiles + number * 4 + 3)
    member = tl.arange(0, QUERIES)
    token = (first + member).to(tl.int64)
    key_at = tl.arange(0, KEY_TILE)
    tile = tl.load(
        query + token[:, None] * query_token + head * query_head + key_at[None, :],
        mask=(member < count)[:, None] & (key_at < KEY_DIM)[None, :],
        other=0.0,
    )
    last_seen = position + member
    first_seen = member * 0
    start = position * 0
    if WINDOW > 0:
        first_seen = tl.maximum(last_seen - WINDOW + 1, 0)
        start = tl.maximum(position - WINDOW + 1, 0) // TILE * TILE
    result, highest, total = _attend(
        tile, scale, softcap, start, position + count, first_seen, last_seen, tables + row * table_row,
        key_cache, value_cache, head // GROUP, kv_heads,
        CAPPED, KEY_DIM, VALUE_DIM, KEY_TILE, VALUE_TILE, QUERIES, TILE,
    )  # fmt: skip
    value_at = tl.arange(0, VALUE_TILE)
    if SINKS:
        sink = tl.load(sinks + head).to(tl.float32)
        shift = tl.maximum(highest, sink)
        result = result * tl.exp(highest - shift)[:, None]
        total = total * tl.exp(highest - shift) + tl.exp(sink - shift)
    # Queries beyond the tile's tokens are not stored; 1 keeps their division quiet.
    result = result / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        output + (token[:, None] * heads + head) * VALUE_DIM + value_at[None, :],
        result.to(output.dtype.element_ty),
        mask=(member < count)[:, None] & (value_at < VALUE_DIM)[None, :],
    )


def write_kv(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
) -> None:
    """Puts `key` and `value`, `[tokens, kv_heads, dim]` each, into their `slots` `[tokens]`.

    The last dimension must be contiguous, the caches wholly.
    """
    tokens, heads, key_dim = key.shape
    value_dim = value.shape[-1]
    _write_kv[tokens, heads](
        key, value, key_cache, value_cache, slots,
        key.stride(0), key.stride(1), value.stride(0), value.stride(1), heads,
        KEY_DIM=key_dim, VALUE_DIM=value_dim, TILE=triton.next_power_of_2(max(key_dim, value_dim)),
    )  # fmt: skip


def decode(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    scale: float,
    window: int | None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of one token a row: `query` `[rows, heads, dim]` at position `seq_lens[row] - 1`.

    `block_tables` int32 `[>= rows, max_blocks]`, `seq_lens` int32 `[>= rows]`, each at least 1. With `window` a
    token sees itself and the `window - 1` tokens before it. `softcap` bounds scores (`softcap * tanh(score /
    softcap)`); `sinks` `[heads]` are scores that take their share of the weight. Returns `[rows, heads, value_dim]`.
    """
    rows, heads, key_dim = query.shape
    kv_heads, value_dim = value_cache.shape[1:]
    group = heads // kv_heads
    # The grid may depend on the batch size, which a graph fixes, but not on lengths, which it does not.
    splits = max(1, min(_MAX_SPLITS, _TARGET_PROGRAMS // (rows * kv_heads)))
    partial = query.new_empty(rows, heads, splits, value_dim, dtype=torch.float32)
    maxima, totals = (query.new_empty(rows, heads, splits, dtype=torch.float32) for _ in range(2))
    _decode[rows, kv_heads, splits](
        query, key_cache, value_cache, block_tables, seq_lens, partial, maxima, totals,
        scale, softcap or 0.0, query.stride(0), query.stride(1), block_tables.stride(0), kv_heads, splits,
        CAPPED=softcap is not None, GROUP=group, WINDOW=window or 0, **_tiles(key_dim, value_dim, group), TILE=64,
    )  # fmt: skip
    output = query.new_empty(rows, heads, value_dim)
    _combine[(rows * heads,)](
        partial, maxima, totals, maxima if sinks is None else sinks, output, heads, splits,
        SINKS=sinks is not None, SPLITS=triton.next_power_of_2(splits),
        VALUE_DIM=value_dim, VALUE_TILE=triton.next_power_of_2(value_dim),
    )  # fmt: skip
    return output


def prefill_tiles(rows: Sequence[tuple[int, int, int, int]], device: torch.device | str) -> torch.Tensor:
    """Work list of `prefill`, int32 `[tiles, 4]`, from (row, first token, end token, seq_len) of each prompt."""
    tiles = [
        (row, first, min(QUERY_TILE, end - first), seq_len - (end - first))
        for row, begin, end, seq_len in rows
        for first in range(begin, end, QUERY_TILE)
    ]
    return torch.tensor(tiles, dtype=torch.int32, device=device)


def prefill(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_tables: torch.Tensor,
    tiles: torch.Tensor,
    output: torch.Tensor,
    *,
    scale: float,
    window: int | None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> None:
    """Causal attention of prompt tokens, whose K and V are in the cache already.

    `query` `[tokens, heads, dim]` are all the step's tokens; those in `tiles` (`prefill_tiles`) get their rows of
    `output` `[tokens, heads, value_dim]` (contiguous). The rest is as for `decode`.
    """
    _, heads, key_dim = query.shape
    kv_heads, value_dim = value_cache.shape[1:]
    sizes = _tiles(key_dim, value_dim, QUERY_TILE)
    _prefill[tiles.shape[0], heads](
        query, key_cache, value_cache, block_tables, tiles, output if sinks is None else sinks, output,
        scale, softcap or 0.0, query.stride(0), query.stride(1), block_tables.stride(0), kv_heads, heads,
        CAPPED=softcap is not None, SINKS=sinks is not None, GROUP=heads // kv_heads, WINDOW=window or 0,
        **sizes, TILE=32,
    )  # fmt: skip


def _tiles(key_dim: int, value_dim: int, queries: int) -> dict[str, Any]:
    """Sizes of a program's tiles: powers of two, at least 16, as matrix units want them."""
    return {
        "KEY_DIM": key_dim,
        "VALUE_DIM": value_dim,
        "KEY_TILE": max(16, triton.next_power_of_2(key_dim)),
        "VALUE_TILE": max(16, triton.next_power_of_2(value_dim)),
        "QUERIES": max(16, triton.next_power_of_2(queries)),
    }
