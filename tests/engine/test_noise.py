"""The noise of the sampler: uniform, independent between rows, and the same whatever it is computed with."""

import math

import pytest
import torch

from overt.engine.noise import gumbel, row_keys, token_words

VOCAB = 50
DRAWS = 20_000


def column(values: list[int] | int, rows: int) -> torch.Tensor:
    if isinstance(values, int):
        values = [values] * rows
    return torch.tensor(values, dtype=torch.int32)


def noise(rows: int, **columns: list[int] | int) -> torch.Tensor:
    """Noise `[rows, VOCAB]` of rows with these seeds, choices and positions."""
    names = ("seed_lo", "seed_hi", "choice", "position")
    key_1, key_2 = row_keys(*(column(columns.get(name, 0), rows) for name in names))
    return gumbel(token_words(VOCAB, "cpu"), key_1[:, None], key_2[:, None])


def chi_squared(counts: torch.Tensor, expected: torch.Tensor) -> float:
    """Distance of counts from what was expected, in standard deviations of a chi-squared variable."""
    freedom = counts.numel() - 1
    value = float(((counts - expected) ** 2 / expected).sum())
    return (value - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("varied", ["position", "seed_lo", "seed_hi", "choice"])
def test_draws_follow_the_softmax(varied: str) -> None:
    # Consecutive values of any one word must do: positions are consecutive, and so are many people's seeds.
    values = noise(DRAWS, **{varied: list(range(DRAWS))})
    logits = torch.linspace(-2, 2, VOCAB)
    drawn = (logits + values).argmax(-1)
    counts = torch.bincount(drawn, minlength=VOCAB).double()
    assert abs(chi_squared(counts, logits.softmax(-1).double() * DRAWS)) < 4
    # And equal logits give a uniform draw.
    counts = torch.bincount(values.argmax(-1), minlength=VOCAB).double()
    assert abs(chi_squared(counts, torch.full((VOCAB,), DRAWS / VOCAB, dtype=torch.float64))) < 4


@pytest.mark.parametrize("varied", ["position", "seed_lo", "seed_hi", "choice"])
def test_neighbours_are_independent(varied: str) -> None:
    drawn = noise(DRAWS + 1, **{varied: list(range(DRAWS + 1))}).argmax(-1)
    # Pairs of draws of neighbours, in 10 x 10 cells.
    pairs = torch.bincount((drawn[:-1] // 5) * 10 + drawn[1:] // 5, minlength=100).double()
    assert abs(chi_squared(pairs, torch.full((100,), DRAWS / 100, dtype=torch.float64))) < 4
    # Noise of neighbouring tokens in one row is uncorrelated as well.
    values = noise(DRAWS, **{varied: list(range(DRAWS))}).double()
    correlation = torch.corrcoef(values[:, :8].T) - torch.eye(8)
    assert correlation.abs().max() < 5 / math.sqrt(DRAWS)


def test_the_distribution_is_gumbel() -> None:
    values = noise(DRAWS, position=list(range(DRAWS))).double().flatten().sort().values
    exact = (-(-values).exp()).exp()
    empirical = (torch.arange(values.numel(), dtype=torch.float64) + 0.5) / values.numel()
    # Kolmogorov-Smirnov: 1.95 / sqrt(n) is passed once in a thousand.
    assert (exact - empirical).abs().max() < 1.95 / math.sqrt(values.numel())
    assert values.isfinite().all()


def test_every_word_of_the_key_counts() -> None:
    base = noise(1)
    for name in ("seed_lo", "seed_hi", "choice", "position"):
        for value in (1, -1, 1 << 30):
            changed = noise(1, **{name: value})
            assert (changed != base).float().mean() > 0.9


def test_both_keys_count() -> None:
    words = token_words(VOCAB, "cpu")
    base, other = torch.tensor([5], dtype=torch.int32), torch.tensor([6], dtype=torch.int32)
    values = [gumbel(words, *keys) for keys in ((base, base), (base, other), (other, base))]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert (values[first] != values[second]).float().mean() > 0.9


def test_unsigned_words_do_not_collide_for_a_whole_vocabulary() -> None:
    words = token_words(200_000, "cpu")
    assert words.unique().numel() == 200_000
