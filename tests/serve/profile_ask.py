"""Asks under a profile, and holds what comes back against what that profile answers."""

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.server import Server, serving
from serve.test_header import effects

PROFILES = ("overt", "openai", "vllm", "sglang")
CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
EMBEDDINGS = "/v1/embeddings"
RENDER = "/v1/chat/completions/render"
MODEL = "demo"
CONTEXT = 128
DEFAULTS = {"top_k": 1, "max_new_tokens": 9}
"""What generation_config.json says."""

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bern"}}\n</tool_call>'
_FIM = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
_SCRIPT = {
    "answers": [
        {"pieces": ["One ", "two ", "three "], "end": "repeat"},
        {"prompt": "<call>", "pieces": [*CALL]},
        {"prompt": "<muse>", "pieces": ["<think>", "Hm ", "hm", "</think>", "One"]},
        {"prompt": "<never>", "pieces": _FIM},
    ],
    "special_pieces": _FIM,
}
TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}{% if thinking %}Think. {% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)

# --- servers ---

_STARTED = pytest.StashKey[dict[str, Server]]()


def started(config: pytest.Config, *args: str, script: Mapping[str, Any] | None = None) -> Server:
    """A server for the whole run, started at its first use. With `script`: of the scripted runner."""
    running = config.stash.setdefault(_STARTED, {})
    key = json.dumps([args, script])
    if key not in running:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "generation_config.json").write_text(json.dumps(DEFAULTS))
        flags = ["--max-model-len", str(CONTEXT), "--generation-config", str(folder)]
        flags += ["--served-model-name", MODEL, f"{MODEL}:exact"]
        if script is not None:
            (folder / "script.json").write_text(json.dumps(script))
            (folder / "template.jinja").write_text(TEMPLATE)
            flags += ["--model-runner", "script", "--script", str(folder / "script.json")]
            flags += ["--chat-template", str(folder / "template.jinja"), "--tool-call-parser", "hermes"]
            flags += ["--reasoning-parser", "qwen3"]
        running[key] = stack.enter_context(serving("demo", *flags, *args))
    return running[key]


def real(config: pytest.Config, profile: str) -> Server:
    """The demo model under a profile."""
    return started(config, "--profile", profile)


def scripted(config: pytest.Config, profile: str = "overt") -> Server:
    """Answers that are known at once, tool calls, and a vocabulary for prompts with a gap."""
    return started(config, "--profile", profile, script=_SCRIPT)


# --- requests and what is wanted of their answers ---

Documents = list[dict[str, Any]]
"""The one body, or the chunks of a stream."""


@dataclass(frozen=True, kw_only=True)
class Want:
    """What a request is answered with."""

    status: int = 200
    effects: Mapping[str, Any] = field(default_factory=dict)
    """All that `overt-effects` tells: the effect by the field's name, or the effect and what was applied."""
    param: str | None = None
    """Of the error."""
    words: tuple[str, ...] = ()
    """In the error's message."""
    finish: str | None = None
    """Of every choice."""
    tokens: int | None = None
    """Made in all."""
    has: tuple[str, ...] = ()
    """Paths that are in some document, and not null."""
    lacks: tuple[str, ...] = ()
    """Paths that are in none."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of the first document, by their paths."""
    like: Mapping[str, Any] | None = None
    """The texts are those of the request with these fields in place of its own."""
    unlike: Mapping[str, Any] | None = None
    """They are others."""
    check: Callable[[Documents], bool] | None = None


Wants = Mapping[str, Want]


@dataclass(frozen=True)
class Case:
    """One request, and what each profile answers."""

    fields: Mapping[str, Any]
    wants: Wants
    path: str = CHAT
    on_script: bool = False
    """The scripted server answers in place of the demo model."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""In place of a field's value: it is not sent."""


def said(text: str, *more: tuple[str, str]) -> list[dict[str, str]]:
    """A conversation that a user begins."""
    return [{"role": role, "content": content} for role, content in (("user", text), *more)]


def body_of(case: Case, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The request's body: greedy and short where the case does not say otherwise."""
    body: dict[str, Any] = {"model": MODEL}
    if case.path == EMBEDDINGS:
        body["input"] = "x"
    else:
        compared = any(want.like or want.unlike for want in case.wants.values())
        body |= {"max_tokens": 3 if compared else 1, "temperature": 0}
        body |= {"messages": said("x")} if case.path in (CHAT, RENDER) else {"prompt": "1, 2, 3,"}
    body |= {**case.fields, **(changes or {})}
    return {name: value for name, value in body.items() if value is not ABSENT}


# --- answers ---


@dataclass(frozen=True)
class Asked:
    """A case's answer under a profile, and that of the request it is compared with."""

    body: dict[str, Any]
    answer: httpx.Response
    second: httpx.Response | None


def ask(server: Server, case: Case, profile: str, headers: dict[str, str]) -> Asked:
    """Sends a case's requests."""
    want, body = case.wants[profile], body_of(case)
    other = want.unlike if want.like is None else want.like
    answer = server.client.post(case.path, json=body, headers=headers)
    second = None if other is None else server.client.post(case.path, json=body_of(case, other), headers=headers)
    return Asked(body, answer, second)


def hold(asked: Asked, want: Want, profile: str) -> None:
    """Holds an answer against what is wanted of it."""
    body, answer, second = asked.body, asked.answer, asked.second
    assert answer.status_code == want.status, (body, answer.text)
    if want.status != 200:
        error = error_of(answer, profile)
        assert want.param is None or error["param"] == want.param, (body, error)
        assert all(word in error["message"] for word in want.words), (body, error)
        assert "overt-effects" not in answer.headers
        return
    found = told(answer)
    for name, effect in want.effects.items():
        # What was applied is not always known beforehand.
        if isinstance(effect, str) and isinstance(found.get(name), tuple):
            found[name] = found[name][0]
    assert found == want.effects, body
    documents = documents_of(answer)
    _hold_documents(documents, want)
    if second is not None:
        assert second.status_code == 200, second.text
        same = texts_of(documents_of(second)) == texts_of(documents)
        assert same == (want.like is not None), (body, second.request.content, second.text, documents)


def _hold_documents(documents: Documents, want: Want) -> None:
    for path in want.has:
        assert any(_at_or_none(document, path) is not None for document in documents), (path, documents)
    for path in want.lacks:
        assert all(_at_or_none(document, path) is None for document in documents), (path, documents)
    for path, value in want.values.items():
        assert at(documents[0], path) == value, documents
    if want.finish is not None:
        ends = {choice["finish_reason"] for document in documents for choice in document["choices"]}
        assert ends - {None} == {want.finish}, documents
    if want.tokens is not None:
        assert documents[-1]["usage"]["completion_tokens"] == want.tokens
    assert want.check is None or want.check(documents), documents


def at(document: Any, path: str) -> Any:
    """What stands at a path such as `choices.0.text`. Raises LookupError where nothing does."""
    for step in path.split("."):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _at_or_none(document: Any, path: str) -> Any:
    try:
        return at(document, path)
    except (LookupError, TypeError):
        return None


def texts_of(documents: Documents) -> dict[int, str]:
    """The text of each choice, joined from its fragments."""
    texts: dict[int, str] = {}
    for document in documents:
        for choice in document["choices"]:
            part = choice.get("message") or choice.get("delta") or {}
            text = choice["text"] if "text" in choice else part.get("content")
            texts[choice["index"]] = texts.get(choice["index"], "") + (text or "")
    return texts


def told(answer: httpx.Response) -> dict[str, Any]:
    """What `overt-effects` tells: the effect by field, with what was applied where it says so."""
    if "overt-effects" not in answer.headers:
        return {}
    return {
        name: (str(params["e"]), _plain(params["applied"])) if "applied" in params else str(params["e"])
        for name, params in effects(answer)
    }


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def documents_of(answer: httpx.Response) -> Documents:
    """The one body, or the chunks of a stream that ends with [DONE]."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return [answer.json()]
    *frames, last = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert last == "[DONE]"
    return [json.loads(frame) for frame in frames]


def error_of(answer: httpx.Response, profile: str) -> dict[str, Any]:
    """The members of an error that was answered in the shape that the profile has."""
    assert answer.headers["content-type"] == "application/json"
    return members(answer.json(), profile, answer.status_code)


def members(body: dict[str, Any], profile: str, status: int | None) -> dict[str, Any]:
    """The same of a parsed body. `status`: what an integral code says, where it is known."""
    if profile == "sglang":
        assert set(body) == {"object", "message", "type", "param", "code"}, body
        assert body["object"] == "error"
        error = body
    else:
        assert set(body) == {"error"}, body
        error = body["error"]
        assert set(error) == {"message", "type", "param", "code"}, body
    assert error["message"]
    assert isinstance(error["type"], str)
    if profile in ("vllm", "sglang"):
        assert type(error["code"]) is int
        assert status in (None, error["code"])
    else:
        assert error["code"] is None or isinstance(error["code"], str)
    return error
