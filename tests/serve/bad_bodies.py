"""Requests that are wrong, made from the field table and by hand, and what each is answered with."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from overt.contract.field import Field, Route
from overt.contract.fields import by_name

PATHS: dict[Route, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "tokenize": "/tokenize",
    "detokenize": "/detokenize",
    "parse": "/v1/parse",
}
GOOD: dict[Route, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 4, "model": "demo"},
    "completions": {"prompt": "x", "max_tokens": 4, "model": "demo"},
    "tokenize": {"prompt": "x", "model": "demo"},
    "detokenize": {"tokens": [1], "model": "demo"},
    "parse": {"text": "x", "model": "demo"},
}


@dataclass(frozen=True)
class Bad:
    """One request and its answer."""

    path: str
    body: bytes
    param: str | None = None
    """The field at fault; its items and members may be named as well."""
    status: int = 400
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        body = self.body if len(self.body) < 200 else self.body[:200] + b"... (%d bytes)" % len(self.body)
        return f"{self.method} {self.path} {self.headers} {body!r}"


# --- every field with values of the wrong type or out of range, as JSON texts ---

_NO_NUMBER = ('"1"', "true", "[]", "{}", "NaN", "Infinity", "-Infinity", "1e400", "-1e400")
_MANY = "[" + "1," * 5000 + "1]"
_TEXTS = "[" + '"x",' * 5000 + '"x"]'

_WRONG: dict[str, tuple[str, ...]] = {
    "boolean": ("1", "0", '"true"', '""', "[]", "{}", "NaN", "1e400"),
    "integer": (*_NO_NUMBER, "1.5", "1e1", "1e-400", '""'),
    "number": _NO_NUMBER,
    "string": ("5", "true", "[]", "{}", "NaN", '["x"]'),
    "strings": ("5", "true", "{}", '""', "[5]", '[""]', '["x", null]', '["x", ["y"]]', _TEXTS),
    "texts": ('"x"', "5", "{}", '""', "[5]", '[""]', '["x", null]', _TEXTS),
    "integers": ("5", '"1"', "{}", "[1.5]", '["1"]', "[-1]", "[2147483648]", "[1e400]", "[1, true]", "[null]", "[[1]]"),
    "biases": (
        "5",
        "[]",
        '"x"',
        '{"x": 1}',
        '{"1": "x"}',
        '{"1": 101}',
        '{"1": NaN}',
        '{"1": 1e400}',
        '{"1": null}',
        '{"99999999": 1}',
        '{"-1": 1}',
        '{"1": 1, "01": 1}',
        '{"\\u0661": 1}',
        "{" + ",".join(f'"{number}": 1' for number in range(5000)) + "}",
    ),
    "object": ("5", '"x"', "[]", "true", "NaN"),
    "labels": (
        "5",
        "[]",
        '{"x": 1}',
        '{"x": null}',
        '{"x": {}}',
        f'{{"{"x" * 65}": "y"}}',
        f'{{"x": "{"y" * 513}"}}',
        "{" + ",".join(f'"{number}": "x"' for number in range(17)) + "}",
    ),
    "objects": ("5", '"x"', "{}", "[5]", "[null]", '["x"]', "[[]]"),
    "messages": ("5", '"x"', "{}", "[]", "[5]", "[null]", "[[]]", "[{}]", '[{"role": 5}]'),
    "prompt": (
        "5",
        "true",
        "{}",
        "[]",
        '""',
        '[""]',
        "[[]]",
        "[null]",
        "[1.5]",
        "[-1]",
        '[1, "x"]',
        "[[[1]]]",
    ),
    "any": ("5", "true", "[5]", '["x"]', "NaN"),
    "tool_choice": ("5", '"sometimes"', "[]", "{}", '{"type": "function"}'),
}
_BEYOND = {"tools": ("[{}]", '[{"type": "function"}]', '[{"type": "function", "function": {"name": ""}}]')}


def _out_of_range(row: Field) -> Iterator[str]:
    if row.kind in ("integer", "number"):
        if row.low is not None:
            yield json.dumps(int(row.low) - 1)
            yield "-" + "9" * 40
        if row.above is not None:
            yield json.dumps(row.above)
            yield "-1e-300"
        if row.high is not None:
            yield json.dumps(int(row.high) + 1)
            yield "9" * 40
    if row.kind == "integers":
        yield "[99999999]"
        if row.limit:
            yield _MANY
        if row.low:
            yield "[]"
    if row.kind == "string" and (row.low or row.choices):
        yield '""'
    if row.choices:
        yield '"sometimes"'


def _with(route: Route, name: str, value: str) -> bytes:
    """The good body with one field (dotted: a member) replaced by a JSON text."""
    outer, _, inner = name.partition(".")
    # Beside `prompt` the fields of messages change nothing.
    base = GOOD[route] if route != "tokenize" or name == "prompt" else {"messages": GOOD["chat"]["messages"]}
    rest = {key: told for key, told in base.items() if key != outer}
    if outer == "stream_options":
        rest["stream"] = True
    if outer == "top_logprobs":
        rest["logprobs"] = True
    inside = f'{{"{inner}": {value}}}' if inner else value
    return json.dumps(rest)[:-1].encode() + f'{", " if rest else ""}"{outer}": {inside}}}'.encode()


def of_fields() -> Iterator[Bad]:
    """Every field of every route, wrong in every way of its kind; every refused field by its name."""
    for route, path in PATHS.items():
        for name, row in by_name(route).items():
            if row.effect == "refused":
                yield Bad(path, _with(route, name, '{"some": "value"}'), name)
                continue
            values = (*_WRONG[row.kind], *_BEYOND.get(name, ()), *_out_of_range(row))
            for value in values:
                if not (value in ('""', "[]") and _may_be_empty(route, row, value)):
                    yield Bad(path, _with(route, name, value), name)
            if row.required:
                rest = {key: told for key, told in GOOD[route].items() if key != name}
                yield Bad(path, json.dumps(rest).encode(), name)
                yield Bad(path, _with(route, name, "null"), name)


def _may_be_empty(route: Route, row: Field, value: str) -> bool:
    # An empty model name is a name that is not served, and an empty list of ids asks for an empty text.
    return row.name in ("tokens",) and value == "[]"


# --- contradictions and values that only the model can judge ---


_UNHELD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"response_format": {}}, "response_format"),
    ({"response_format": {"type": "yaml"}}, "response_format.type"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}}, "response_format.json_schema.schema"),
    ({"json_schema": "[1]"}, "json_schema"),
    ({"json_schema": {"type": "thing"}}, "json_schema.type"),
    ({"json_schema": {"$ref": "#/nowhere"}}, "json_schema.$ref"),
    ({"json_schema": {"type": "array", "contains": {}, "minContains": 2}}, "json_schema.contains"),
    ({"guided_json": {"enum": [*range(20_000)]}}, "guided_json"),
    ({"regex": "x" * 100_000}, "regex"),
    ({"regex": "(?=x)x"}, "regex"),
    ({"guided_choice": ["x"] * 20_000}, "guided_choice"),
    ({"ebnf": 'root ::= "x" root'}, "ebnf"),
    ({"ebnf": "root ::= other"}, "ebnf"),
    ({"guided_grammar": "start: nothing"}, "guided_grammar"),
    ({"structured_outputs": {"regex": "x", "choice": ["y"]}}, "structured_outputs.choice"),
    ({"structured_outputs": {"yaml": "x"}}, "structured_outputs.yaml"),
    ({"structural_tag": {"type": "structural_tag", "format": {"type": "zzz"}}}, "structural_tag"),
    ({"guided_json": {"type": "object"}, "guided_whitespace_pattern": "["}, "guided_whitespace_pattern"),
    ({"regex": "x", "ebnf": 'root ::= "x"'}, "ebnf"),
)


def of_routes() -> Iterator[Bad]:
    """What each route refuses by itself."""
    chat, completions = PATHS["chat"], PATHS["completions"]

    def said(route: Route, param: str | None, status: int = 400, **fields: Any) -> Bad:
        return Bad(PATHS[route], json.dumps(GOOD[route] | fields).encode(), param, status)

    for route in PATHS:
        yield said(route, "model", 404, model="no/such\u2028model")
        yield said(route, "model", 404, model="")
        yield said(route, "model", 404, model="x" * 100_000)
    long = [1] * 100_000
    yield said("completions", "prompt", prompt=long)
    yield said("completions", "prompt", prompt=["x"] * 1025)
    yield said("completions", "max_tokens", max_tokens=0)
    yield said("completions", "best_of", n=3, best_of=2)
    yield said("completions", "best_of", best_of=2, stream=True)
    yield said("completions", "stream", use_beam_search=True, stream=True)
    yield said("completions", "prompt_logprobs", prompt_logprobs=1, stream=True)
    yield said("completions", "prompt", prompt=["x"] * 1024, n=128)
    yield said("completions", "prompt", prompt=long, stream=True)
    yield said("chat", "n", n=0, stream=True)
    for pattern in ("(", "[", "\\", ".*", "x*", "^x", "(?=x)", "(x)\\1", "x{1000000}", "x" * 100_000, "(x+)+$"):
        yield said("chat", "stop_regex", stop_regex=["x", pattern])
    yield said("chat", "top_logprobs", top_logprobs=1)
    yield said("chat", "min_tokens", min_tokens=5)
    yield said("chat", "stop_regex", stop=["x"] * 32, stop_regex=["y"])
    yield said("chat", "no_stop_trim", no_stop_trim=True, include_stop_str_in_output=False)
    yield said("chat", "stream_options", stream_options={})
    yield said("chat", "tool_choice", tool_choice="required")
    for route in ("chat", "completions"):
        for fields, param in _UNHELD:
            yield said(route, param, **fields)
    yield said("chat", "chat_template_kwargs.messages", chat_template_kwargs={"messages": []})
    yield said("chat", "continue_final_message", continue_final_message=True, add_generation_prompt=True)
    yield said("chat", "messages", messages=[{"role": "user", "content": [{"type": "image_url"}]}])
    yield said("chat", "messages", messages=[{"role": "user", "content": [5]}])
    yield said("chat", "messages", messages=[{"role": "user", "content": {"type": "text"}}])
    yield said("chat", "messages", messages=[{"role": "assistant", "content": "", "tool_calls": 5}])
    yield said("chat", "messages", messages=[{"role": "user", "content": "x " * 20_000}])
    yield said("tokenize", "prompt", messages=GOOD["chat"]["messages"])
    yield Bad(PATHS["tokenize"], b"{}", "prompt")
    for path in (chat, completions):
        for name, value in (("overt-strict", "yes"), ("overt-profile", "none"), ("x-data-parallel-rank", "1")):
            yield Bad(path, b"{}", name, headers={name: value})


# --- bodies that are no JSON, or too much of it ---


def of_bytes() -> Iterator[Bad]:
    """The same wrong bytes on every route."""
    for route, path in PATHS.items():
        good = json.dumps(GOOD[route]).encode()
        name = next(iter(GOOD[route]))
        for body in (
            b"",
            b" \r\n\t",
            b"null",
            b"5",
            b'"x"',
            b"[]",
            b"[" + good + b"]",
            b"{",
            b"{]",
            b"{,}",
            b"{'a': 1}",
            b"not json",
            good[:-1],
            good[:5],
            good + b"x",
            good + good,
            good[:-1] + b",}",
            b"\xef\xbb\xbf" + good,
            good.decode().encode("utf-16"),
            b"\x1f\x8b\x08\x00" + good,
            good[:-1] + b', "zzz": "\xff"}',
            good[:-1] + b', "zzz": "\xed\xa0\x80"}',
            good[:-1] + b', "zzz": "\\ud800"}',
            good[:-1] + b', "\\udfff": 1}',
            good[:-1] + b', "zzz": "\x00"}',
            good[:-1] + b', "zzz": "\\x"}',
            good[:-1] + b', "zzz": 01}',
            good[:-1] + b', "zzz": .5}',
            good[:-1] + b', "zzz": ' + b"9" * 10_000 + b"}",
            good[:-1] + b', "zzz": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
            good[:-1] + b', "zzz": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}",
            good[:-1] + b', "zzz": ' + b"[" * 64 + b"]" * 64 + b"}",
            b"[" * 10_000,
            b'{"a":' * 10_000,
        ):
            yield Bad(path, body)
        deep = b"[" * 10_000 + b"]" * 10_000
        yield Bad(path, b'{"%b": %b}' % (name.encode(), deep))
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json"):
            yield Bad(path, good, status=415, headers={"content-type": kind})
        yield Bad(path, good, status=415, headers={"content-type": "application/json; charset=utf-16"})
        yield Bad(path, good, status=415, headers={"content-encoding": "gzip"})
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
            yield Bad(path, b"", status=405, method=method)
        yield Bad(path + "/", good, status=404)
        yield Bad(path.upper(), good, status=404)


def of_paths() -> Iterator[Bad]:
    """Paths that there are not, and methods that those there are do not take."""
    for path in (
        "/",
        "//",
        "/nowhere",
        "/v1",
        "/v1/",
        "/v1/models/no/such",
        "/v1/models/%00%ff%fe",
        "/v1/models/%F0%9F%92%A9",
        "/v1/models/" + "a" * 5000,
        "/%",
        "/%zz",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/%0d%0aset-cookie:%20x",
        "/v1/chat%2Fcompletions%00",
        "/\u00e9",
        "/" + "%41" * 5000,
        "/nowhere?" + "x=" * 5000,
    ):
        # Under /v1/models the path names a model.
        yield Bad(path, b"", "model" if path.startswith("/v1/models/") else None, 404, "GET")
    for path in ("/health", "/ready", "/live", "/version", "/metrics", "/v1/models", "/v1/models/x", "/openapi.json"):
        yield Bad(path, b"{}", status=405)
    yield Bad("/health", b"x" * 100_000, status=405, method="DELETE")


def malformed() -> Iterator[tuple[bytes, int]]:
    """Bytes that are no HTTP, and the status each is answered with."""
    chunked = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
    sized = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\n"
    for head in (
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"get /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET health HTTP/1.1\r\n\r\n",
        b"GET http:// HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nbroken header\r\n\r\n",
        b"GET /health HTTP/1.1\r\nspace : x\r\n\r\n",
        b"GET /health HTTP/1.1\r\n: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nx: a\0b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 100 + b"\r\n\r\n",
        sized + b"content-length: -1\r\n\r\n",
        sized + b"content-length: abc\r\n\r\n",
        sized + b"content-length: 1.5\r\n\r\n",
        sized + b"content-length: 99999999999999999999999999\r\n\r\n",
        sized + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        sized + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        chunked + b"\r\nzz\r\n",
        chunked + b"\r\n5\r\nhello\r\nzz\r\n",
        chunked + b"\r\n-5\r\nhello\r\n0\r\n\r\n",
        chunked + b"\r\nfffffffffffffffffffff\r\n",
    ):
        yield head, 400
    yield sized + b"content-length: 40000000\r\nconnection: close\r\n\r\n", 413
    yield b"GET /live HTTP/1.1\r\nlong: " + b"a" * 300_000, 431
    yield b"GET /live HTTP/1.1\r\n" + b"a: b\r\n" * 50_000, 431
    yield b"GET /" + b"a" * 300_000, 431
    yield b"GET /live HTTP/1.1\r\nconnection: close\r\n\r\n", 200
