"""`overt.parsers`: a text's events are the same however it is cut, and what a format writes is what it reads."""

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from overt import _core, parsers
from overt.parsers import Event, Parser

DECLARED = ("response_template", "hf", "beam")
"""Formats that a checkpoint declares: without one there is nothing to read by."""

TOOL_NAMES, REASONING_NAMES = (sorted({*some} - {*DECLARED}) for some in parsers.names())

NAMES = Path(__file__).parents[3] / "shared" / "reference" / "parser_names.json"

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "book",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "exact": {"type": "boolean"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "more": {"type": "object"},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}},
]
CALLS = [
    {"name": "book", "arguments": {"city": "Zürich 😀", "days": 3, "exact": True, "tags": ["a", "b c"]}},
    {"name": "ls", "arguments": {}},
    {"name": "book", "arguments": {"city": 'a "quoted" \\ {brace} line\nnext', "more": {"deep": [1, {"x": None}]}}},
]


def gather(events: Iterable[Event]) -> tuple[str, str, list[tuple[str | None, str]]]:
    """Content, reasoning and calls; holds that the events come in an order that a client can follow."""
    said = {"content": "", "reasoning": ""}
    calls: list[tuple[str | None, str]] = []
    ids: list[str | None] = []
    open_ = False
    for event in events:
        if event.kind in ("content", "reasoning"):
            assert not open_
            assert event.text
            said[event.kind] += event.text
        elif event.kind == "call_start":
            assert (open_, event.index) == (False, len(calls))
            assert event.id
            open_ = True
            ids.append(event.id)
            calls.append((event.name, ""))
        else:
            assert (open_, event.index) == (True, len(calls) - 1)
            open_ = event.kind != "call_end"
            calls[-1] = (calls[-1][0], calls[-1][1] + event.text)
    assert not open_
    assert len({*ids}) == len(ids)
    return said["content"], said["reasoning"], calls


def read(parser: Parser, pieces: Sequence[str]) -> tuple[str, str, list[tuple[str | None, str]]]:
    """What the parser says of these pieces."""
    events = [event for piece in pieces for event in parser.push(piece)]
    return gather([*events, *parser.finish()])


def cuts(text: str, dice: random.Random) -> list[list[str]]:
    """The text whole, by character, and at random places."""
    found = [[text], [*text]]
    for _ in range(3):
        places = sorted(dice.sample(range(1, len(text)), min(len(text) - 1, 12))) if len(text) > 1 else []
        found.append([text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)])
    return found


def test_names_are_sorted_and_each_makes_a_parser() -> None:
    names = parsers.names()
    for some in names:
        assert [*some] == sorted({*some})
        assert len(some) > 40
    for name in names.tool:
        assert read(Parser(name), ["Hi", " there"])[0] == "Hi there"
    for name in names.reasoning:
        content, reasoning, calls = read(Parser(None, name), ["Hi", " there"])
        assert ((content + reasoning).removeprefix("<think>"), calls) == ("Hi there", [])


def test_every_name_of_both_servers_is_known() -> None:
    if not NAMES.exists():
        pytest.skip(f"there is no {NAMES}")
    listed = json.loads(NAMES.read_text())
    known = parsers.names()
    for of_server in listed.values():
        assert not {*of_server["tool"]} - {*known.tool, *DECLARED}
        assert not {*of_server["reasoning"]} - {*known.reasoning, *DECLARED}


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_what_a_format_writes_it_reads_however_it_is_cut(name: str) -> None:
    dice = random.Random(f"cuts of {name}")
    for calls in (CALLS[:1], CALLS[1:2], CALLS[2:], CALLS):
        text = _core.write_calls(name, json.dumps(calls).encode(), json.dumps(TOOLS).encode())
        wanted = [(call["name"], call["arguments"]) for call in calls]
        for pieces in cuts(text, dice):
            _, reasoning, found = read(Parser(name, tools=TOOLS), pieces)
            assert [(name, json.loads(arguments)) for name, arguments in found] == wanted, (text, pieces)
            assert reasoning == ""
        without = read(Parser(name), [text])
        assert without[2] == [], "without tools there are no calls"
        assert read(Parser(name, tools=TOOLS, tool_choice="none"), [text])[2] == []


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_prose_is_kept_and_a_cut_call_is_valid_as_far_as_it_goes(name: str) -> None:
    dice = random.Random(f"prose of {name}")
    for prose in ("if a < b then [x] {y} <z> `w` : ok", "\u4f60\u597d <tool", '{"a": 1}', "<|", "functions"):
        texts = {read(Parser(name, tools=TOOLS), pieces)[0] for pieces in cuts(prose, dice)}
        assert texts == {prose}, prose
    text = _core.write_calls(name, json.dumps(CALLS[:1]).encode(), json.dumps(TOOLS).encode())
    whole = read(Parser(name, tools=TOOLS), [text])[2][0][1]
    for end in sorted(dice.sample(range(len(text)), min(len(text), 24))):
        cut = text[:end]
        found = read(Parser(name, tools=TOOLS), [cut])
        assert found == read(Parser(name, tools=TOOLS), [*cut]), cut
        # Nothing is made up: what was said of the arguments is how they begin, or they are closed as they stand.
        for _, arguments in found[2]:
            begun = arguments.rstrip("}] ")
            assert whole.startswith(begun) or json.loads(arguments) is not None, cut


@pytest.mark.parametrize("name", REASONING_NAMES)
def test_reasoning_does_not_depend_on_cuts(name: str) -> None:
    dice = random.Random(f"reasoning of {name}")
    for tail in ("", "<think>\n", "</think>"):
        for text in ("plain words", "<think>\nhm\n</think>\n\nyes", "hm</think>yes", "<think>hm", "<thi", "a </think"):
            said = {
                json.dumps(read(Parser(None, name, prompt_tail=tail), pieces), ensure_ascii=False)
                for pieces in cuts(text, dice)
            }
            assert len(said) == 1, (tail, text, said)
            content, reasoning, calls = json.loads(said.pop())
            assert calls == []
            assert content or reasoning, "prose is never lost"


def test_special_tokens_are_markers_and_no_text() -> None:
    parser = Parser("mistral", tools=TOOLS)
    events = parser.push("Well. ") + parser.push("[TOOL_CALLS]", special_token=True)
    events += parser.push('[{"name": "ls", "arguments": {}}]') + parser.push("</s>", special_token=True)
    content, _, calls = gather([*events, *parser.finish()])
    assert (content.rstrip(), calls) == ("Well.", [("ls", "{}")])


def test_seeds_make_ids() -> None:
    text = _core.write_calls("hermes", json.dumps(CALLS[1:2]).encode(), json.dumps(TOOLS).encode())

    def id_of(seed: int) -> Any:
        parser = Parser("hermes", tools=TOOLS, seed=seed)
        return next(event.id for event in parser.push(text) if event.kind == "call_start")

    assert id_of(1) == id_of(1) != id_of(2)


def test_wrong_arguments_are_refused() -> None:
    for make in (
        lambda: Parser("wat"),
        lambda: Parser(None, "wat"),
        lambda: Parser("hermes", tool_choice="wat"),
        lambda: Parser("hermes", tool_choice={"type": "function"}),
    ):
        with pytest.raises(ValueError, match=r"wat|names it"):
            make()
    with pytest.raises(ValueError, match="wat"):
        _core.write_calls("wat", b"[]", b"[]")


def test_a_named_tool_is_called_by_its_bare_arguments() -> None:
    choice = {"type": "function", "function": {"name": "book"}}
    content, _, calls = read(Parser("hermes", tools=TOOLS, tool_choice=choice), ['{"ci', 'ty": "A"}'])
    assert (content, calls) == ("", [("book", '{"city": "A"}')])
