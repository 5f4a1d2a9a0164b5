"""The path that GPUs take, all rows of a kind at once and without waiting for the device, gives what a CPU's does."""

import math
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from engine.pack import RowEdits, edit_bytes
from engine.reference import Row, table
from engine.test_edits import PENALTIES, random_edits
from engine.test_sampler import PARAMETERS
from overt.engine.edits import DeviceEdits, Edits, apply
from overt.engine.graph import _NoHostReads
from overt.engine.logprobs import RawLogits, of_sampled
from overt.engine.noise import gumbel, token_words
from overt.engine.sampler import log_distribution, row_kinds, sample

VOCAB = 400


def draw(
    logits: torch.Tensor,
    best: torch.Tensor,
    temperature: torch.Tensor,
    key_1: torch.Tensor,
    key_2: torch.Tensor,
    words: torch.Tensor,
) -> torch.Tensor:
    """What the kernel computes (`kernel_cases.py` compares them)."""
    scores = (logits - best[:, None]) / temperature[:, None] + gumbel(words, key_1[:, None], key_2[:, None])
    return scores.argmax(-1)


def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors say that they are on a GPU."""
    kernel = ModuleType("overt.kernels.gumbel")
    kernel.draw = draw  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "overt.kernels.gumbel", kernel)
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda self: True))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self)


def cases(rounds: int) -> list[tuple[torch.Tensor, list[Row], dict[int, RowEdits]]]:
    generator = np.random.default_rng(9)
    torch.manual_seed(9)
    rows: list[Row] = [row | PENALTIES for row in PARAMETERS.values()] * 4 + [{"greedy": True}] * 20
    result = []
    for number in range(rounds):
        order = generator.permutation(len(rows))
        mixed = [rows[at] | {"seed": number * 1000 + int(at)} for at in order]
        edits = {at: random_edits(generator) for at in range(len(rows)) if at % 4}
        for at, own in edits.items():
            own.allowed = own.allowed if at % 3 == 0 else None
        logits = torch.randn(len(rows), VOCAB) * 3
        logits[5, 3], logits[6, 3], logits[7, 3] = math.nan, math.inf, -math.inf
        edits[8] = RowEdits(allowed=[])
        result.append((logits, mixed, edits))
    result.append((torch.randn(90, VOCAB), [{"seed": at} for at in range(90)], {}))
    result.append((torch.randn(90, 40), [{"seed": at, "top_k": 7} for at in range(90)], {}))
    return result


def run(logits: torch.Tensor, rows: list[Row], edits: dict[int, RowEdits]) -> list[torch.Tensor]:
    """Tokens, their log distribution, and raw and processed log probabilities of every second row."""
    logits, params = logits.clone(), table(rows)
    for at in range(0, len(rows), 2):
        edits.setdefault(at, RowEdits()).logprobs = True
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    wanted = DeviceEdits(Edits.read(edit_bytes(edits, logprob_top=6)), "cpu")
    positions, words = torch.arange(len(rows), dtype=torch.int32), token_words(logits.shape[-1], "cpu")
    raw = RawLogits(logits, wanted)
    before = apply(wanted, logits, params)
    tokens = sample(logits, params, positions, words, kinds, before)
    processed = log_distribution(logits, params, kinds)
    told = of_sampled(raw.take, tokens, wanted)
    told_processed = of_sampled(
        lambda some, index: log_distribution(logits[index], params[index], kinds[some]), tokens, wanted
    )
    return [tokens, processed, told, told_processed]


def test_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for logits, rows, edits in cases(3):
        expected = run(logits, rows, edits)
        with monkeypatch.context() as patch:
            pretend(patch)
            ours = run(logits, rows, edits)
        assert torch.equal(ours[0], expected[0])
        fine = expected[0] >= 0
        assert fine.sum() > 60
        torch.testing.assert_close(ours[1][fine], expected[1][fine])
        for mine, theirs in zip(ours[2:], expected[2:], strict=True):
            assert torch.equal(mine[:, 1:8], theirs[:, 1:8])
            floats = [part.view(torch.float32)[:, [0, *range(8, 14)]] for part in (mine, theirs)]
            torch.testing.assert_close(*floats, equal_nan=True)


def test_it_never_waits_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    ((logits, rows, edits), *_) = cases(1)
    params = table(rows)
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    wanted = DeviceEdits(Edits.read(edit_bytes(edits)), "cpu")
    positions, words = torch.arange(len(rows), dtype=torch.int32), token_words(VOCAB, "cpu")
    pretend(monkeypatch)
    with _NoHostReads():
        before = apply(wanted, logits, params)
        sample(logits, params, positions, words, kinds, before)
        log_distribution(logits, params, kinds)
