"""Edits of logits against the plain reference, what they cost in memory, and rows that they leave without a token."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from engine.pack import RowEdits, edit_bytes
from engine.reference import Row, distribution, edited, table, token
from overt.engine.edits import DeviceEdits, Edits, apply
from overt.engine.noise import token_words
from overt.engine.sampler import BROKEN, NOTHING_ALLOWED, log_distribution, row_kinds, sample

VOCAB = 400


def random_edits(generator: np.random.Generator, *, kinds: tuple[str, ...] = ("bias", "counts", "allowed")) -> RowEdits:
    """Edits of the given kinds, each with something to do."""
    result = RowEdits()
    if "bias" in kinds:
        tokens = generator.choice(VOCAB, 30, replace=False).tolist()
        result.bias = {token: float(value) for token, value in zip(tokens, generator.uniform(-5, 5, 30), strict=True)}
        result.bias |= dict.fromkeys(tokens[:6], -math.inf)
    if "counts" in kinds:
        tokens = generator.choice(VOCAB, 60, replace=False).tolist()
        result.counts = {token: int(count) for token, count in zip(tokens, generator.integers(0, 4, 60), strict=True)}
    if "allowed" in kinds:
        result.allowed = generator.choice(VOCAB, 120, replace=False).tolist()
    if "masked" in kinds:
        result.masked = generator.choice(VOCAB, 300, replace=False).tolist()
    return result


def run(
    logits: torch.Tensor, rows: list[Row], edits: dict[int, RowEdits], positions: list[int]
) -> tuple[list[int], torch.Tensor]:
    """Tokens and log distribution of edited logits."""
    logits = logits.clone()
    params = table(rows)
    before = apply(DeviceEdits(Edits.read(edit_bytes(edits)), "cpu"), logits, params)
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    words = token_words(logits.shape[-1], "cpu")
    tokens = sample(logits, params, torch.tensor(positions, dtype=torch.int32), words, kinds, before)
    return tokens.tolist(), log_distribution(logits, params, kinds)


def check(logits: torch.Tensor, rows: list[Row], edits: dict[int, RowEdits]) -> None:
    """Rows among others and alone, against the reference."""
    places = list(range(len(rows)))
    tokens, logs = run(logits, rows, edits, places)
    for at, row in enumerate(rows):
        own = edits.get(at, RowEdits())
        expected = distribution(logits[at], row, own)
        assert np.array_equal(logs[at].numpy() > -np.inf, expected > -np.inf), (row, own)
        assert np.abs(logs[at].double().exp().numpy() - np.exp(expected)).max() < 1e-5, (row, own)
        assert tokens[at] == token(logits[at], row, at, own)
        alone, _ = run(logits[at : at + 1], [row], {0: own}, [at])
        assert alone == [tokens[at]]


PENALTIES: Row = {"repetition_penalty": 1.4, "frequency_penalty": 0.7, "presence_penalty": -0.5}


@pytest.mark.parametrize(
    ("kinds", "row"),
    [
        (("bias",), {}),
        (("allowed",), {}),
        (("masked",), {}),
        (("masked", "allowed"), {}),
        (("counts",), {"repetition_penalty": 1.8}),
        (("counts",), {"repetition_penalty": 0.6}),
        (("counts",), {"frequency_penalty": 1.1}),
        (("counts",), {"frequency_penalty": -1.1}),
        (("counts",), {"presence_penalty": 1.3}),
        (("counts",), {"presence_penalty": -2.0}),
        (("counts",), PENALTIES),
        (("bias", "counts"), PENALTIES),
        (("bias", "counts", "allowed"), PENALTIES),
        (("bias", "counts", "allowed", "masked"), PENALTIES),
    ],
)
@pytest.mark.parametrize("how", [{"greedy": True}, {}, {"temperature": 0.7, "top_p": 0.9, "top_k": 50}])
def test_each_kind(kinds: tuple[str, ...], row: Row, how: Row) -> None:
    generator = np.random.default_rng(2)
    torch.manual_seed(3)
    logits = torch.randn(10, VOCAB) * 2
    rows: list[Row] = [row | how | {"seed": seed} for seed in range(10)]
    # Every third row has no edits at all.
    edits = {at: random_edits(generator, kinds=kinds) for at in range(10) if at % 3}
    check(logits, rows, edits)


def test_sixteen_mixed_rows() -> None:
    generator = np.random.default_rng(5)
    torch.manual_seed(6)
    names = ("bias", "counts", "allowed", "masked")
    for _ in range(8):
        rows: list[Row] = []
        edits = {}
        for seed in range(16):
            rows.append(
                {
                    "seed": seed,
                    "greedy": seed % 5 == 0,
                    "temperature": generator.uniform(0.4, 1.6),
                    "top_k": int(generator.choice([0, 0, 5, 90])),
                    "top_p": float(generator.choice([1.0, 0.9])),
                    "min_p": float(generator.choice([0.0, 0.02])),
                    "typical_p": float(generator.choice([1.0, 0.8])),
                    "repetition_penalty": float(generator.choice([1.0, 1.5])),
                    "frequency_penalty": float(generator.choice([0.0, 0.4, -1.0])),
                    "presence_penalty": float(generator.choice([0.0, 1.0])),
                }
            )
            some = tuple(name for name in names if generator.random() < 0.6)
            if some:
                edits[seed] = random_edits(generator, kinds=some)
        check(torch.randn(16, VOCAB) * 3, rows, edits)


def test_nothing_else_changes() -> None:
    generator = np.random.default_rng(3)
    torch.manual_seed(4)
    logits = torch.randn(4, VOCAB)
    changed = logits.clone()
    own = random_edits(generator)
    row: Row = PENALTIES
    apply(DeviceEdits(Edits.read(edit_bytes({2: own})), "cpu"), changed, table([row] * 4))
    assert torch.equal(changed[[0, 1, 3]], logits[[0, 1, 3]])
    np.testing.assert_allclose(changed[2].numpy(), edited(logits[2], row, own), rtol=1e-5, atol=1e-5)
    # What neither list names is the same to the last bit.
    own.allowed = None
    apply(DeviceEdits(Edits.read(edit_bytes({2: own})), "cpu"), logits, table([row] * 4))
    torch.manual_seed(4)
    assert int((torch.randn(4, VOCAB)[2] != logits[2]).sum()) <= len({*own.bias, *own.counts})


class Allocated(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of tensors that operations make."""

    bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if torch.is_tensor(leaf)}
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if torch.is_tensor(leaf) and leaf.untyped_storage().data_ptr() not in given:
                self.bytes += leaf.untyped_storage().nbytes()
        return result


@pytest.mark.parametrize("kind", ["bias", "bans", "counts"])
def test_memory_follows_the_entries(kind: str) -> None:
    rows, vocab, entries = 8, 128_256, 256
    logits = torch.zeros(rows, vocab)
    tokens = torch.randperm(vocab)[:entries].tolist()
    own = RowEdits()
    if kind == "counts":
        own.counts = dict.fromkeys(tokens, 2)
    else:
        own.bias = dict.fromkeys(tokens, 1.5 if kind == "bias" else -math.inf)
    data, params = edit_bytes({3: own}), table([PENALTIES] * rows)
    with torch.inference_mode(), Allocated() as allocated:
        apply(DeviceEdits(Edits.read(data), "cpu"), logits, params)
    assert 0 < allocated.bytes <= 64 * entries
    assert int((logits[3] != 0).sum()) == entries


def test_allowed_tokens_touch_no_other_rows_memory() -> None:
    rows, vocab = 8, 128_256
    logits = torch.zeros(rows, vocab)
    data, params = edit_bytes({5: RowEdits(allowed=[7, 9, 9])}), table([{}] * rows)
    with torch.inference_mode(), Allocated() as allocated:
        apply(DeviceEdits(Edits.read(data), "cpu"), logits, params)
    assert allocated.bytes < vocab
    assert torch.nonzero(logits[5] == 0).flatten().tolist() == [7, 9]


def test_masks_shorter_or_longer_than_the_vocabulary() -> None:
    logits = torch.zeros(4, 70)
    allowed = [0, 31, 32, 63, 64, 69]
    for words in (2, 3, 5):
        edited_ = logits.clone()
        own = RowEdits(masked=[token for token in allowed if token < 32 * words], mask_words=words)
        apply(DeviceEdits(Edits.read(edit_bytes({1: own, 3: own})), "cpu"), edited_, table([{}] * 4))
        for row in (1, 3):
            kept = torch.nonzero(edited_[row] == 0).flatten().tolist()
            assert kept == [token for token in allowed if token < 32 * words]
        assert torch.equal(edited_[[0, 2]], logits[[0, 2]])


@pytest.mark.parametrize("row", [{"greedy": True}, {}, {"top_p": 0.5}, {"typical_p": 0.5}])
def test_rows_without_a_token_are_told_from_broken_ones(row: Row) -> None:
    torch.manual_seed(8)
    logits = torch.randn(13, VOCAB)
    banned = RowEdits(bias=dict.fromkeys(range(VOCAB), -math.inf))
    nothing = RowEdits(allowed=[])
    both = RowEdits(allowed=[4, 5], bias={4: -math.inf, 5: -math.inf})
    fine = RowEdits(allowed=[4, 5], bias={5: -math.inf})
    ruled_out = RowEdits(masked=[6, 7], allowed=[4, 5])
    masked = RowEdits(masked=[4])
    edits = {0: banned, 1: nothing, 2: both, 3: fine, 4: fine, 5: banned, 6: fine, 7: banned, 8: both}
    edits |= {9: ruled_out, 10: masked, 11: masked, 12: RowEdits(masked=[])}
    # Broken logits stay broken, whatever is left of them.
    logits[4, 9] = math.nan
    logits[5, 9] = math.nan
    logits[6, 9] = math.inf
    logits[7] = -math.inf
    logits[8] = -math.inf
    logits[11, 9] = math.nan
    tokens, _ = run(logits, [row] * 13, edits, list(range(13)))
    assert tokens == [NOTHING_ALLOWED] * 3 + [4] + [BROKEN] * 5 + [NOTHING_ALLOWED, 4, BROKEN, NOTHING_ALLOWED]


def test_bytes_of_the_wrong_length_are_refused() -> None:
    data = edit_bytes({1: RowEdits(bias={4: 1.0})})
    assert Edits.read(data).bias_tokens.tolist() == [4]
    for wrong in (b"", data[:-4], data + bytes(4), np.array([-1, *[0] * 10], dtype="<i4").tobytes()):
        with pytest.raises(ValueError, match="words"):
            Edits.read(wrong)
