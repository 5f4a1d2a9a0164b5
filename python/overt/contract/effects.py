"""What happened to fields that are not plainly honoured: told in a response header and, if asked for, in the body."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from overt.contract.errors import ApiError

MAX_ENTRIES = 32
MAX_BYTES = 2048
_ROOM_FOR_MORE = 24
_MAX_TEXT = 200
"""Characters of a client's value that are told."""

UNKNOWN = "_unknown"
"""The label under which all unknown fields are counted."""

Late = tuple[str, int | str, str, str]
"""A field that the core changed once it saw the prompt: its path, what was applied, the reason, the label to count it
under."""

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Effect:
    """One field whose value was changed (`adapted`) or changes nothing (`inert`)."""

    field: str
    effect: Literal["adapted", "inert"]
    applied: str | int | float | None = None
    """The value used instead."""
    nearest: str | None = None
    """The field that was probably meant."""
    requested: Any = None
    """The client's value."""
    reason: str = ""
    """A clause without a full stop."""
    counted: str | None = None
    """The label to count it under; none: the field's own."""

    @property
    def label(self) -> str:
        """What it is counted under: indices left out, names that clients make up under one."""
        if self.counted is not None:
            return self.counted
        field = self.field
        if field.startswith("chat_template_kwargs."):
            return "chat_template_kwargs"
        return _INDEX.sub("[]", field) if "[" in field else field

    def clause(self) -> str:
        """The effect as a part of a sentence."""
        text = f"`{self.field}` is {self.effect}"
        if self.applied is not None:
            text += f" to {json.dumps(self.applied, ensure_ascii=False)}"
        return f"{text}: {self.reason}" if self.reason else text

    def told(self) -> dict[str, Any]:
        """The effect as a JSON object."""
        return {
            "field": self.field,
            "effect": self.effect,
            "requested": _brief(self.requested),
            "applied": self.applied,
            "reason": self.reason,
        }


def _brief(value: Any) -> Any:
    """A client's value, or its beginning where it is long."""
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > _MAX_TEXT:
        return text[:_MAX_TEXT] + "…"
    return value


def late(told: Iterable[Late]) -> list[Effect]:
    """The effects that the core tells."""
    return [
        Effect(field, "adapted", applied, reason=reason, counted=counted) for field, applied, reason, counted in told
    ]


def objects(effects: Sequence[Effect]) -> str:
    """The effects as JSON objects with commas between them."""
    return ",".join(json.dumps(effect.told(), ensure_ascii=False, separators=(",", ":")) for effect in effects)


def refuse_strict(effects: Sequence[Effect]) -> None:
    """Raises ApiError (400) that lists everything, where a strict request is not served as it was sent."""
    if effects:
        raise ApiError(
            400,
            f"The request is strict, and {len(effects)} of its fields cannot be served as sent: "
            f"{'; '.join(effect.clause() for effect in effects)}. Change or leave out these fields, or send the "
            "request without strict mode.",
            code="not_honoured",
        )


def header(effects: Sequence[Effect]) -> bytes | None:
    """The `overt-effects` header, a list of RFC 9651: `"store";e=inert, …`. None: nothing is to be told."""
    if not effects:
        return None
    entries: list[str] = []
    size = 0
    for effect in effects:
        entry = _entry(effect)
        size += len(entry) + 2
        if len(entries) == MAX_ENTRIES or size > MAX_BYTES - _ROOM_FOR_MORE:
            entries.append(f'"...";more={len(effects) - len(entries)}')
            break
        entries.append(entry)
    return ", ".join(entries).encode("ascii")


def _entry(effect: Effect) -> str:
    entry = f"{_text(effect.field)};e={effect.effect}"
    if effect.applied is not None:
        applied = effect.applied
        if isinstance(applied, bool):
            told = f"?{applied:d}"
        else:
            told = _text(applied) if isinstance(applied, str) else str(applied)
        entry += f";applied={told}"
    if effect.nearest is not None:
        entry += f";nearest={_text(effect.nearest)}"
    return entry


def _text(value: str) -> str:
    """A String, or a Display String where the text is not printable ASCII."""
    if value.isascii() and value.isprintable():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'%"' else f"%{byte:02x}" for byte in value.encode("utf-8")
    )
    return f'%"{plain}"'
