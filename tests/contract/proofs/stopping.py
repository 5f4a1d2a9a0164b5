"""Where a choice ends."""

from typing import Any

from contract.proofs.registry import proof
from contract.proofs.talk import ABSENT
from contract.proofs.trial import Trial
from overt.contract.field import CHAT, GENERATE

WORDS = "<words>"
"""Answered by the script with "one two three four"."""
END = "2"
"""The tiny model's end of turn."""


@proof(GENERATE, "max_tokens")
@proof(CHAT, "max_completion_tokens")
def max_tokens(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        for value in (2, 5):
            answer = trial.ask(value, on, max_tokens=ABSENT, ignore_eos=True)
            assert (answer.made, answer.finish) == (value, "length")
    whole = trial.ask(ABSENT, "scripted", prompt=WORDS, max_tokens=ABSENT)
    assert (whole.text, whole.finish) == ("one two three four", "stop")
    cut = trial.ask(2, "scripted", prompt=WORDS, max_tokens=ABSENT)
    assert (cut.text, cut.finish) == ("one two ", "length")


@proof(GENERATE, "min_tokens", "min_new_tokens")
def min_tokens(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        rest: dict[str, Any] = {"logit_bias": {END: 100}, "max_tokens": 6, "return_token_ids": True}
        none = trial.ask(ABSENT, on, **rest)
        assert (none.text, none.finish) == ("", "stop")
        some = trial.ask(3, on, **rest)
        assert some.finish == "stop"
        assert some.tokens[0].index(int(END)) == 3


@proof(GENERATE, "ignore_eos")
def ignore_eos(trial: Trial) -> None:
    stopped = trial.ask(ABSENT, "scripted", prompt=WORDS, max_tokens=9)
    assert (stopped.text, stopped.finish) == ("one two three four", "stop")
    went_on = trial.ask(True, "scripted", prompt=WORDS, max_tokens=9)
    assert (went_on.made, went_on.finish) == (9, "length")
    rest: dict[str, Any] = {"logit_bias": {END: 100}, "max_tokens": 3}
    assert trial.ask(ABSENT, **rest).finish == "stop"
    assert trial.ask(True, **rest).made == 3


@proof(GENERATE, "stop")
def stop(trial: Trial) -> None:
    free = trial.ask(ABSENT, "scripted", prompt=WORDS, max_tokens=9)
    assert free.choice["stop_reason"] is None
    for value, text in (("two", "one "), (["xx", "e four"], "one two thre"), (["four", "thr"], "one two ")):
        cut = trial.ask(value, "scripted", prompt=WORDS, max_tokens=9)
        assert (cut.text, cut.finish) == (text, "stop")
        assert cut.choice["stop_reason"] in value


@proof(GENERATE, "stop_regex")
def stop_regex(trial: Trial) -> None:
    assert trial.ask(ABSENT, "scripted", prompt=WORDS, max_tokens=9).text == "one two three four"
    cut = trial.ask("t[a-z]re", "scripted", prompt=WORDS, max_tokens=9)
    assert (cut.text, cut.finish) == ("one two ", "stop")
    assert trial.ask(["x{1,3}y", "[of]ou?"], "scripted", prompt=WORDS, max_tokens=9).text == "one two three "


@proof(GENERATE, "stop_token_ids")
def stop_token_ids(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        rest: dict[str, Any] = {"max_tokens": 6, "ignore_eos": True, "return_token_ids": True}
        (free,) = trial.ask(ABSENT, on, **rest).tokens
        last = free[-1]
        cut = trial.ask([last], on, **rest)
        assert (cut.finish, cut.choice["stop_reason"]) == ("stop", last)
        assert cut.tokens[0] == free[: free.index(last) + 1]
        assert len(cut.text) < len(trial.ask(ABSENT, on, **rest).text)


@proof(GENERATE, "include_stop_str_in_output", "no_stop_trim")
def include_stop(trial: Trial) -> None:
    for ends in ({"stop": "two"}, {"stop_regex": "tw."}):
        rest: dict[str, Any] = {"prompt": WORDS, "max_tokens": 9, **ends}
        assert trial.ask(ABSENT, "scripted", **rest).text == "one "
        assert trial.ask(False, "scripted", **rest).text == "one "
        assert trial.ask(True, "scripted", **rest).text == "one two"
