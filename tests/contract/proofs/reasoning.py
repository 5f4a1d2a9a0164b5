"""What the model thought before its answer."""

from typing import Any

from contract.proofs.prompt import CHAT_TEXT, rendered
from contract.proofs.registry import proof
from contract.proofs.talk import ABSENT, Answer
from contract.proofs.trial import Trial
from overt.contract.field import CHAT, GENERATE

MUSE: dict[str, Any] = {"prompt": "<muse>", "max_tokens": 20}
"""Answered by the script with reasoning in four tokens, and "So."."""
THOUGHT = "I muse on"
NAMES = ("reasoning", "reasoning_content")


def thoughts(answer: Answer) -> list[str]:
    """The reasoning of a stream, delta by delta."""
    deltas = [choice["delta"] for chunk in answer.chunks for choice in chunk["choices"]]
    return [delta["reasoning"] for delta in deltas if delta.get("reasoning")]


@proof(CHAT, "include_reasoning")
def include_reasoning(trial: Trial) -> None:
    for value in (ABSENT, True):
        answer = trial.ask(value, "scripted", **MUSE)
        assert [answer.choice["message"][name] for name in NAMES] == [THOUGHT] * 2
        assert answer.text == "So."
    without = trial.ask(False, "scripted", **MUSE)
    assert without.text == "So."
    assert not set(NAMES) & without.choice["message"].keys()
    assert without.made == trial.ask(ABSENT, "scripted", **MUSE).made
    streamed = trial.ask(False, "scripted", **MUSE, stream=True)
    assert streamed.texts == ["So."]
    assert b"muse" not in streamed.raw
    # What is left out is not merged into the text.
    both = trial.ask(False, "scripted", **MUSE, separate_reasoning=False)
    assert both.text == "So."
    assert both.effects == {"separate_reasoning": {"e": "inert"}}


@proof(CHAT, "separate_reasoning")
def separate_reasoning(trial: Trial) -> None:
    for value in (ABSENT, True):
        answer = trial.ask(value, "scripted", **MUSE)
        assert (answer.choice["message"]["reasoning"], answer.text) == (THOUGHT, "So.")
    merged = trial.ask(False, "scripted", **MUSE)
    assert merged.text == f"<think>{THOUGHT}</think>So."
    assert not any(merged.choice["message"].get(name) for name in NAMES)
    assert trial.ask(False, "scripted", **MUSE, stream=True).texts == merged.texts


@proof(CHAT, "stream_reasoning")
def stream_reasoning(trial: Trial) -> None:
    rest = MUSE | {"stream": True}
    for value in (ABSENT, True):
        parts = thoughts(trial.ask(value, "scripted", **rest))
        assert len(parts) > 1
        assert "".join(parts) == THOUGHT
    whole = trial.ask(False, "scripted", **rest)
    assert thoughts(whole) == [THOUGHT]
    assert whole.texts == ["So."]
    unstreamed = trial.ask(False, "scripted", **MUSE)
    assert unstreamed.masked == trial.ask(ABSENT, "scripted", **MUSE).masked
    assert unstreamed.effects == {"stream_reasoning": {"e": "inert"}}


@proof(GENERATE, "thinking_token_budget")
def thinking_token_budget(trial: Trial) -> None:
    """The prompt has opened the thinking, and this model would never close it."""
    opened: dict[str, Any] = {"prompt": "Name a river.\n<think>"}
    if trial.route == "chat":
        turns = [{"role": "user", "content": "Name a river."}, {"role": "assistant", "content": "<think>"}]
        opened = {"messages": turns, "continue_final_message": True}
    rest: dict[str, Any] = opened | {"max_tokens": 20, "ignore_eos": True, "return_token_ids": True}

    def closed(value: Any) -> tuple[int, str]:
        """Tokens before the end of the thinking, and the reasoning."""
        answer = trial.ask(value, "demo", **rest)
        (tokens,) = answer.tokens
        before = next(
            (at for at in range(len(tokens)) if "</think>" in trial.servers["demo"].text(tokens[: at + 1])), -1
        )
        return before, answer.choice["message"].get("reasoning", "") if trial.route == "chat" else ""

    free, thought = closed(ABSENT)
    assert free == closed(-1)[0] == -1
    ends = {value: closed(value) for value in (0, 3, 7)}
    # The end takes some tokens of its own, always the same.
    length = ends[0][0]
    assert 0 <= length <= 6
    assert {value: end for value, (end, _) in ends.items()} == {0: length, 3: length + 3, 7: length + 7}
    if trial.route == "chat":
        assert not ends[0][1]
        assert thought.startswith(ends[7][1].strip())
        assert len(ends[3][1]) < len(ends[7][1])


@proof(CHAT, "enable_thinking")
def enable_thinking(trial: Trial) -> None:
    assert rendered(trial, ABSENT) == CHAT_TEXT
    for value in (True, False):
        assert rendered(trial, value) == f"Thinking: {value}\n{CHAT_TEXT}"
    own = {"chat_template_kwargs": {"enable_thinking": "own"}}
    assert rendered(trial, False, **own) == f"Thinking: own\n{CHAT_TEXT}"
    assert trial.ask(False, **own).effects["enable_thinking"]["e"] == "adapted"
