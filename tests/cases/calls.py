"""Tool calls and reasoning: what parsers make of a model's output, however it is cut into tokens."""

import json
import re
from collections.abc import Callable
from typing import Any

from cases.corpus import CORRECTED, Case, on
from cases.formats import outputs, read_cases, server_of
from cases.streams import told
from cases.talk import CHAT, Answer, Choice, both, streamed, strict_json, whole
from serve.server import Server

COMPARED: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "rstrip both sides": str.rstrip,
    "strip leading line feeds on both sides": lambda text: text.lstrip("\n"),
}
"""How texts are compared, where a case allows more than one."""

OF_CONTENT: dict[str, Callable[[str], bool]] = {
    "tool-llama3-trailing-prose-braces": lambda text: (
        text.strip() in ("", 'I used {searchTool} and {"query": "x"} for this.')
    ),
    "tool-choice-none-no-leak": lambda text: "<tool_call>" not in text and "</tool_call>" not in text,
}
"""Where a case describes the content in words."""


def _asked(server: Server, case: Case, cut: str) -> dict[str, Any]:
    """The request, whose prompt ends as the case says."""
    body = told(case, cut)
    body = {name: value for name, value in body.items() if name != "stream"}
    tail = case.input.get("rendered_prompt_ends_with")
    if tail is not None:
        kwargs = body.get("chat_template_kwargs") or {}
        if kwargs.get("enable_thinking", True):
            body["chat_template_kwargs"] = kwargs | {"tail": tail}
        shown = server.post(CHAT + "/render", body).json()
        assert shown["prompt_text"].endswith(tail)
    if case.input.get("model_output", {}).get("end") == "length":
        body["max_tokens"] = len(outputs(case)[cut][0])
    return body


def _run(server: Server, case: Case) -> None:
    for cut in outputs(case):
        answer = both(server, CHAT, _asked(server, case, cut))
        wanted = case.expected.get("by_choice") or {"0": case.expected}
        assert len(answer.choices) == len(wanted)
        for index, expected in wanted.items():
            if index in CORRECTED.get(case.id, {}):
                expected = expected | {"content": CORRECTED[case.id][index]}
            choice = answer.choices[int(index)]
            _holds_choice(case, cut, choice, expected)
        _holds_usage(case, cut, answer)
        _holds_stream(server, case, cut)


def _holds_choice(case: Case, cut: str, choice: Choice, expected: dict[str, Any]) -> None:
    where = (case.id, cut, choice)
    assert choice.finish == expected["finish_reason"], where
    _holds_text(choice.reasoning, expected.get("reasoning"), expected.get("reasoning_compare"), where)
    if case.id in OF_CONTENT:
        assert OF_CONTENT[case.id](choice.text), where
    else:
        _holds_text(choice.text, expected.get("content"), expected.get("content_compare"), where)
    if expected.get("content_is_json_valid"):
        strict_json(choice.text)
    if expected.get("arguments_is_prefix"):
        ((wanted, call),) = zip(expected["tool_calls"], choice.calls, strict=True)
        begun = wanted["arguments"].removeprefix("<prefix of ").removesuffix(">")
        assert begun.startswith(call["arguments"]), where
        assert call["arguments"], where
        return
    calls = [{"name": call["name"], "arguments": strict_json(call["arguments"])} for call in choice.calls]
    assert calls == expected["tool_calls"], where
    for call in choice.calls:
        texts = expected.get("arguments_concat_exact_any_of") or [expected.get("arguments_concat_exact")]
        assert texts == [None] or call["arguments"] in texts, where


def _holds_text(text: str, expected: str | None, compare: str | None, where: Any) -> None:
    same = COMPARED[compare] if compare is not None else str
    assert same(text) == same(expected or ""), where


def _holds_usage(case: Case, cut: str, answer: Answer) -> None:
    assert answer.usage is not None
    made = answer.usage["completion_tokens"]
    pieces = sum(map(len, outputs(case)[cut]))
    # The token that ends a turn counts, too; where a grammar is complete, there is none.
    ends = 0 if case.input.get("model_output", {}).get("end") == "length" else len(answer.choices)
    held = "response_format" in case.body
    assert made - pieces in ((0, ends) if held else (ends,)), (case.id, cut, answer.usage)
    details = answer.usage.get("completion_tokens_details") or {}
    reasoned = details.get("reasoning_tokens", 0)
    reasoning = any(choice.reasoning for choice in answer.choices)
    # One token that holds thinking and answer may count as either.
    least = int(reasoning and cut != "all_in_one")
    assert least <= reasoned <= (made if reasoning else 0), (case.id, cut, answer)
    wanted = case.expected.get("usage")
    if wanted is not None and cut == "as_given":
        assert made == wanted["completion_tokens"]
        assert details == wanted["completion_tokens_details"]
    if case.expected.get("content") is None and reasoning and answer.choices[0].finish == "length":
        assert reasoned == made


def _holds_stream(server: Server, case: Case, cut: str) -> None:
    """What only a stream shows: its ids, and when fragments come."""
    answer = streamed(server, CHAT, _asked(server, case, cut))
    ids = [id_ for choice in answer.choices for id_ in choice.ids]
    assert len({*ids}) == len(ids), (case.id, cut)
    if "ids" in case.expected:
        assert ids == case.expected["ids"]
    if "id_regex" in case.expected:
        assert ids
        assert all(re.fullmatch(case.expected["id_regex"], id_) for id_ in ids), (case.id, cut, ids)
    if "first_tool_chunk" in case.expected:
        fragments = [part for chunk in answer.raw for part in chunk["choices"][0]["delta"].get("tool_calls", ())]
        first = fragments[0] | {"id": "<non-empty>"}
        first["function"] = {"name": first["function"]["name"]}
        assert first == case.expected["first_tool_chunk"]
    least = case.expected.get("min_argument_fragments_as_given")
    if least is not None and cut == "as_given":
        assert len(answer.choices[0].fragments[0]) >= least, answer.choices[0].fragments


def _replays_ids(server: Server, case: Case) -> None:
    _run(server, case)
    body = _asked(server, case, "as_given")
    message = whole(server, CHAT, body).raw[0]["choices"][0]["message"]
    calls = message["tool_calls"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "20"} for call in calls]
    again = body | {"messages": [*body["messages"], message, *results]}
    shown = server.post(CHAT + "/render", again)
    assert shown.status_code == 200, shown.text
    # As the client sent them: nothing has to be changed for this family's template.
    assert all(call["id"] in shown.json()["prompt_text"] for call in calls)
    assert json.dumps(shown.json()["normalisations"]).count("tool_call_id") == 0
    assert whole(server, CHAT, again).choices[0].calls


CHECKS_OF: dict[str, Callable[[Server, Case], None]] = {"tool-mistral-id-9": _replays_ids}

for _case in read_cases():
    if _case.id != "reason-json-schema-bare-json":
        on(server_of(_case.id), _case.id)(CHECKS_OF.get(_case.id, _run))
