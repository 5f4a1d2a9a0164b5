"""What a request's headers ask for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from urllib.parse import parse_qsl

from overt.contract.deployment import Deployment
from overt.contract.effects import UNKNOWN, Effect
from overt.contract.errors import ApiError, wrong_value
from overt.contract.field import Field, Route
from overt.contract.fields import FIELDS
from overt.contract.models import refusal
from overt.contract.profiles import Profile, profile_named

USABLE_ID = re.compile(r"[\x21-\x7e]{1,128}")
"""What an answer's id may be made of."""

_ROWS: dict[bytes, Field] = {row.name.encode(): row for row in FIELDS if row.location == "header"}
_READ_ELSEWHERE = frozenset(
    {
        b"authorization",
        b"x-api-key",
        b"content-type",
        b"content-encoding",
        b"content-length",
        b"endpoint-load-metrics-format",
    }
)
"""By the server itself, before a body is read."""
_SEEN = {name: row for name, row in _ROWS.items() if name not in _READ_ELSEWHERE}
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*", re.ASCII)
_PROFILE = b"overt-profile"
_OWN = b"overt-"
"""Headers that begin so are this server's, or a misspelling of one."""
_MOST = 64
"""Names of a query that are told."""


@dataclass(slots=True)
class Asked:
    """The headers of one request, checked."""

    profile: Profile
    strict: bool
    request_id: str
    """For the response's header: the client's own, or one that was made."""
    own_id: bool = False
    """The client gave it."""
    priority: int | None = None
    effects: list[Effect] = field(default_factory=list)


def profile_asked(headers: Iterable[tuple[bytes, bytes]], deployment: Deployment) -> Profile:
    """The profile that a request's headers name, else the server's. Raises ApiError for a name that is none."""
    for name, value in headers:
        if name == _PROFILE:
            return profile_named(value.decode("latin-1").strip().lower())
    return deployment.profile


def read_headers(
    route: Route,
    headers: Iterable[tuple[bytes, bytes]],
    deployment: Deployment,
    request_id: str,
    profile: Profile,
) -> Asked:
    """Checks the headers (names in lower case). `request_id` is what the response's header will say, `profile` the
    one that is asked for.

    Raises ApiError (400) for a value that is none.
    """
    asked = Asked(profile, deployment.strict, request_id)
    found: set[bytes] = set()
    for name, value in headers:
        row = _SEEN.get(name)
        if row is None:
            if name.startswith(_OWN):
                asked.effects.append(_unknown(name, value))
            continue
        if name in found:
            raise ApiError(400, f"The header `{row.name}` is there twice. Send it once.", param=row.name)
        found.add(name)
        text = value.decode("latin-1").strip()
        match name:
            case b"overt-profile":
                pass
            case b"overt-strict":
                asked.strict = asked.strict or _flag(row, text)
            case b"x-request-id":
                asked.own_id = text == request_id
                if not asked.own_id and not USABLE_ID.fullmatch(text):
                    asked.effects.append(_bad_id(row.name, text))
            case b"x-data-parallel-rank":
                if text != "0":
                    raise wrong_value(row.name, row.wanted(), text)
            case b"x-vllm-priority":
                if route in row.routes:
                    asked.priority = _integer(row, text)
            case _ if text in row.noop:
                pass
            case _ if row.effect == "refused":
                raise refusal(row)
            case _ if route in row.routes:
                asked.effects.append(Effect(row.name, "inert", requested=text, reason=row.reason))
    return asked


def _unknown(name: bytes, value: bytes) -> Effect:
    told = name.decode("latin-1")[:64]
    near = next(iter(get_close_matches(told, [row.name for row in _SEEN.values()], n=1, cutoff=0.6)), None)
    text = value.decode("latin-1")
    return Effect(told, "inert", nearest=near, requested=text, reason="no such header is known", counted=UNKNOWN)


def queried(query: bytes) -> list[Effect]:
    """What is to be told of a query string: nothing is read there."""
    reason = "nothing is read from the query; send it in the body"
    names = dict.fromkeys(name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)[:_MOST])
    return [Effect(f"?{name[:64]}", "inert", reason=reason, counted=UNKNOWN) for name in names]


def _bad_id(name: str, value: str) -> Effect:
    return Effect(name, "inert", requested=value, reason="an id has 1 to 128 printable ASCII characters without spaces")


def body_id(body: dict[str, object], asked: Asked, effects: list[Effect]) -> str:
    """The answer's id without its prefix: the header's, else the body's, else the one that was made."""
    chosen = asked.request_id if asked.own_id else None
    for name in ("request_id", "rid"):
        value = body.get(name)
        if not isinstance(value, str):
            continue
        if not USABLE_ID.fullmatch(value):
            effects.append(_bad_id(name, value))
        elif chosen is None:
            chosen = value
        elif chosen != value:
            effects.append(Effect(name, "inert", requested=value, reason="another id came first"))
    return chosen or asked.request_id


def _flag(row: Field, text: str) -> bool:
    if text.lower() in ("1", "true"):
        return True
    if text.lower() in ("0", "false"):
        return False
    raise wrong_value(row.name, row.wanted(), text)


def _integer(row: Field, text: str) -> int:
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or row.low is None or row.high is None or not row.low <= number <= row.high:
        raise wrong_value(row.name, row.wanted(), text)
    return number
