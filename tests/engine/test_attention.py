"""The reference attention against the textbook's, and what it refuses."""

import random
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Llama4TextConfig,
    LlamaConfig,
    MambaConfig,
    MptConfig,
    Phi3Config,
)

from engine.drive import CONFIGS, tiny_model
from overt.engine.attention import (
    ATTENTION,
    GROUP_BLOCKS,
    PagedStep,
    Prefill,
    Rule,
    Scratch,
    UnsupportedModel,
    decode_groups,
    paged_attention,
)
from overt.engine.kv import KvCache, LayerShape, blocks_that_fit
from overt.engine.probe import check_model, layer_shapes

SHAPE = LayerShape(2, 8, 12)
MAX_BLOCKS = 40


def textbook(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rule: Rule) -> torch.Tensor:
    """Attention of one sequence, `query` being its last tokens, one query and head at a time."""
    tokens, heads, _ = query.shape
    output = torch.empty(tokens, heads, value.shape[-1])
    for token in range(tokens):
        last = key.shape[0] - tokens + token
        first = 0 if rule.window is None else max(0, last - rule.window + 1)
        for head in range(heads):
            kv_head = head * key.shape[1] // heads
            scores = key[first : last + 1, kv_head] @ query[token, head] * rule.scale
            if rule.softcap is not None:
                scores = (scores / rule.softcap).tanh() * rule.softcap
            weights = scores.exp()
            total = weights.sum() + (0.0 if rule.sinks is None else rule.sinks[head].exp())
            output[token, head] = weights / total @ value[first : last + 1, kv_head]
    return output


@pytest.mark.parametrize("window", [None, 1, 3, 16, 33, 100])
@pytest.mark.parametrize("heads", [2, 6])
@pytest.mark.parametrize("dirty", [False, True])
@pytest.mark.parametrize(("softcap", "sinks"), [(None, False), (1.5, False), (None, True), (0.5, True)])
def test_mixed_step(window: int | None, heads: int, dirty: bool, softcap: float | None, sinks: bool) -> None:
    torch.manual_seed(2)
    rule = Rule(0.3, window, softcap, torch.randn(heads) * 2 if sinks else None)
    # (context before this step, tokens of this step); decode rows first.
    rows = [(0, 1), (15, 1), (16, 1), (300, 1), (47, 1), (0, 40), (37, 50), (16, 5), (600, 9)]
    decode = 5
    blocks = sum(-(-(before + now) // 16) for before, now in rows)
    cache = KvCache([SHAPE], num_blocks=blocks + 2, dtype=torch.float32, device="cpu")
    if dirty:
        # What was left behind by others must not count; a block that is no row's may even hold NaN.
        for tensor in cache.tensors():
            tensor.fill_(1e6)
            tensor[-16:] = torch.nan
    free = list(range(1, blocks + 1))
    random.Random(1).shuffle(free)
    # Unused entries of a table may hold anything that is a block, here the one that is no row's.
    tables = torch.full((len(rows), MAX_BLOCKS), blocks + 1, dtype=torch.int32)
    keys, values, slots, queries, prefills = [], [], [], [], []
    for row, (before, now) in enumerate(rows):
        length = before + now
        own = [free.pop() for _ in range(-(-length // 16))]
        tables[row, : len(own)] = torch.tensor(own, dtype=torch.int32)
        keys.append(torch.randn(length, SHAPE.heads, SHAPE.key_dim))
        values.append(torch.randn(length, SHAPE.heads, SHAPE.value_dim))
        queries.append(torch.randn(now, heads, SHAPE.key_dim))
        at = torch.tensor([own[position // 16] * 16 + position % 16 for position in range(length)])
        cache.layers[0].key[at[:before]] = keys[-1][:before]
        cache.layers[0].value[at[:before]] = values[-1][:before]
        if row >= decode:
            first = sum(slot.shape[0] for slot in slots)
            prefills.append(Prefill(row, first, first + now, length))
        slots.append(at[before:])
    lengths = [before + now for before, now in rows]
    step = PagedStep(
        cache=cache,
        scratch=Scratch(cache, MAX_BLOCKS),
        slot_mapping=torch.cat(slots),
        block_tables=tables,
        seq_lens=torch.tensor(lengths, dtype=torch.int32),
        groups=decode_groups(lengths[:decode]),
        prefills=prefills,
    )
    new = [(key[before:], value[before:]) for key, value, (before, _) in zip(keys, values, rows, strict=True)]
    output = step.attend(
        0,
        torch.cat(queries),
        torch.cat([key for key, _ in new]),
        torch.cat([value for _, value in new]),
        rule,
    )
    expected = [textbook(query, key, value, rule) for query, key, value in zip(queries, keys, values, strict=True)]
    torch.testing.assert_close(output, torch.cat(expected), atol=1e-5, rtol=1e-4)


def test_groups_cover_all_rows_and_bound_what_is_gathered() -> None:
    rng = random.Random(0)
    for _ in range(200):
        lengths = [rng.choice((1, 16, 17, 200, 2000, 40_000)) for _ in range(rng.randrange(1, 40))]
        groups = decode_groups(lengths)
        assert [row for group in groups for row in range(group.first, group.end)] == list(range(len(lengths)))
        for group in groups:
            assert group.blocks * 16 >= max(lengths[group.first : group.end])
            assert group.end - group.first == 1 or (group.end - group.first) * group.blocks <= GROUP_BLOCKS
    assert decode_groups([]) == []


@pytest.mark.parametrize("name", CONFIGS)
def test_families_that_are_served(name: str) -> None:
    model = tiny_model(name)
    check_model(model)
    assert layer_shapes(model) == [LayerShape(2, 8, 8)] * 3
    assert model.config._attn_implementation == ATTENTION


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 64, "pad_token_id": 0}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            Llama4TextConfig(**SMALL, num_key_value_heads=2, head_dim=8, intermediate_size=32, num_local_experts=2),
            "Llama4.*layer 0 is of kind 'chunked_attention'",
        ),
        (MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=64, pad_token_id=0), "Mamba.*only 0"),
        (BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=64), "Bloom.*of its 2 layers only 0"),
        (MptConfig(d_model=32, n_heads=4, n_layers=2, vocab_size=64), "Mpt.*packed tokens"),
    ],
    ids=["chunks", "no attention", "alibi", "alibi of its own"],
)
def test_families_that_are_refused_by_name(config: object, reason: str) -> None:
    model = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION).eval()
    with pytest.raises(UnsupportedModel, match=reason) as refusal:
        check_model(model)
    assert "\n" not in str(refusal.value)


LONG = {
    "max_position_embeddings": 256,
    "original_max_position_embeddings": 64,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4},
}
DYNAMIC = {
    "max_position_embeddings": 128,
    "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
}


@pytest.mark.parametrize(
    ("config", "most"),
    [
        (Phi3Config(**SMALL, num_key_value_heads=2, intermediate_size=32, **LONG), 64),
        (LlamaConfig(**SMALL, num_key_value_heads=2, intermediate_size=32, **DYNAMIC), 128),
    ],
    ids=["longrope", "dynamic"],
)
def test_frequencies_that_would_follow_the_longest_row(config: Any, most: int) -> None:
    model = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION).eval()
    for asked in (None, most + 1):
        with pytest.raises(UnsupportedModel, match=rf"{type(model).__name__}.*--max-model-len {most}$"):
            check_model(model, max_model_len=asked)
    check_model(model, max_model_len=most)
    rotary = model.model.rotary_emb
    short = rotary.inv_freq.clone()
    # A position beyond, as none will be, changes nothing any more.
    rotary(torch.zeros(1, 1, 32), torch.tensor([[most * 2]]))
    assert torch.equal(rotary.inv_freq, short)


def test_a_model_whose_attention_does_more_is_refused() -> None:
    model = tiny_model("llama")
    attention = model.model.layers[1].self_attn
    forward = attention.forward

    def shifted(*args: object, **keywords: object) -> object:
        # Something that happens with eager attention only, as a mask of one's own would.
        output, weights = forward(*args, **keywords)
        return output * (1.01 if model.config._attn_implementation == "eager" else 1.0), weights

    attention.forward = shifted
    with pytest.raises(UnsupportedModel, match=r"LlamaForCausalLM cannot be served.*logits differ"):
        check_model(model)
    assert model.config._attn_implementation == ATTENTION


def test_a_layer_that_does_not_call_our_attention_is_refused() -> None:
    model = tiny_model("qwen3")
    model.model.layers[1].self_attn.forward = lambda hidden_states, **_: (hidden_states, None)
    with pytest.raises(UnsupportedModel, match=r"Qwen3ForCausalLM.*layer 1"):
        layer_shapes(model)


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"head_mask": 1.0}, "head_mask"),
        ({"position_bias": 1}, "position_bias"),
        ({"dropout": 0.1}, "dropout"),
        ({"is_causal": False}, "later tokens"),
    ],
)
def test_the_keyword_list_is_closed(keywords: dict[str, object], named: str) -> None:
    module = torch.nn.Module()
    tensor = torch.zeros(1, 2, 3, 4)
    with pytest.raises(UnsupportedModel, match=named):
        paged_attention(module, tensor, tensor, tensor, None, overt_step=None, scaling=1.0, **keywords)


def test_blocks_that_fit() -> None:
    shapes = [LayerShape(2, 8, 8)] * 3
    block_bytes = 16 * 2 * 16 * 3 * 4
    sizes = {"dtype": torch.float32, "device": "cpu", "max_model_len": 100}
    assert blocks_that_fit(shapes, memory_bytes=block_bytes * 20 + 5, **sizes) == 20
    with pytest.raises(MemoryError, match="100 tokens"):
        blocks_that_fit(shapes, memory_bytes=block_bytes * 8, **sizes)
    assert blocks_that_fit(shapes, memory_bytes=None, **sizes) > 9


def test_probe_follows_the_head_size_of_each_layer() -> None:
    config = LlamaConfig(**(SMALL | {"num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 32}))
    model = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION).eval()
    assert layer_shapes(model) == [LayerShape(1, 16, 16)] * 2
