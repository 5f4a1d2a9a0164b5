"""Every honoured field at least once, whole and streamed: OpenAI's schema and declared extensions come back."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from overt.contract.field import Route
from overt.contract.fields import by_name
from serve.schema import SPEC, check, check_streamed_completion
from serve.server import Server, serving, text_of

EXTENSIONS: dict[str, frozenset[str]] = {
    "answer": frozenset(
        {"overt", "metadata", "service_tier", "prompt_logprobs", "prompt_token_ids", "prompt_text", "obfuscation"}
    ),
    "choice": frozenset({"stop_reason", "token_ids", "prompt_token_ids", "prompt_logprobs"}),
    "message": frozenset({"reasoning", "reasoning_content"}),
    "usage": frozenset({"prompt_tokens_details"}),
    "overt": frozenset({"effects", "profile", "template"}),
}
"""Every key that may come back beside OpenAI's own, by the object that it stands in."""

PATHS: dict[Route, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
MODEL = "demo"
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bern"}}\n</tool_call>'
SPECIAL = ["<pause>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
"""The last three are for prompts with a gap, and in no answer that is asked for."""

SCRIPT = {
    "answers": [
        {"pieces": ["One ", "two ", "three ", "<pause>", "\u5b57", "\u00e9 "], "end": "repeat"},
        {"prompt": "<call>", "pieces": ["Wait. ", *CALL]},
        {"prompt": "<muse>", "pieces": ["<think>", "Let ", "me ", "see", "</think>", "One ", "two"]},
        {"prompt": "<never>", "pieces": SPECIAL},
    ],
    "special_pieces": SPECIAL,
}
TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}"
    "{% for document in documents or [] %}Document: {{ document.text }}\n{% endfor %}"
    "{% if thinking %}Think. {% endif %}{% if reasoning_effort == 'low' %}Be quick. {% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@dataclass(frozen=True)
class Ask:
    """One request, and whether it is sent whole (False), streamed (True) or both."""

    route: Route
    fields: dict[str, Any]
    ways: tuple[bool, ...] = (False, True)


SHIPS = {"type": "object", "properties": {"ships": {"type": "integer"}}, "required": ["ships"]}
GRAMMAR = 'root ::= "One" (" two" | " three")+'

BOTH: tuple[dict[str, Any], ...] = (
    {},
    {"user": "someone", "priority": 5, "metadata": {"ticket": "17"}},
    {"safety_identifier": "someone", "service_tier": "flex", "min_tokens": 2, "ignore_eos": True},
    {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.01, "typical_p": 0.9, "seed": 3},
    {
        "repetition_penalty": 1.2,
        "frequency_penalty": 0.5,
        "presence_penalty": -0.5,
        "logit_bias": {"70": 1.5},
        "bad_words": ["ship"],
    },
    {"allowed_token_ids": [*range(40, 80)], "min_new_tokens": 1},
    {"n": 3, "temperature": 1, "stop": ["three"], "include_stop_str_in_output": True},
    {"stop_regex": ["t[a-z]{1,9}e"], "no_stop_trim": True, "stop_token_ids": [5]},
    {"return_token_ids": True},
    {"cache_salt": "a", "prompt_cache_key": "b", "extra_key": "c", "routed_dp_rank": 0, "request_id": "abc-1"},
    {"data_parallel_rank": 0, "rid": "abc-2", "skip_special_tokens": False, "spaces_between_special_tokens": True},
    {"truncate_prompt_tokens": 4, "truncation_side": "right", "add_special_tokens": False},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "ships", "schema": SHIPS}}},
    {"structured_outputs": {"json": SHIPS, "disable_any_whitespace": True}},
    {"guided_json": SHIPS, "guided_whitespace_pattern": " "},
    {"json_schema": json.dumps(SHIPS)},
    {"guided_json_object": True},
    {"guided_regex": "One( two)+"},
    {"regex": "[0-9]{9}"},
    {"guided_choice": ["One two", "Two three"]},
    {"guided_grammar": GRAMMAR},
    {"ebnf": GRAMMAR},
    {"structural_tag": {"type": "structural_tag", "format": {"type": "regex", "pattern": "One( two)+"}}},
    {"thinking_token_budget": 2},
    {"overt": {"report": True}},
)
"""For either route."""

STREAMED = {
    "stream_options": {"include_usage": True, "continuous_usage_stats": True, "include_obfuscation": True},
    "logprobs": 1,
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
FUNCTIONS = [TOOLS[0]["function"]]
BEAM = {"use_beam_search": True, "n": 2, "length_penalty": 0.5}


def _asks() -> list[Ask]:
    def said(text: str, role: str = "user") -> dict[str, Any]:
        return {"role": role, "content": text}

    talk = {"messages": [said("How many ships?")]}
    chats: list[tuple[dict[str, Any], tuple[bool, ...]]] = [
        ({"max_completion_tokens": 6, "logprobs": True, "top_logprobs": 3}, (False, True)),
        ({"logprobs": True, "return_tokens_as_token_ids": True}, (False, True)),
        ({"messages": [said("<call>")], "tools": TOOLS, "tool_choice": "auto", "max_tokens": 400}, (False, True)),
        ({"tools": TOOLS, "tool_choice": "none"}, (False, True)),
        (
            {"messages": [said("<call>")], "tools": TOOLS, "parallel_tool_calls": False, "max_tokens": 400},
            (False, True),
        ),
        (
            {"messages": [said("<call>")], "functions": FUNCTIONS, "function_call": "auto", "max_tokens": 400},
            (False, True),
        ),
        ({"messages": [said("<muse>")], "include_reasoning": False}, (False, True)),
        ({"messages": [said("<muse>")], "separate_reasoning": False}, (False, True)),
        ({"messages": [said("<muse>")], "stream_reasoning": False}, (True,)),
        ({"messages": [said("<muse>")], "enable_thinking": True}, (False, True)),
        ({"documents": [{"text": "Ships."}], "chat_template_kwargs": {"thinking": True}}, (False, True)),
        ({"add_generation_prompt": False}, (False, True)),
        ({"return_prompt_text": True, "reasoning_effort": "low"}, (False, True)),
        ({"messages": [said("x"), said("One", "assistant")], "continue_final_message": True}, (False, True)),
        (STREAMED | {"logprobs": True}, (True,)),
        ({"prompt_logprobs": 2}, (False,)),
        (BEAM, (False,)),
    ]
    texts: list[tuple[dict[str, Any], tuple[bool, ...]]] = [
        ({"prompt": ["One", "Two"], "echo": True, "logprobs": 2}, (False, True)),
        ({"prompt": [[70, 71], [72]], "logprobs": 0, "return_tokens_as_token_ids": True}, (False, True)),
        ({"prompt": "def f(", "suffix": "return x"}, (False, True)),
        (STREAMED, (True,)),
        ({"prompt_logprobs": 2}, (False,)),
        ({"best_of": 3, "n": 2, "temperature": 1}, (False,)),
        (BEAM, (False,)),
    ]
    asks = [Ask("chat", talk | fields) for fields in BOTH]
    asks += [Ask("chat", talk | fields, ways) for fields, ways in chats]
    asks += [Ask("completions", {"prompt": "How many ships sail?"} | fields) for fields in BOTH]
    asks += [Ask("completions", {"prompt": "How many ships?"} | fields, ways) for fields, ways in texts]
    return asks


ASKS = _asks()
REQUESTS = [pytest.param(ask, way, id=_id) for ask in ASKS for way in ask.ways for _id in [f"{ask.route}-{way}"]]


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model with tokens for gaps, a template that reads what it can be given, and a parser."""
    folder = tmp_path_factory.mktemp("fields")
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    (folder / "template.jinja").write_text(TEMPLATE)
    flags = ("--script", str(folder / "script.json"), "--chat-template", str(folder / "template.jinja"))
    with serving(
        MODEL, "--model-runner", "script", *flags, "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"
    ) as server:
        yield server


def _names(fields: dict[str, Any]) -> set[str]:
    """The fields of a body, members of the server's own objects by their dotted names."""
    members = {f"{name}.{key}" for name in ("stream_options", "overt") for key in fields.get(name) or ()}
    return members | fields.keys()


def _body(ask: Ask, stream: bool) -> dict[str, Any]:
    """Strict, so that a field that is not honoured is refused."""
    own = ask.fields.get("overt", {}) | {"strict": True}
    length = {} if "max_completion_tokens" in ask.fields else {"max_tokens": 8}
    return length | ask.fields | {"model": MODEL, "stream": stream, "overt": own}


def test_the_requests_use_every_honoured_field() -> None:
    assert sum(len(ask.ways) for ask in ASKS) >= 60
    for route in PATHS:
        honoured = {name for name, row in by_name(route).items() if row.effect == "honoured"}
        assert len(honoured) > 40
        used = set().union(*(_names(_body(ask, way)) for ask in ASKS if ask.route == route for way in ask.ways))
        assert not honoured - used, f"{route}: no request has these honoured fields"


@pytest.mark.skipif(not SPEC.exists(), reason=f"OpenAI's schema is not at {SPEC}")
@pytest.mark.parametrize(("ask", "stream"), REQUESTS)
def test_answers_and_chunks(scripted: Server, ask: Ask, stream: bool) -> None:
    body = _body(ask, stream)
    if not stream:
        answer = scripted.post(PATHS[ask.route], body)
        assert answer.status_code == 200, (ask.fields, answer.text)
        assert "overt-effects" not in answer.headers
        documents = [answer.json()]
    else:
        documents = scripted.chunks(PATHS[ask.route], body)
        assert len(documents) > 2
    for document in documents:
        _check(ask.route, document, stream)
    _check_told(ask, documents)


def _check(route: Route, document: dict[str, Any], stream: bool) -> None:
    if route == "completions":
        _check_keys(document, "CreateCompletionResponse", "text")
        # An echoed prompt's first token has no log probability, which the schema does not say.
        document = json.loads(json.dumps(document))
        for choice in document["choices"]:
            logprobs = choice["logprobs"] or {}
            for name, stand_in in (("token_logprobs", 0), ("top_logprobs", {})):
                values = logprobs.get(name) or []
                logprobs |= {name: [stand_in if values[0] is None else values[0], *values[1:]]} if values else {}
            if logprobs.get("top_logprobs", 0) is None:
                del logprobs["top_logprobs"]
        (check_streamed_completion if stream else _check_completion)(document)
    elif stream:
        _check_keys(document, "CreateChatCompletionStreamResponse", "delta")
        check("CreateChatCompletionStreamResponse", document)
    else:
        _check_keys(document, "CreateChatCompletionResponse", "message")
        check("CreateChatCompletionResponse", document)


def _check_completion(document: dict[str, Any]) -> None:
    check("CreateCompletionResponse", document)


def _properties(name: str) -> dict[str, Any]:
    schemas = json.loads(SPEC.read_text())["components"]["schemas"]
    properties: dict[str, Any] = schemas[name]["properties"]
    return properties


def _check_keys(document: dict[str, Any], name: str, held: str) -> None:
    """Holds that keys which OpenAI does not have are declared."""
    own = _properties(name)
    assert document.keys() <= own.keys() | EXTENSIONS["answer"]
    choice_keys = own["choices"]["items"]["properties"].keys() | EXTENSIONS["choice"]
    schemas = {"message": "ChatCompletionResponseMessage", "delta": "ChatCompletionStreamResponseDelta"}
    for choice in document["choices"]:
        assert choice.keys() <= choice_keys
        if held in schemas:
            assert choice[held].keys() <= _properties(schemas[held]).keys() | EXTENSIONS["message"]
    if document.get("usage"):
        assert document["usage"].keys() <= _properties("CompletionUsage").keys() | EXTENSIONS["usage"]
    assert document.get("overt", {}).keys() <= EXTENSIONS["overt"]


def _check_told(ask: Ask, documents: list[dict[str, Any]]) -> None:
    """Fields that show in the answer."""
    fields, first = ask.fields, documents[0]
    assert first["model"] == MODEL
    if "metadata" in fields:
        assert first["metadata"] == fields["metadata"]
    if "service_tier" in fields:
        assert first["service_tier"] == fields["service_tier"]
    if name := fields.get("request_id") or fields.get("rid"):
        assert first["id"].endswith(name)
    if fields.get("overt"):
        assert first["overt"]["effects"] == []
    if "tool_choice" in fields:
        calls = [choice for document in documents for choice in document["choices"] if "tool_calls" in str(choice)]
        assert bool(calls) == (fields["tool_choice"] == "auto")
    if "stop_regex" in fields and "delta" in first["choices"][0]:
        # However tokens cut the text, it ends where the pattern first matches.
        assert text_of(documents) == "One two thre"
    if "n" in fields:
        indices = {choice["index"] for document in documents for choice in document["choices"]}
        assert indices == set(range(fields["n"]))
    if "stream_options" in fields:
        usages = [document["usage"] for document in documents]
        made = [usage["completion_tokens"] for usage in usages]
        assert (made, made[-1]) == (sorted(made), 8)
        assert all(usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
        assert all(document.get("obfuscation") for document in documents if document["choices"])
    if fields.get("return_token_ids"):
        ids = [id_ for document in documents for choice in document["choices"] for id_ in choice.get("token_ids", ())]
        assert len(ids) == 8
    if fields.get("return_prompt_text"):
        assert first["prompt_text"] == "Think. Be quick. user: How many ships?\nassistant: "
        assert not any("prompt_text" in document for document in documents[1:])
    if fields.get("return_tokens_as_token_ids"):
        told = json.dumps([choice["logprobs"] for document in documents for choice in document["choices"]])
        assert told.count('"token_id:') >= 8
    if "prompt_logprobs" in fields:
        told = first["prompt_logprobs"] if ask.route == "chat" else first["choices"][0]["prompt_logprobs"]
        assert told[0] is None
        assert all(len(entry) >= 2 for entry in told[1:])
