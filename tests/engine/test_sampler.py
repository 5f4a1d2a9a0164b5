"""The sampler against a plain one-row reference that sorts, masks and draws step by step."""

import math

import numpy as np
import pytest
import torch

from engine.pack import param_row
from overt.engine.noise import gumbel, row_keys, token_words
from overt.engine.sampler import SHORTLIST, row_kinds, sample

VOCAB = 400


def table(rows: list[dict[str, float]]) -> torch.Tensor:
    return torch.tensor([param_row(**row) for row in rows], dtype=torch.int32)  # type: ignore[arg-type]


def run(logits: torch.Tensor, rows: list[dict[str, float]], positions: list[int] | None = None) -> list[int]:
    params = table(rows)
    at = torch.tensor(positions or list(range(len(rows))), dtype=torch.int32)
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    before = logits.clone()
    tokens = sample(logits, params, at, token_words(logits.shape[-1], "cpu"), kinds).tolist()
    assert torch.equal(before.nan_to_num(), logits.nan_to_num()), "logits are the caller's"
    return tokens


def allowed(logits: torch.Tensor, row: dict[str, float]) -> list[int]:
    """Tokens that a row may draw: min_p, then top_k, then top_p of what is left, each by its definition."""
    scaled = (logits.double() / row.get("temperature", 1.0)).tolist()
    top = max(scaled)
    weights = [math.exp(score - top) for score in scaled]
    kept = [token for token, weight in enumerate(weights) if weight >= row.get("min_p", 0.0)]
    kept.sort(key=lambda token: -weights[token])
    top_k = int(row.get("top_k", 0))
    if 0 < top_k < len(kept):
        kept = [token for token in kept if weights[token] >= weights[kept[top_k - 1]]]
    if row.get("top_p", 1.0) < 1:
        whole, before, last = sum(weights[token] for token in kept), 0.0, 0.0
        for token in kept:
            if before >= row["top_p"] * whole and weights[token] < last:
                break
            before, last = before + weights[token], weights[token]
        else:
            return kept
        kept = [other for other in kept if weights[other] >= last]
    return kept


def plain(logits: torch.Tensor, row: dict[str, float], position: int) -> int:
    """The reference draw of one row."""
    params = table([row])[0]
    key_1, key_2 = row_keys(params[4:5], params[5:6], params[6:7], torch.tensor([position], dtype=torch.int32))
    noise = gumbel(token_words(logits.shape[-1], "cpu"), key_1, key_2)
    scores = logits.float() / row.get("temperature", 1.0) + noise
    kept = allowed(logits, row)
    return max(kept, key=lambda token: float(scores[token]))


PARAMETERS: dict[str, dict[str, float]] = {
    "plain": {},
    "cold": {"temperature": 0.2},
    "hot": {"temperature": 1.9},
    "top_k 1": {"top_k": 1},
    "top_k 5": {"top_k": 5},
    "top_k 64": {"top_k": 64},
    "top_k beyond the shortlist": {"top_k": 200},
    "top_k beyond the vocabulary": {"top_k": 10 * VOCAB},
    "top_p": {"top_p": 0.9},
    "top_p small": {"top_p": 0.05},
    "top_p nearly all": {"top_p": 0.999},
    "top_p 0": {"top_p": 0.0},
    "min_p": {"min_p": 0.1},
    "min_p tiny": {"min_p": 1e-4},
    "all": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.02},
    "all, wide": {"temperature": 1.5, "top_k": 300, "top_p": 0.99, "min_p": 1e-3},
}


@pytest.mark.parametrize("spread", [0.02, 1.0, 6.0])
@pytest.mark.parametrize("name", PARAMETERS)
def test_each_parameter(name: str, spread: float) -> None:
    torch.manual_seed(3)
    logits = torch.randn(12, VOCAB) * spread
    rows = [PARAMETERS[name] | {"seed": index * 77} for index in range(12)]
    expected = [plain(logits[index], row, index) for index, row in enumerate(rows)]
    assert run(logits, rows) == expected


def test_mixed_rows_and_alone() -> None:
    torch.manual_seed(4)
    rows = [row | {"seed": 5 + index} for index, row in enumerate(PARAMETERS.values())]
    rows += [{"greedy": True}, {"greedy": True, "top_k": 3}]
    logits = torch.randn(len(rows), VOCAB) * 3
    together = run(logits, rows)
    alone = [run(logits[index : index + 1], [row], [index])[0] for index, row in enumerate(rows)]
    assert together == alone
    assert together[-2:] == logits[-2:].argmax(-1).tolist()


def test_filtered_draws_follow_the_renormalised_softmax() -> None:
    logits = torch.linspace(0, 5, VOCAB)[None]
    row = {"temperature": 1.3, "top_k": 30, "top_p": 0.8}
    kept = allowed(logits[0], row)
    assert len(kept) < 30
    draws = 4000
    tokens = run(logits.expand(draws, -1).contiguous(), [row | {"seed": 9}] * draws)
    counts = torch.bincount(torch.tensor(tokens), minlength=VOCAB)
    assert set(counts.nonzero().flatten().tolist()) == set(kept)
    expected = (logits[0, kept].double() / 1.3).softmax(-1) * draws
    value = float(((counts[kept] - expected) ** 2 / expected).sum())
    assert value < len(kept) - 1 + 5 * math.sqrt(2 * len(kept))


@pytest.mark.parametrize(("top_p", "kept"), [(0.39, 1), (0.41, 2), (0.69, 2), (0.71, 3), (0.89, 3), (0.91, 4)])
@pytest.mark.parametrize("vocab", [4, 150])
def test_top_p_keeps_the_shortest_prefix_that_reaches_it(top_p: float, kept: int, vocab: int) -> None:
    logits = torch.full((vocab,), -math.inf)
    logits[:4] = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    rows = [{"top_p": top_p, "seed": seed} for seed in range(300)]
    assert set(run(logits.expand(300, -1).contiguous(), rows)) == set(range(kept))


def test_equal_logits_at_the_cut_all_stay() -> None:
    logits = torch.full((1, VOCAB), -5.0)
    logits[0, 10 : 10 + SHORTLIST + 20] = 2.0
    draws = 3000
    tokens = run(logits.expand(draws, -1).contiguous(), [{"top_k": 3, "seed": 2}] * draws)
    assert set(tokens) == set(range(10, 10 + SHORTLIST + 20))


@pytest.mark.parametrize("row", [{}, {"greedy": True}, {"top_k": 4}, {"top_p": 0.5}, {"min_p": 0.1}])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rows_that_are_not_finite_are_minus_one(row: dict[str, float], bad: float) -> None:
    torch.manual_seed(5)
    logits = torch.randn(3, VOCAB)
    expected = run(logits, [row] * 3)
    logits[1, 7] = bad
    tokens = run(logits, [row] * 3)
    assert tokens == [expected[0], -1, expected[2]]
    logits[1] = -math.inf
    assert run(logits, [row] * 3)[1] == -1


def test_masked_tokens_are_never_drawn() -> None:
    torch.manual_seed(6)
    logits = torch.randn(200, VOCAB)
    logits[:, 5:] = -math.inf
    for row in ({}, {"top_p": 0.9}, {"top_k": 50}):
        assert max(run(logits, [row | {"seed": 1}] * 200)) < 5


def test_a_vocabulary_smaller_than_the_shortlist() -> None:
    torch.manual_seed(7)
    logits = torch.randn(20, 11)
    rows = [{"top_k": 4, "top_p": 0.8, "seed": index} for index in range(20)]
    assert run(logits, rows) == [plain(logits[index], row, index) for index, row in enumerate(rows)]


def test_half_precision_logits_are_taken_as_they_are() -> None:
    torch.manual_seed(8)
    logits = torch.randn(6, VOCAB).bfloat16()
    rows = [{"temperature": 0.9, "top_p": 0.9, "seed": index} for index in range(6)]
    assert run(logits, rows) == run(logits.float(), rows)
