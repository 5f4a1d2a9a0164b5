"""The parsers by themselves."""

from typing import Any

from contract.proofs.calls import TOOLS, limited, named
from contract.proofs.registry import proof
from contract.proofs.servers import CALL, HIDDEN
from contract.proofs.talk import ABSENT
from contract.proofs.trial import Trial

THOUGHT = "<think>I muse</think>"
PYTHONIC = "[f(x=1)]"


def said(trial: Trial, value: Any, on: str = "scripted", **rest: Any) -> tuple[str | None, str | None, list[str]]:
    """Reasoning, content, and the names of the calls."""
    told = trial.ask(value, on, **rest).ok().json
    return told["reasoning_content"], told["content"], [call["function"]["name"] for call in told["tool_calls"]]


@proof("parse", "text")
def text(trial: Trial) -> None:
    rest: dict[str, Any] = {"text": ABSENT, "tools": TOOLS}
    assert said(trial, "", **rest) == (None, None, [])
    assert said(trial, "So.", **rest) == (None, "So.", [])
    assert said(trial, THOUGHT + "So." + CALL, **rest) == ("I muse", "So.", ["f"])
    told = trial.ask(THOUGHT + CALL, "scripted", **rest).json
    kinds = [event["kind"] for event in told["events"]]
    assert sorted(set(kinds), key=kinds.index) == ["reasoning", "call_start", "call_arguments", "call_end"]
    assert "".join(event.get("text", "") for event in told["events"] if event["kind"] == "call_arguments") == '{"x": 1}'
    assert (told["tool_call_parser"], told["reasoning_parser"]) == ("hermes", "qwen3")
    assert said(trial, f"a{HIDDEN}b", **rest) == (None, "ab", [])
    trial.ask(ABSENT, text=ABSENT).refuses("text", "missing_required_parameter")


@proof("parse", "tool_call_parser")
def tool_call_parser(trial: Trial) -> None:
    rest: dict[str, Any] = {"tools": TOOLS, "text": CALL}
    for value in (ABSENT, "auto", "hermes", "qwen25"):
        assert said(trial, value, **rest) == (None, None, ["f"])
    for value in ("none", "pythonic"):
        assert said(trial, value, **rest) == (None, CALL, [])
    assert said(trial, "pythonic", **rest | {"text": PYTHONIC}) == (None, None, ["f"])
    assert said(trial, ABSENT, **rest | {"text": PYTHONIC}) == (None, PYTHONIC, [])
    # This server has none of its own.
    assert said(trial, ABSENT, "tiny", **rest) == (None, CALL, [])
    assert said(trial, "hermes", "tiny", **rest) == (None, None, ["f"])
    trial.ask("zzz", **rest).refuses("tool_call_parser")


@proof("parse", "reasoning_parser")
def reasoning_parser(trial: Trial) -> None:
    rest: dict[str, Any] = {"text": f"{THOUGHT}So."}
    for value in (ABSENT, "auto", "qwen3"):
        assert said(trial, value, **rest) == ("I muse", "So.", [])
    assert said(trial, "none", **rest) == (None, f"{THOUGHT}So.", [])
    # In this format thinking is open from the beginning.
    assert said(trial, "deepseek_r1", text="I muse</think>So.") == ("I muse", "So.", [])
    assert said(trial, ABSENT, text="I muse</think>So.") == (None, "I muse</think>So.", [])
    assert said(trial, "qwen3", "tiny", **rest) == ("I muse", "So.", [])
    trial.ask("zzz", **rest).refuses("reasoning_parser")


@proof("parse", "tools")
def tools(trial: Trial) -> None:
    for value in (ABSENT, []):
        assert said(trial, value, text=CALL) == (None, CALL, [])
    assert said(trial, TOOLS, text=CALL) == (None, None, ["f"])
    for value, param in (
        ([{}], "tools[0].function.name"),
        ([*TOOLS, {"function": "f"}], "tools[2].function.name"),
        ([{"type": "function", "function": {"name": ""}}], "tools[0].function.name"),
        ([{"type": "custom", "custom": {"name": "f"}}], "tools[0].type"),
        (["f"], "tools[0]"),
    ):
        trial.ask(value, text=CALL).refuses(param)


@proof("parse", "tool_choice")
def tool_choice(trial: Trial) -> None:
    rest: dict[str, Any] = {"text": CALL, "tools": TOOLS}
    for value in (ABSENT, "auto", "required", named("f"), limited("auto", "f"), limited("required", "f", "g")):
        assert said(trial, value, **rest) == (None, None, ["f"])
    assert said(trial, "none", **rest) == (None, CALL, [])
    # A choice of one tool may be answered by its bare arguments.
    bare = rest | {"text": '{"x": 2}'}
    assert said(trial, named("g"), **bare) == (None, None, ["g"])
    for value in (ABSENT, "required"):
        assert said(trial, value, **bare) == (None, '{"x": 2}', [])
    for value in ("sometimes", named("h"), {"type": "zzz"}, 1):
        trial.ask(value, **rest).refuses("tool_choice")
    trial.ask("required", text=CALL).refuses("tool_choice")


@proof("parse", "prompt_tail")
def prompt_tail(trial: Trial) -> None:
    rest: dict[str, Any] = {"text": "I muse</think>So."}
    for value in (ABSENT, "", "assistant\n", "<think></think>"):
        assert said(trial, value, **rest) == (None, "I muse</think>So.", [])
    assert said(trial, "assistant\n<think>\n", **rest) == ("I muse", "So.", [])
