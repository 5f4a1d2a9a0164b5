"""Paged attention behind transformers' attention interface.

Modelling code calls `overt_paged` once a layer; the keyword `overt_step` that the runner hands to the model says
what the layer's tokens are. The reference in this file runs anywhere; on CUDA decode rows use `kernels/`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from overt.engine.config import BLOCK_SIZE
from overt.engine.kv import KvCache, LayerKv

ATTENTION: Final = "overt_paged"
"""Name of our attention in transformers: what `attn_implementation` must be."""

STEP_KEYWORD: Final = "overt_step"

GROUP_BLOCKS: Final = 128
"""KV blocks gathered at once: rows are taken together while they fit, so that K and V stay in the CPU's cache."""

ROUND_BLOCKS: Final = 4
"""Contexts are rounded up to multiples of this, so that the shapes of a step change seldom."""

# Keywords that modelling code passes along and that change nothing here: the step knows better.
_HARMLESS: Final = frozenset(
    {
        "position_ids",
        "cache_position",
        "use_cache",
        "is_causal",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
    }
)


class UnsupportedModel(Exception):  # noqa: N818 - it says what the model is, not what went wrong
    """The architecture needs something that the paged attention does not do; the message names both."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How one layer weighs what its tokens see."""

    scale: float
    """Scores are products of query and key times this."""
    window: int | None = None
    """A token sees itself and the `window - 1` tokens before it; None: all before it."""
    softcap: float | None = None
    """Bounds scores: `softcap * tanh(score / softcap)`."""
    sinks: torch.Tensor | None = None
    """Score of each head `[heads]` that takes its share of the weight and gives nothing."""


class Step(Protocol):
    """What the runner hands to the model: attention of one step's packed tokens."""

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rule: Rule
    ) -> torch.Tensor:
        """Attention output `[tokens, heads, value_dim]` of `query` `[tokens, heads, dim]`, `key` and `value`
        `[tokens, kv_heads, dim]`.
        """


def paged_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **keywords: Any,
) -> tuple[torch.Tensor, None]:
    """The function registered in transformers: of `[1, heads, tokens, dim]` it makes `[1, tokens, heads, dim]`.

    Raises UnsupportedModel for a keyword it does not know (unless that is None), so that nothing a model asks
    of attention is dropped.
    """
    step: Step = keywords.pop(STEP_KEYWORD)
    scaling = keywords.pop("scaling", None)
    rule = Rule(
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        window=keywords.pop("sliding_window", None),
        softcap=keywords.pop("softcap", None),
        sinks=keywords.pop("s_aux", None),
    )
    dropout = keywords.pop("dropout", 0.0)
    if dropout or attention_mask is not None or keywords.get("is_causal") is False:
        _refuse(module, "dropout, a mask of its own or attention to later tokens")
    for name, value_ in keywords.items():
        if value_ is not None and name not in _HARMLESS:
            _refuse(module, f"the attention argument {name!r}")
    layer = getattr(module, "layer_idx", None)
    if layer is None:
        _refuse(module, "attention outside its numbered layers")
    output = step.attend(
        layer,
        query[0].transpose(0, 1),
        key[0].transpose(0, 1),
        value[0].transpose(0, 1),
        rule,
    )
    return output[None], None


def _refuse(module: torch.nn.Module, what: str) -> NoReturn:
    raise UnsupportedModel(f"{type(module).__name__} needs {what}, which paged attention does not offer")


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, paged_attention)


@dataclass(frozen=True, slots=True)
class Group:
    """Decode rows `first..end` that are attended to together, with `blocks` KV blocks each."""

    first: int
    end: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prompt tokens of one row: tokens `first..end` of the step are the last ones of `seq_len`."""

    row: int
    first: int
    end: int
    seq_len: int


def decode_groups(seq_lens: Sequence[int]) -> list[Group]:
    """Cuts decode rows into groups whose contexts, rounded up to ROUND_BLOCKS blocks, fit GROUP_BLOCKS.

    A long context thus costs its own group, not the whole batch.
    """
    groups: list[Group] = []
    first, blocks = 0, 0
    for row, seq_len in enumerate(seq_lens):
        need = -(-seq_len // (ROUND_BLOCKS * BLOCK_SIZE)) * ROUND_BLOCKS
        widest = max(blocks, need)
        if row > first and (row + 1 - first) * widest > GROUP_BLOCKS:
            groups.append(Group(first, row, blocks))
            first, widest = row, need
        blocks = widest
    if seq_lens:
        groups.append(Group(first, len(seq_lens), blocks))
    return groups


class Scratch:
    """Room for gathered K and V, reused by every layer and step: fresh memory would cost more than the gather."""

    def __init__(self, cache: KvCache, max_blocks: int) -> None:
        blocks = max(GROUP_BLOCKS, max_blocks)
        slots = blocks * BLOCK_SIZE
        width = max(tensor[0].numel() for tensor in cache.tensors())
        first = cache.layers[0].key
        self.key, self.value = (torch.zeros(slots * width, dtype=first.dtype, device=first.device) for _ in range(2))


@dataclass(slots=True)
class PagedStep:
    """One step over the paged cache: decode rows first, then prefill rows."""

    cache: KvCache
    scratch: Scratch
    slot_mapping: torch.Tensor
    """Physical KV index of each token, int64 `[tokens]`."""
    block_tables: torch.Tensor
    """int32 `[rows, max_blocks]`."""
    seq_lens: torch.Tensor
    """Context of each row, this step's tokens included, int32 `[rows]`."""
    groups: list[Group]
    prefills: list[Prefill]
    _gathers: dict[tuple[int, int | None], tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    _masks: dict[tuple[int, int | None], torch.Tensor] = field(default_factory=dict)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rule: Rule
    ) -> torch.Tensor:
        """See Step."""
        kv = self.cache.layers[layer]
        kv.key.index_copy_(0, self.slot_mapping, key)
        kv.value.index_copy_(0, self.slot_mapping, value)
        if len(self.groups) == 1 and not self.prefills:
            return self._decode(0, kv, query, rule)
        output = query.new_empty(query.shape[0], query.shape[1], value.shape[-1])
        for number, group in enumerate(self.groups):
            rows = slice(group.first, group.end)
            output[rows] = self._decode(number, kv, query[rows], rule)
        for prefill in self.prefills:
            tokens = slice(prefill.first, prefill.end)
            output[tokens] = self._prefill(prefill, kv, query[tokens], key[tokens], value[tokens], rule)
        return output

    def _decode(self, number: int, kv: LayerKv, query: torch.Tensor, rule: Rule) -> torch.Tensor:
        """One token a row. Query heads that share a K/V head are SDPA's query positions: nothing is repeated."""
        rows, heads, dim = query.shape
        kv_heads = kv.key.shape[1]
        found = self._gathers.get((number, rule.window))
        if found is None:
            found = self._gathers[number, rule.window] = self._gather(
                self.groups[number], rule.window, query.dtype, heads // kv_heads
            )
        blocks, mask = found
        query = query.reshape(rows, kv_heads, heads // kv_heads, dim)
        key = _gathered(kv.key, blocks, self.scratch.key, rows)
        value = _gathered(kv.value, blocks, self.scratch.value, rows)
        if _is_plain(rule):
            output = sdpa(query, key, value, attn_mask=mask, scale=rule.scale)
        else:
            sinks = None if rule.sinks is None else rule.sinks.view(kv_heads, -1)
            output = _weighed(query, key, value, mask, rule, sinks)
        return output.reshape(rows, heads, kv.value.shape[-1])

    def _gather(
        self, group: Group, window: int | None, dtype: torch.dtype, queries: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Which blocks a group reads, `[rows * blocks]`, and the mask over their slots `[rows, 1, queries, slots]`."""
        lengths = self.seq_lens[group.first : group.end, None]
        table = self.block_tables[group.first : group.end]
        device = lengths.device
        count = min(group.blocks, table.shape[1])
        first = torch.zeros_like(lengths)
        if window is not None and window // BLOCK_SIZE + 2 < count:
            # Only the blocks that the window can touch.
            count = window // BLOCK_SIZE + 2
            first = (lengths - window).clamp(min=0) // BLOCK_SIZE
        columns = first + torch.arange(count, device=device)
        # Columns beyond the row's context read the dummy block.
        blocks = table.gather(1, columns.clamp(max=table.shape[1] - 1).long())
        blocks = torch.where(columns * BLOCK_SIZE < lengths, blocks, 0)
        positions = first * BLOCK_SIZE + torch.arange(count * BLOCK_SIZE, device=device)
        seen = positions < lengths
        if window is not None:
            seen &= positions >= lengths - window
        mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, -torch.inf)
        return blocks.reshape(-1), mask[:, None, None].expand(-1, 1, queries, -1)

    def _prefill(
        self,
        prefill: Prefill,
        kv: LayerKv,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        rule: Rule,
    ) -> torch.Tensor:
        """Tokens of one prompt; earlier chunks, and prefixes other sequences computed, come from the cache."""
        tokens, context = query.shape[0], prefill.seq_len
        if tokens == context:
            key, value = key.transpose(0, 1)[None], value.transpose(0, 1)[None]
        else:
            blocks = self.block_tables[prefill.row, : -(-context // BLOCK_SIZE)]
            key = _gathered(kv.key, blocks, self.scratch.key, 1)[:, :, :context]
            value = _gathered(kv.value, blocks, self.scratch.value, 1)[:, :, :context]
        heads = query.transpose(0, 1)
        if not _is_plain(rule):
            mask = self._causal(tokens, context, rule.window, query)
            sinks = [None] * key.shape[1] if rule.sinks is None else rule.sinks.view(key.shape[1], -1, 1)
            # One K/V head at a time bounds the scores that are held.
            parts = zip(heads.chunk(key.shape[1]), key[0], value[0], sinks, strict=True)
            return torch.cat([_weighed(q, k, v, mask, rule, sink) for q, k, v, sink in parts]).transpose(0, 1)
        whole = tokens == context and (rule.window is None or context <= rule.window)
        output = sdpa(
            heads[None],
            key,
            value,
            attn_mask=None if whole else self._causal(tokens, context, rule.window, query),
            is_causal=whole,
            scale=rule.scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        return output[0].transpose(0, 1)

    def _causal(self, tokens: int, context: int, window: int | None, like: torch.Tensor) -> torch.Tensor:
        """Mask of the last `tokens` of `context` tokens: `[tokens, context]`."""
        found = self._masks.get((tokens * 2**32 + context, window))
        if found is not None:
            return found
        own = torch.arange(context - tokens, context, device=like.device)[:, None]
        other = torch.arange(context, device=like.device)
        hidden = other > own
        if window is not None:
            hidden |= other <= own - window
        mask = torch.zeros(tokens, context, dtype=like.dtype, device=like.device)
        mask.masked_fill_(hidden, -torch.inf)
        self._masks[tokens * 2**32 + context, window] = mask
        return mask


def _is_plain(rule: Rule) -> bool:
    """Whether SDPA can do it."""
    return rule.softcap is None and rule.sinks is None


def _weighed(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    rule: Rule,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """SDPA in steps, with the rest of the rule: `query` `[..., queries, dim]`, `sinks` as it without `dim`."""
    scores = torch.matmul(query, key.transpose(-1, -2)).float().mul_(rule.scale)
    if rule.softcap is not None:
        scores.div_(rule.softcap).tanh_().mul_(rule.softcap)
    scores.add_(mask)
    if sinks is not None:
        scores = torch.cat([scores, sinks.float()[..., None].expand(*scores.shape[:-1], 1)], dim=-1)
    weights = scores.softmax(-1)[..., : key.shape[-2]]
    return torch.matmul(weights.to(value.dtype), value)


def _gathered(cache: torch.Tensor, blocks: torch.Tensor, scratch: torch.Tensor, rows: int) -> torch.Tensor:
    """K or V of `blocks` `[rows * n]`, copied to `scratch`, as `[rows, heads, n * 16, dim]`."""
    _, heads, dim = cache.shape
    room = scratch[: blocks.shape[0] * BLOCK_SIZE * heads * dim].view(blocks.shape[0], -1)
    torch.index_select(cache.view(-1, BLOCK_SIZE * heads * dim), 0, blocks, out=room)
    return room.view(rows, -1, heads, dim).transpose(1, 2)
