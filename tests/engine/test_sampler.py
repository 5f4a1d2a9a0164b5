"""The sampler against a plain one-row reference that sorts, masks and draws step by step."""

import math

import numpy as np
import pytest
import torch

from engine.reference import Row, distribution, table, token
from overt.engine.noise import token_words
from overt.engine.sampler import SHORTLIST, Kind, log_distribution, row_kinds, sample

VOCAB = 400


def run(logits: torch.Tensor, rows: list[Row], positions: list[int] | None = None) -> list[int]:
    params = table(rows)
    at = torch.tensor(positions or list(range(len(rows))), dtype=torch.int32)
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    before = logits.clone()
    tokens = sample(logits, params, at, token_words(logits.shape[-1], "cpu"), kinds).tolist()
    assert torch.equal(before.nan_to_num(), logits.nan_to_num()), "logits are the caller's"
    return tokens


def check_distribution(logits: torch.Tensor, rows: list[Row]) -> None:
    params = table(rows)
    kinds = row_kinds(params.numpy(), np.ones(len(rows), dtype=np.int32))
    ours = log_distribution(logits, params, kinds).double().numpy()
    for index, row in enumerate(rows):
        theirs = distribution(logits[index], row)
        assert np.array_equal(ours[index] > -np.inf, theirs > -np.inf), row
        assert np.abs(np.exp(ours[index]) - np.exp(theirs)).max() < 1e-5, row


def allowed(logits: torch.Tensor, row: Row) -> list[int]:
    """Tokens that a row may draw."""
    return np.flatnonzero(distribution(logits, row) > -np.inf).tolist()


PARAMETERS: dict[str, Row] = {
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
    "min_p beyond the shortlist": {"min_p": 1e-4, "top_k": 150},
    "top_k and top_p beyond the shortlist": {"top_k": 150, "top_p": 0.7},
    "typical": {"typical_p": 0.6},
    "typical 0": {"typical_p": 0.0},
    "typical nearly all": {"typical_p": 0.999},
    "typical of a few": {"typical_p": 0.5, "top_k": 20},
    "all": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.02},
    "all, wide": {"temperature": 1.5, "top_k": 300, "top_p": 0.99, "min_p": 1e-3},
    "all, typical": {"temperature": 1.3, "top_k": 350, "top_p": 0.97, "min_p": 1e-3, "typical_p": 0.8},
}


@pytest.mark.parametrize("spread", [0.02, 1.0, 6.0])
@pytest.mark.parametrize("name", PARAMETERS)
def test_each_parameter(name: str, spread: float) -> None:
    torch.manual_seed(3)
    logits = torch.randn(12, VOCAB) * spread
    rows = [PARAMETERS[name] | {"seed": index * 77} for index in range(12)]
    expected = [token(logits[index], row, index) for index, row in enumerate(rows)]
    assert run(logits, rows) == expected
    check_distribution(logits, rows)


@pytest.mark.parametrize("vocab", [11, 3000])
def test_other_vocabularies(vocab: int) -> None:
    """Smaller than the shortlist, and larger than all shortlists."""
    torch.manual_seed(7)
    for spread in (0.01, 2.0):
        rows: list[Row] = [row | {"seed": index} for index, row in enumerate(PARAMETERS.values())]
        rows += [{"top_k": 2500}, {"top_k": 2500, "top_p": 0.3}, {"top_p": 0.9, "typical_p": 0.9}]
        logits = torch.randn(len(rows), vocab) * spread
        assert run(logits, rows) == [token(logits[index], row, index) for index, row in enumerate(rows)]
        check_distribution(logits, rows)


def test_random_combinations_alone_and_among_others() -> None:
    generator = np.random.default_rng(1)
    torch.manual_seed(11)
    for _ in range(12):
        rows: list[Row] = []
        for seed in range(16):
            row: Row = {"seed": seed, "temperature": generator.uniform(0.3, 2)}
            row["top_k"] = int(generator.choice([0, 3, 64, 65, 200]))
            row["top_p"] = float(generator.choice([1.0, 0.95, 0.5]))
            row["min_p"] = float(generator.choice([0.0, 0.0, 0.01, 0.2]))
            row["typical_p"] = float(generator.choice([1.0, 1.0, 0.9, 0.3]))
            row["greedy"] = bool(generator.random() < 0.1)
            rows.append(row)
        logits = torch.randn(16, VOCAB) * float(generator.uniform(0.1, 6))
        together = run(logits, rows)
        assert together == [run(logits[at : at + 1], [row], [at])[0] for at, row in enumerate(rows)]
        assert together == [token(logits[at], row, at) for at, row in enumerate(rows)]
        check_distribution(logits, rows)


def test_typical_is_transformers_own() -> None:
    from transformers import TypicalLogitsWarper

    torch.manual_seed(12)
    logits = torch.randn(9, VOCAB) * 2
    for mass in (0.1, 0.5, 0.9, 0.99):
        params = table([{"typical_p": mass}] * 9)
        ours = log_distribution(logits, params, np.full(9, Kind.TYPICAL, dtype=np.int8))
        theirs = TypicalLogitsWarper(mass=mass)(torch.zeros(9, 1, dtype=torch.long), logits).log_softmax(-1)
        torch.testing.assert_close(ours, theirs)


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


@pytest.mark.parametrize(
    "row", [{}, {"greedy": True}, {"top_k": 4}, {"top_p": 0.5}, {"min_p": 0.1}, {"typical_p": 0.9}]
)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rows_that_are_not_finite_are_minus_one(row: Row, bad: float) -> None:
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
    for row in ({}, {"top_p": 0.9}, {"top_k": 50}, {"typical_p": 0.99}):
        assert max(run(logits, [row | {"seed": 1}] * 200)) < 5


def test_half_precision_logits_are_taken_as_they_are() -> None:
    torch.manual_seed(8)
    logits = torch.randn(6, VOCAB).bfloat16()
    rows = [{"temperature": 0.9, "top_p": 0.9, "seed": index} for index in range(6)]
    assert run(logits, rows) == run(logits.float(), rows)
