"""Which tokens are chosen."""

import math
from itertools import accumulate, count
from typing import Any

from contract.proofs.registry import proof
from contract.proofs.servers import VOCABULARY
from contract.proofs.talk import ABSENT, Answer, Step
from contract.proofs.trial import Trial
from overt.contract.field import COMPLETIONS, GENERATE

IDS: dict[str, Any] = {"return_token_ids": True}
DRAWS: dict[str, Any] = IDS | {"temperature": 1, "seed": 5, "n": 24, "max_tokens": 1}
"""Many first tokens by one request."""


def told(trial: Trial, top: int = 0) -> dict[str, Any]:
    """The fields that have each token's log probability told, and those of the `top` likeliest."""
    wanted = {"logprobs": True, "top_logprobs": top} if trial.route == "chat" else {"logprobs": top}
    return wanted | {"return_tokens_as_token_ids": True}


def distribution(trial: Trial, **rest: Any) -> dict[int, float]:
    """The probability of every token of the tiny model behind the question, the likeliest first."""
    (step, *_) = trial.ask(ABSENT, max_tokens=1, **told(trial, VOCABULARY), **rest).steps()
    found = {token: math.exp(logprob) for token, logprob in step.likeliest.items()}
    assert math.isclose(sum(found.values()), 1, abs_tol=1e-3)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def first_tokens(answer: Answer) -> set[int]:
    """Of all choices."""
    return {tokens[0] for tokens in answer.tokens}


def keeps(trial: Trial, value: float, kept: set[int]) -> None:
    """With the value only tokens of the set are drawn, and several; without it others are, too."""
    drawn = first_tokens(trial.ask(value, **DRAWS))
    assert drawn <= kept, (drawn, kept)
    assert len(drawn) > 1
    assert not first_tokens(trial.ask(ABSENT, **DRAWS)) <= kept


def pins(trial: Trial, value: float, *, likeliest: bool = True) -> None:
    """On the demo model as well: with the value all draws are one token, without it they differ."""
    draws = DRAWS | {"n": 8}
    pinned = first_tokens(trial.ask(value, on="demo", **draws))
    assert len(pinned) == 1
    assert len(first_tokens(trial.ask(ABSENT, on="demo", **draws))) > 1
    if likeliest:
        greedy = trial.ask(ABSENT, on="demo", **draws | {"temperature": 0, "n": 1})
        assert pinned == first_tokens(greedy)


@proof(GENERATE, "temperature")
def temperature(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        cold = [trial.ask(0, on, max_tokens=3, seed=seed, **IDS).tokens for seed in (1, 2)]
        assert cold[0] == cold[1]
        warm = [trial.ask(1, on, max_tokens=3, seed=seed, **IDS).tokens for seed in (1, 2, 3)]
        assert any(tokens != warm[0] for tokens in warm)
    likeliest = next(iter(distribution(trial)))
    assert trial.ask(0, max_tokens=1, **IDS).tokens == [[likeliest]]
    drawn = [len(first_tokens(trial.ask(value, **DRAWS | {"temperature": ABSENT}))) for value in (0.2, 2)]
    assert 1 <= drawn[0] < drawn[1]


@proof(GENERATE, "top_k")
def top_k(trial: Trial) -> None:
    keeps(trial, 3, set(list(distribution(trial))[:3]))
    pins(trial, 1)


@proof(GENERATE, "top_p")
def top_p(trial: Trial) -> None:
    found = distribution(trial)
    together = list(accumulate(found.values()))
    # Between the sums of three and of four.
    keeps(trial, (together[2] + together[3]) / 2, set(list(found)[:4]))
    pins(trial, 1e-6)


@proof(GENERATE, "min_p")
def min_p(trial: Trial) -> None:
    found = distribution(trial)
    shares = [chance / max(found.values()) for chance in found.values()]
    keeps(trial, (shares[3] + shares[4]) / 2, set(list(found)[:4]))
    pins(trial, 1)


@proof(GENERATE, "typical_p")
def typical_p(trial: Trial) -> None:
    found = distribution(trial)
    expected = -sum(chance * math.log(chance) for chance in found.values())
    typical = sorted(found, key=lambda token: abs(-math.log(found[token]) - expected))
    together = list(accumulate(found[token] for token in typical))
    keeps(trial, (together[4] + together[5]) / 2, set(typical[:6]))
    pins(trial, 1e-6, likeliest=False)


@proof(GENERATE, "seed")
def seed(trial: Trial) -> None:
    rest: dict[str, Any] = IDS | {"temperature": 1, "max_tokens": 4}
    for on in ("demo", "tiny"):
        texts = [trial.ask(value, on, **rest).tokens for value in (7, 7, -(2**63), 2**63 - 1)]
        assert texts[0] == texts[1]
        assert texts[0] != texts[2] != texts[3] != texts[0]
    assert trial.ask(ABSENT, **rest).tokens != trial.ask(ABSENT, **rest).tokens


# --- penalties ---


def gaps(trial: Trial) -> tuple[int, list[float]]:
    """A token, and by how much the likeliest other exceeds it after 0, 1, 2, … of it."""
    forced = next(iter(distribution(trial)))
    steps = trial.ask(ABSENT, max_tokens=8, logit_bias={str(forced): 100}, **told(trial, VOCABULARY)).steps()
    assert [step.token for step in steps] == [forced] * 8
    return forced, [_best_other(step, forced) - step.likeliest[forced] for step in steps]


def _best_other(step: Step, forced: int) -> float:
    return max(logprob for token, logprob in step.likeliest.items() if token != forced)


def repeats(trial: Trial, value: Any, token: int, bias: float) -> int:
    """How often an answer of eight tokens begins with the biased token."""
    (tokens,) = trial.ask(value, max_tokens=8, logit_bias={str(token): bias}, **IDS).tokens
    return next((index for index, made in enumerate(tokens) if made != token), len(tokens))


def foreseen(gap: list[float], bias: float, penalty: float, *, each: bool) -> int:
    """The same, worked out: the penalty is taken once, or for each time."""
    for times, exceeds in enumerate(gap):
        left = bias - penalty * (times if each else min(times, 1)) - exceeds
        assert abs(left) > 1e-3, "a tie decides"
        if left < 0:
            return times
    return len(gap)


def penalty(trial: Trial, *, each: bool) -> None:
    token, gap = gaps(trial)
    bias = max(gap) + 0.7
    assert repeats(trial, ABSENT, token, bias) == foreseen(gap, bias, 0, each=each) == 8
    for value in (0.31, 1.9):
        assert repeats(trial, value, token, bias) == foreseen(gap, bias, value, each=each), value
    less = min(gap) - 0.05
    assert repeats(trial, ABSENT, token, less) == foreseen(gap, less, 0, each=each)
    assert repeats(trial, -1.9, token, less) == foreseen(gap, less, -1.9, each=each)


@proof(GENERATE, "presence_penalty")
def presence_penalty(trial: Trial) -> None:
    penalty(trial, each=False)


@proof(GENERATE, "frequency_penalty")
def frequency_penalty(trial: Trial) -> None:
    penalty(trial, each=True)


@proof(GENERATE, "repetition_penalty")
def repetition_penalty(trial: Trial) -> None:
    said = "1, 1, 1, 1, 1, 1, 1, 1,"
    rest: dict[str, Any] = IDS | {"prompt": said, "max_tokens": 6}
    if trial.route == "chat":
        turns = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": said}]
        rest |= {"messages": turns, "continue_final_message": True, "prompt": ABSENT}
    free = trial.ask(ABSENT, "demo", **rest)
    assert set(free.tokens[0]) & set(free.prompt)
    fined = trial.ask(10, "demo", **rest)
    assert not set(fined.tokens[0]) & set(fined.prompt)
    assert len(set(fined.tokens[0])) == 6
    assert trial.ask(1, "demo", **rest).tokens == free.tokens


# --- biases and bans ---


@proof(GENERATE, "logit_bias")
def logit_bias(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        free = trial.ask(ABSENT, on, max_tokens=3, **IDS).tokens[0]
        assert 77 not in free
        assert trial.ask({"77": 100}, on, max_tokens=3, **IDS).tokens == [[77, 77, 77]]
        assert trial.ask({str(free[0]): -100}, on, max_tokens=3, **IDS).tokens[0][0] != free[0]
    found = list(distribution(trial).items())
    # Just enough for the second to win, and just too little.
    lead = math.log(found[0][1] / found[1][1])
    for bias, first in ((lead + 0.01, found[1][0]), (lead - 0.01, found[0][0])):
        assert trial.ask({str(found[1][0]): bias}, max_tokens=1, **IDS).tokens == [[first]]


@proof(GENERATE, "allowed_token_ids")
def allowed_token_ids(trial: Trial) -> None:
    rest: dict[str, Any] = DRAWS | {"max_tokens": 3, "n": 8}
    for on in ("demo", "tiny"):
        made = {token for tokens in trial.ask([70, 80, 90], on, **rest).tokens for token in tokens}
        assert made == {70, 80, 90}
        assert not {token for tokens in trial.ask(ABSENT, on, **rest).tokens for token in tokens} <= {70, 80, 90}


@proof(GENERATE, "bad_words")
def bad_words(trial: Trial) -> None:
    free = trial.ask(ABSENT, "demo", max_tokens=8).text
    word = max(free.split(), key=len).strip(".,!:")
    assert len(word) > 2
    banned = trial.ask([word], "demo", max_tokens=8).text
    assert word in free
    assert word not in banned
    assert banned


# --- choices ---


@proof(GENERATE, "n")
def n(trial: Trial) -> None:
    rest: dict[str, Any] = IDS | {"temperature": 1, "seed": 3}
    for on in ("demo", "tiny"):
        many = trial.ask(3, on, **rest)
        assert [choice["index"] for choice in many.json["choices"]] == [0, 1, 2]
        assert len({tuple(tokens) for tokens in many.tokens}) == 3
        assert many.made == 12
        assert trial.ask(ABSENT, on, **rest).tokens == many.tokens[:1]


@proof(COMPLETIONS, "best_of")
def best_of(trial: Trial) -> None:
    rest: dict[str, Any] = IDS | {"temperature": 1, "max_tokens": 3, "ignore_eos": True}
    for seed in count():
        candidates = trial.ask(ABSENT, n=6, seed=seed, **told(trial), **rest)
        means = [sum(step.logprob for step in candidates.steps(index)) / 3 for index in range(6)]
        best = means.index(max(means))
        if best != 0:
            break
    chosen = trial.ask(6, seed=seed, **rest)
    assert chosen.tokens == [candidates.tokens[best]]
    assert chosen.made == 18
    assert trial.ask(ABSENT, seed=seed, **rest).tokens == [candidates.tokens[0]]


def _total(answer: Answer, index: int) -> float:
    return sum(step.logprob for step in answer.steps(index))


@proof(GENERATE, "use_beam_search")
def use_beam_search(trial: Trial) -> None:
    rest: dict[str, Any] = told(trial) | IDS | {"n": 3, "temperature": ABSENT, "ignore_eos": True}
    found = trial.ask(True, **rest)
    totals = [_total(found, index) for index in range(3)]
    assert totals == sorted(totals, reverse=True)
    assert len({tuple(tokens) for tokens in found.tokens}) == 3
    assert trial.ask(True, **rest).tokens == found.tokens
    drawn = trial.ask(ABSENT, **rest)
    assert drawn.tokens != trial.ask(ABSENT, **rest).tokens
    greedy = trial.ask(ABSENT, **rest | {"n": 1, "temperature": 0})
    assert totals[0] >= max(_total(greedy, 0), *(_total(drawn, index) for index in range(3))) - 1e-4


@proof(GENERATE, "length_penalty")
def length_penalty(trial: Trial) -> None:
    # Many ends, so that texts of several lengths are found.
    rest: dict[str, Any] = told(trial) | {"n": 6, "temperature": ABSENT, "use_beam_search": True, "max_tokens": 5}
    rest |= IDS | {"stop_token_ids": list(range(3, 103))}
    orders = []
    for value in (0, 1, 3):
        found = trial.ask(value, **rest)
        orders.append(found.tokens)
    assert orders[0] != orders[2]
    means = [sum(map(len, order)) for order in orders]
    assert means == sorted(means)
    assert means[0] < means[2]
    assert trial.ask(ABSENT, **rest).tokens == orders[1]
