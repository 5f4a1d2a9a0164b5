"""Draws follow the distribution that the parameters and edits define: chi-squared, 20,000 draws of 50 tokens."""

import math

import numpy as np
import pytest
import torch

from engine.pack import RowEdits, edit_bytes
from engine.reference import Row, distribution, table
from overt.engine.edits import DeviceEdits, Edits, apply
from overt.engine.noise import token_words
from overt.engine.sampler import row_kinds, sample

VOCAB, DRAWS = 50, 20_000

PENALTIES: Row = {"repetition_penalty": 1.5, "frequency_penalty": 0.3, "presence_penalty": 0.4}
COUNTS = RowEdits(counts={3: 2, 17: 1, 30: 0, 41: 3, 48: 4})

CASES: dict[str, tuple[Row, RowEdits]] = {
    "plain": ({}, RowEdits()),
    "cool": ({"temperature": 0.6}, RowEdits()),
    "hot": ({"temperature": 1.7}, RowEdits()),
    "top_k": ({"top_k": 12, "temperature": 1.2}, RowEdits()),
    "top_p": ({"top_p": 0.8, "temperature": 1.3}, RowEdits()),
    "min_p": ({"min_p": 0.1}, RowEdits()),
    "typical_p": ({"typical_p": 0.7, "temperature": 0.8}, RowEdits()),
    "penalties": (PENALTIES, COUNTS),
    "bias": ({"temperature": 0.9}, RowEdits(bias={1: 4.0, 40: -3.0, 49: -math.inf})),
    "allowed": ({}, RowEdits(allowed=list(range(0, 50, 3)))),
    "all": (
        PENALTIES | {"temperature": 1.4, "top_k": 40, "top_p": 0.95, "min_p": 0.02, "typical_p": 0.9},
        RowEdits(bias={2: 3.0, 48: -math.inf}, counts=COUNTS.counts, allowed=list(range(1, 50))),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_chi_squared(name: str) -> None:
    row, edits = CASES[name]
    logits = torch.linspace(-1.5, 2.5, VOCAB)[torch.randperm(VOCAB, generator=torch.Generator().manual_seed(1))]
    edited = logits[None].clone()
    apply(DeviceEdits(Edits.read(edit_bytes({0: edits})), "cpu"), edited, table([row]))
    # One sequence that comes to its 20,000th position.
    params = table([row | {"seed": 3}]).expand(DRAWS, -1)
    kinds = row_kinds(params.numpy(), np.ones(DRAWS, dtype=np.int32))
    positions = torch.arange(DRAWS, dtype=torch.int32)
    with torch.inference_mode():
        tokens = sample(edited.expand(DRAWS, -1), params, positions, token_words(VOCAB, "cpu"), kinds)
    counts = torch.bincount(tokens, minlength=VOCAB).double().numpy()
    expected = np.exp(distribution(logits, row, edits)) * DRAWS
    kept = expected > 0
    assert set(np.flatnonzero(counts)) <= set(np.flatnonzero(kept))
    assert len(counts[kept]) > 4
    freedom = int(kept.sum()) - 1
    value = float(((counts[kept] - expected[kept]) ** 2 / expected[kept]).sum())
    # Four standard deviations beyond the mean of a chi-squared variable.
    assert value < freedom + 4 * math.sqrt(2 * freedom)
