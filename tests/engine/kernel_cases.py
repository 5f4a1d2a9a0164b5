"""The Triton kernels against the reference; `test_kernels.py` runs this with TRITON_INTERPRET=1."""

import os

import pytest
import torch

from overt.engine.attention import PagedStep, Prefill, Rule, Scratch, decode_groups
from overt.engine.attention_cuda import CudaStep
from overt.engine.kv import KvCache, LayerShape
from overt.engine.noise import gumbel, row_keys, token_words
from overt.kernels.gumbel import draw

assert os.environ.get("TRITON_INTERPRET") == "1"

BLOCKS, MAX_BLOCKS = 52, 10


def caches(shape: LayerShape) -> tuple[KvCache, KvCache]:
    """Two caches with the same random content."""
    pair = [KvCache([shape], num_blocks=BLOCKS, dtype=torch.float32, device="cpu") for _ in range(2)]
    for first, second in zip(pair[0].tensors(), pair[1].tensors(), strict=True):
        first.normal_()
        second.copy_(first)
    return pair[0], pair[1]


NARROW, UNEVEN = (6, LayerShape(2, 24, 24)), (3, LayerShape(3, 24, 16))


@pytest.mark.parametrize(
    ("heads", "shape", "window", "softcap", "sinks"),
    [(*kind, window, None, False) for kind in (NARROW, UNEVEN) for window in (None, 5, 40)]
    + [(*NARROW, None, 3.0, False), (*NARROW, 5, None, True), (*UNEVEN, 40, 0.7, True)],
)
@pytest.mark.parametrize("decode", [0, 3])
@pytest.mark.parametrize("prompts", [[], [(0, 70), (90, 7)]], ids=["decode", "prefill"])
def test_attention(
    prompts: list[tuple[int, int]],
    decode: int,
    heads: int,
    shape: LayerShape,
    window: int | None,
    softcap: float | None,
    sinks: bool,
) -> None:
    """`prompts` is (tokens computed before, tokens now) each."""
    if not decode and not prompts:
        pytest.skip("no rows")
    torch.manual_seed(0)
    ours, reference = caches(shape)
    lengths = [1, 17, 131][:decode] + [before + now for before, now in prompts]
    tables = (torch.randperm(BLOCKS - 2)[: len(lengths) * MAX_BLOCKS] + 1).to(torch.int32).view(-1, MAX_BLOCKS)
    spans = [(row, length - 1, length) for row, length in enumerate(lengths[:decode])]
    spans += [(decode + i, before, before + now) for i, (before, now) in enumerate(prompts)]
    slots = [int(tables[row, at // 16]) * 16 + at % 16 for row, begin, end in spans for at in range(begin, end)]
    prefills, first = [], decode
    for index, (before, now) in enumerate(prompts):
        prefills.append(Prefill(decode + index, first, first + now, before + now))
        first += now
    tokens = len(slots)
    query = torch.randn(heads, tokens, shape.key_dim).transpose(0, 1)
    key = torch.randn(tokens, shape.heads, shape.key_dim)
    value = torch.randn(tokens, shape.heads, shape.value_dim)
    mapping = torch.tensor(slots)
    seq_lens = torch.tensor(lengths, dtype=torch.int32)
    rule = Rule(0.2, window, softcap, torch.randn(heads) * 3 if sinks else None)
    expected = PagedStep(
        cache=reference,
        scratch=Scratch(reference, MAX_BLOCKS),
        slot_mapping=mapping,
        block_tables=tables,
        seq_lens=seq_lens,
        groups=decode_groups(lengths[:decode]),
        prefills=prefills,
    ).attend(0, query, key, value, rule)
    step = CudaStep(
        cache=ours,
        slot_mapping=mapping,
        block_tables=tables,
        seq_lens=seq_lens,
        decode_rows=decode,
        prefills=prefills,
    )
    actual = step.attend(0, query, key, value, rule)
    for mine, theirs in zip(ours.tensors(), reference.tensors(), strict=True):
        assert torch.equal(mine[16:], theirs[16:])
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=1e-4)


def test_draw() -> None:
    torch.manual_seed(1)
    rows, vocab = 9, 5000
    logits = torch.randn(rows, vocab) * 3
    best = logits.amax(-1)
    temperature = torch.linspace(0.3, 2.0, rows)
    numbers = torch.arange(rows, dtype=torch.int32)
    key_1, key_2 = row_keys(numbers, numbers * 7, numbers * 0, numbers + 100)
    words = token_words(vocab, "cpu")
    scores = (logits - best[:, None]) / temperature[:, None] + gumbel(words, key_1[:, None], key_2[:, None])
    assert torch.equal(draw(logits, best, temperature, key_1, key_2, words), scores.argmax(-1))
