"""The reference pages, written from the tables: `python -m overt.contract.docs docs/reference`."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from overt.contract.capabilities import ABSENT
from overt.contract.capabilities_schema import SCHEMA
from overt.contract.errors import CODES, type_of
from overt.contract.field import Field
from overt.contract.fields import FIELDS
from overt.contract.limits import DEFAULTS, Limits
from overt.contract.profiles import DEFAULT, HEADER, NAMES, ROWS
from overt.contract.template import KNOWN_KEYS

_MADE = "<!-- Written by `python -m overt.contract.docs docs/reference`; change the tables, not this page. -->"
_ROUTES = {
    "chat": "`POST /v1/chat/completions`",
    "completions": "`POST /v1/completions`",
    "tokenize": "`POST /tokenize`",
    "detokenize": "`POST /detokenize`",
    "parse": "`POST /v1/parse`, `/parse_function_call`, `/separate_reasoning`",
}
_SOURCES = {"generation_config": "as generation_config.json says, else what changes nothing", "flag": "by a flag"}


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {
        "fields.md": _fields(),
        "profiles.md": _profiles(),
        "limits.md": _limits(),
        "errors.md": _errors(),
        "capabilities.md": _capabilities(),
        "capabilities.schema.json": json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n",
    }


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((_MADE, f"# {title}", *parts)) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _fields() -> str:
    parts = [
        "One row for each field and header that means something here or at OpenAI, vLLM or SGLang. What a server does "
        "with it depends on its model and flags: `GET /v1/capabilities` and `overt capabilities MODEL` tell.",
        "**honoured**: does what is said. **adapted**: accepted, another value applied, and told. **inert**: accepted, "
        "changes nothing, and told. **refused**: 400, with the reason. What is adapted or inert stands in the response "
        'header `overt-effects`, in the body\'s `overt` with `"overt": {"report": true}`, and is counted in /metrics. '
        '`"overt": {"strict": true}` makes it a 400. `null` is absent. Fields that nobody knows are inert, and the '
        "nearest known name is told.",
    ]
    for route, title in _ROUTES.items():
        rows = [field for field in FIELDS if route in field.routes and field.location == "body"]
        served = [field for field in rows if field.effect != "refused"]
        parts += [f"## {title}", _table(_HEAD, map(_row, served))]
        refused = [field for field in rows if field.effect == "refused"]
        if refused:
            parts += [
                "Refused, but for the values that ask for nothing:",
                _table(("field", "origin", "what it is", "asks for nothing", "why"), map(_refused, refused)),
            ]
    parts += [
        "## Keys of messages",
        "A key that the chat template does not read is inert.",
        _table(("key", "what it is"), ((f"`{key}`", meaning) for key, meaning in KNOWN_KEYS.items())),
        "## Headers",
        _table(
            ("header", "origin", "what it is", "condition", "effect"),
            (
                (f"`{row.name}`", row.origin, row.meaning, row.form or row.condition, _effect(row))
                for row in FIELDS
                if row.location == "header"
            ),
        ),
    ]
    return _page("Fields", *parts)


_HEAD = ("field", "origin", "values", "default", "what it does", "condition", "effect")


def _row(row: Field) -> tuple[str, ...]:
    bound = row.under(DEFAULTS)
    meaning = row.meaning
    if row.alias and row.alias not in meaning:
        meaning += f" Another name of `{row.alias}`."
    limit = f" (--{row.limit.replace('_', '-')})" if row.limit else ""
    return (
        f"`{row.name}`",
        row.origin,
        bound.wanted() + limit,
        "required" if row.required else _default(row),
        meaning,
        row.condition,
        _effect(row),
    )


def _refused(row: Field) -> tuple[str, ...]:
    noop = ", ".join(f"`{json.dumps(value)}`" for value in row.noop)
    return f"`{row.name}`", row.origin, row.meaning, noop, row.reason


def _default(row: Field) -> str:
    if row.source in _SOURCES:
        return _SOURCES[row.source]
    return "" if row.default is None else f"`{json.dumps(row.default)}`"


def _effect(row: Field) -> str:
    if row.rest is not None:
        first: Any = (row.rest.__doc__ or "").strip().splitlines()[0]
        return f"depends: {first[0].lower()}{first[1:].rstrip('.')}"
    why = f": {row.reason}" if row.effect != "honoured" and row.reason else ""
    return f"{row.effect}{why}"


def _profiles() -> str:
    return _page(
        "Profiles",
        "Where reasonable servers differ, `--profile` chooses, and the header "
        f"`{HEADER}` for one request. A profile gives the statuses, finish reasons, clamps and names of fields that a "
        f"client can depend on, not every wording. An empty cell is as `{DEFAULT}`.",
        _table(("situation", *NAMES), ((row.situation, *(row.text(name) for name in NAMES)) for row in ROWS.values())),
    )


def _limits() -> str:
    return _page(
        "Limits of a request",
        "Each is a flag of `overt serve`.",
        _table(
            ("flag", "default", "most"),
            (
                (f"`--{limit.name.replace('_', '-')}`", str(limit.default), limit.metadata["meaning"])
                for limit in fields(Limits)
            ),
        ),
    )


def _errors() -> str:
    return _page(
        "Errors",
        'Every error is `{"error": {"message", "type", "param", "code"}}` (the profiles `vllm` and `sglang` have '
        "shapes of their own). `param` is the path of the field at fault, such as `stop[3]`; `code` is a name for "
        "programs. An error without a code is a 400 whose `param` names the field. 429 and 503 come with "
        "`retry-after`.",
        _table(
            ("code", "status", "type", "what it means"),
            ((f"`{code}`", str(status), f"`{type_of(status)}`", meaning) for code, (status, meaning) in CODES.items()),
        ),
    )


def _capabilities() -> str:
    return _page(
        "Capabilities",
        "`GET /v1/capabilities` tells what this server does with every field under its model and flags: effect at "
        "rest, values, default and where it comes from, condition; limits with their flags; the profiles; the chat "
        "template and the variables it reads; parsers; routes. `overt capabilities MODEL` tells the same without a "
        "server. The document follows [capabilities.schema.json](capabilities.schema.json), which a server has at "
        "`GET /v1/capabilities/schema`.",
        "Well-known routes that are not there, unless a server says otherwise:",
        _table(("route", "why"), ((f"`{route}`", reason) for route, reason in ABSENT.items())),
    )


def main(folder: Path) -> None:
    """Writes the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
