"""Pydantic models made from the field table, and the check of a raw body against them."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema, create_model
from pydantic import Field as Info

from overt import _core
from overt.contract.effects import UNKNOWN, Effect
from overt.contract.errors import ApiError
from overt.contract.faults import invalid
from overt.contract.field import MAX_BIAS, MAX_LABEL, MAX_LABEL_NAME, MAX_LABELS, Field, Route, Standing
from overt.contract.fields import by_name, nearest
from overt.contract.limits import Limits
from overt.contract.profiles import OVERT, PROFILES, Profile
from overt.contract.template import has_tools

if TYPE_CHECKING:
    from overt.contract.plan import Plan

MAX_TOKEN_ID = 2**31 - 1

_NAMES: dict[Route, str] = {
    "chat": "ChatCompletionRequest",
    "completions": "CompletionRequest",
    "tokenize": "TokenizeRequest",
    "detokenize": "DetokenizeRequest",
    "parse": "ParseRequest",
}


def validate(plan: "Plan", raw: bytes) -> tuple[BaseModel, list[Effect]]:
    """Checks a body. Returns it with what is to be told of fields that change nothing.

    Raises ApiError for JSON that is none, a value out of range and a field that is not implemented.
    """
    if not raw.strip():
        raise ApiError(400, "The body is empty: send a JSON object.")
    depth, twice = _core.json_outline(raw)
    if depth > plan.max_json_depth:
        raise ApiError(
            400,
            f"The body is nested too deeply: {depth} arrays and objects within each other; "
            f"at most {plan.max_json_depth} are read.",
            code="body_too_deep",
        )
    try:
        body = plan.model.model_validate_json(raw)
    except ValidationError as error:
        fault = invalid(plan.known, error)
        # What is no JSON at all has no names, whatever its outline looks like.
        if twice is None or fault.param is None:
            raise fault from None
    if twice is not None:
        raise ApiError(400, f"The body names `{twice[:64]}` twice. Send each field once.", param=twice[:64])
    effects: list[Effect] = []
    watched = plan.watched_with_tools if has_tools(body.__dict__) else plan.watched
    _check(plan, watched, "", body, effects)
    return body, effects


def model_of(route: Route, limits: Limits, profile: Profile = OVERT) -> type[BaseModel]:
    """The model of a route's body: the fields that are read; all others are kept aside."""
    return _model_of(route, limits, profile.name)


@cache
def _model_of(route: Route, limits: Limits, profile: str) -> type[BaseModel]:
    return _model(route, by_name(route, limits, PROFILES[profile]), _NAMES[route], "")


def _model(route: Route, known: Mapping[str, Field], name: str, prefix: str) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for field in known.values():
        if field.effect == "refused" or not field.name.startswith(prefix) or "." in field.name[len(prefix) :]:
            continue
        kind: Any = _annotation(field)
        if not prefix and field.name in nested(route):
            words = field.name.title().replace("_", "")
            kind = _model(route, known, f"{name.removesuffix('Request')}{words}", f"{field.name}.")
        info: Any = Info(description=field.meaning)
        if field.required:
            fields[field.name[len(prefix) :]] = (Annotated[kind, info], ...)
        else:
            fields[field.name[len(prefix) :]] = (Annotated[kind | None, info], None)
    config = ConfigDict(extra="allow", strict=True, protected_namespaces=())
    return create_model(name, __config__=config, **fields)


def _annotation(field: Field) -> Any:
    match field.kind:
        case "boolean":
            return bool
        case "integer":
            return Annotated[int, Info(ge=_int(field.low), le=_int(field.high))]
        case "number":
            return Annotated[float, Info(ge=field.low, gt=field.above, le=field.high, allow_inf_nan=False)]
        case "string":
            if field.choices:
                return Literal[field.choices]
            return Annotated[str, Info(min_length=int(field.low or 0), max_length=_int(field.high))]
        case "labels":
            name = Annotated[str, Info(max_length=MAX_LABEL_NAME)]
            return Annotated[dict[name, Annotated[str, Info(max_length=MAX_LABEL)]], Info(max_length=MAX_LABELS)]
        case "strings":
            many = _list(field, _TEXT)
            return Annotated[many, BeforeValidator(_listed, json_schema_input_type=_TEXT | many)]
        case "texts":
            return _list(field, _TEXT)
        case "integers":
            return _list(field, Annotated[int, Info(ge=0, le=MAX_TOKEN_ID)])
        case "biases":
            # Its values are checked one by one elsewhere: pydantic would collect a fault for each of millions.
            bias = {"type": "number", "minimum": -MAX_BIAS, "maximum": MAX_BIAS}
            schema = {"type": "object", "maxProperties": _int(field.high), "additionalProperties": bias}
            return Annotated[dict[str, Any], Info(max_length=_int(field.high)), WithJsonSchema(schema)]
        case "object":
            return dict[str, Any]
        case "objects" | "messages":
            return _list(field, dict[str, Any])
        case "prompt":
            # Read by the core, from the raw bytes.
            return Annotated[Any, WithJsonSchema({"anyOf": _PROMPT_SCHEMAS})]
        case "tool_choice":
            return Annotated[Any, WithJsonSchema(_CHOICE_SCHEMA)]
        case "any":
            return Any


_TEXT: Any = Annotated[str, Info(min_length=1)]

_CHOICE_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "enum": ["none", "auto", "required"]},
        {"type": "object", "properties": {"type": {"enum": ["function", "custom", "allowed_tools"]}}},
    ]
}

_PROMPT_SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"type": "integer"}},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
]


def _list(field: Field, item: Any) -> Any:
    """A list that is given up at its first fault."""
    return Annotated[list[item], Info(min_length=_int(field.low), max_length=_int(field.high), fail_fast=True)]


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) and value else value


def _check(
    plan: "Plan", watched: Mapping[str, Mapping[str, Standing]], prefix: str, body: BaseModel, effects: list[Effect]
) -> None:
    known, given = plan.known, body.model_fields_set
    for key, standing in watched[prefix].items():
        if key not in given:
            continue
        name, value = prefix + key, getattr(body, key)
        if value is None or any(same(value, noop) for noop in known[name].noop):
            continue
        if standing.effect == "refused":
            raise refusal(known[name], standing)
        effects.append(Effect(name, "inert", requested=value, reason=standing.reason))
    extra = body.model_extra
    for key, value in extra.items() if extra else ():
        if value is None:
            continue
        name = prefix + key
        field = known.get(name)
        if field is None:
            near = nearest(plan.route, name) if len(effects) < 32 else None
            effects.append(unknown(name, value, near))
        elif not any(same(value, noop) for noop in field.noop):
            raise refusal(field)
    if not prefix:
        for name in nested(plan.route):
            if (value := getattr(body, name)) is not None:
                _check(plan, watched, f"{name}.", value, effects)


def unknown(name: str, value: Any, near: str | None) -> Effect:
    """What is told of a field that nobody knows."""
    reason = "no such field is known" if near is None else f"no such field is known; did you mean `{near}`?"
    return Effect(name, "inert", nearest=near, requested=value, reason=reason, counted=UNKNOWN)


@cache
def nested(route: Route) -> tuple[str, ...]:
    """Fields whose members have rows of their own."""
    read = (field.name for field in by_name(route).values() if field.effect != "refused")
    return tuple(dict.fromkeys(name.partition(".")[0] for name in read if "." in name))


def refusal(field: Field, standing: Standing | None = None) -> ApiError:
    """400 for a field that is known and cannot be served."""
    if standing is not None:
        advice = f" {standing.advice[0].upper()}{standing.advice[1:]}." if standing.advice else ""
        message = f"`{field.name}` is not available: {standing.reason}.{advice}"
    else:
        reason = f": {field.reason}" if field.reason else ""
        message = f"`{field.name}` is known, but this server does not implement it yet{reason}."
    return ApiError(400, message, param=field.name, code="unsupported_parameter")


def same(value: Any, noop: Any) -> bool:
    """Equality of JSON values: 0 and 0.0 are one, 0 and false are two."""
    return isinstance(value, bool) == isinstance(noop, bool) and bool(value == noop)
