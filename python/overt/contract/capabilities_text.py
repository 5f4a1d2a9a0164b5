"""The capabilities document for a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

_ORDER = ("honoured", "adapted", "inert", "refused")


def render_text(document: dict[str, Any]) -> str:
    """What a person wants to know first, then every field in a table."""
    return "\n".join([*_summary(document), "", *_fields(document), "", *_limits(document)]) + "\n"


def _summary(document: dict[str, Any]) -> Iterable[str]:
    model, settings, template = document["model"], document["settings"], document["template"]
    effects = Counter(field["effect"] for field in document["fields"])
    unread = [key["name"] for key in document["message_keys"] if key["effect"] != "honoured"]
    yield f"overt {document['server']['version']}"
    yield f"model      {', '.join(model['served_names'])}"
    facts = (model["architecture"], model["dtype"], model["device"])
    yield f"           {', '.join(fact for fact in facts if fact) or 'not loaded'}"
    yield f"context    {model['context_length'] or '?'} tokens; vocabulary {model['vocab_size']}"
    if template is None:
        yield "template   none: chat needs --chat-template"
    else:
        yield f"template   {template['source'] or 'given'} ({template['hash']})"
        yield f"           reads {', '.join(template['variables']) or 'nothing'}"
    parsers, grammar = document["parsers"], document["grammar"]
    yield f"calls      {_read_as(parsers['tool_calls'] or 'none, they stay text', parsers['tool_calls_reason'])}"
    yield f"reasoning  {_read_as(parsers['reasoning'] or 'none, it stays text', parsers['reasoning_reason'])}"
    if grammar["backend"] is None:
        yield f"grammar    none, outputs are not constrained: {grammar['reason']}"
    else:
        space = grammar["whitespace"]
        yield f"grammar    {grammar['backend']}; white space {space['policy']}: {space['pattern']} {space['meaning']}"
        numbers = grammar["numbers"]
        yield (
            f"           integers up to {numbers['largest_integer']}, other numbers up to {numbers['largest']}, "
            f"{numbers['fraction_digits']} digits behind the point, without exponents {numbers['meaning']}"
        )
    yield f"profile    {settings['profile']}{', strict' * settings['strict']}; report {settings['report']}"
    yield f"fields     {', '.join(f'{effects[effect]} {effect}' for effect in _ORDER)}"
    if unread:
        yield f"           not read by the template: {', '.join(unread)}"


def _read_as(name: str, reason: str | None) -> str:
    return f"{name} ({reason})" if reason else name


def _fields(document: dict[str, Any]) -> list[str]:
    rows = [("FIELD", "ROUTES", "EFFECT", "DEFAULT", "VALUES AND CONDITIONS")]
    rows += [
        (
            field["name"],
            _routes(field),
            field["effect"],
            "required" if field["required"] else _default(field),
            _told(field),
        )
        for field in sorted(document["fields"], key=lambda field: _ORDER.index(field["effect"]))
    ]
    return _table(rows)


def _routes(field: dict[str, Any]) -> str:
    if field["location"] == "header":
        return "header"
    return ",".join("compl" if route == "completions" else route for route in field["routes"])


def _default(field: dict[str, Any]) -> str:
    value = field["default"]
    if value is None or value in ([], {}):
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(field: dict[str, Any]) -> str:
    if field["effect"] in ("inert", "refused"):
        parts = [field["reason"], field["advice"]]
    else:
        parts = [field["range"], field["condition"], field["reason"]]
    return "; ".join(part for part in parts if part)


def _limits(document: dict[str, Any]) -> list[str]:
    rows = [("LIMIT", "VALUE", "FLAG")]
    rows += [(limit["name"], str(limit["value"]), limit["flag"] or "-") for limit in document["limits"]]
    return _table(rows)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]
