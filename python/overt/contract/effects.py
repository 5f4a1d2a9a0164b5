"""What happened to fields that are not plainly honoured, told in a response header."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MAX_ENTRIES = 32
MAX_BYTES = 2048
_ROOM_FOR_MORE = 24


@dataclass(frozen=True, slots=True)
class Effect:
    """One field whose value was changed (`adapted`) or changes nothing (`inert`)."""

    field: str
    effect: Literal["adapted", "inert"]
    applied: str | int | float | None = None
    """The value used instead."""
    nearest: str | None = None
    """The field that was probably meant."""


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
        entry += f";applied={_text(applied) if isinstance(applied, str) else applied}"
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
