"""Pydantic models made from the field table, and the check of a raw body against them."""

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema, create_model
from pydantic import Field as Info

from overt import _core
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, invalid
from overt.contract.field import MAX_BIAS, Field, Route
from overt.contract.fields import by_name, nearest
from overt.contract.limits import Limits

MAX_TOKEN_ID = 2**31 - 1

_NAMES: dict[Route, str] = {
    "chat": "ChatCompletionRequest",
    "completions": "CompletionRequest",
    "tokenize": "TokenizeRequest",
    "detokenize": "DetokenizeRequest",
}


def validate(route: Route, raw: bytes, limits: Limits) -> tuple[BaseModel, list[Effect]]:
    """Checks a body. Returns it with what is to be told of fields that change nothing.

    Raises ApiError for JSON that is none, a value out of range and a field that is not implemented.
    """
    if not raw.strip():
        raise ApiError(400, "The body is empty: send a JSON object.")
    depth, twice = _core.json_outline(raw)
    if depth > limits.max_json_depth:
        raise ApiError(
            400,
            f"The body is nested too deeply: {depth} arrays and objects within each other; "
            f"at most {limits.max_json_depth} are read.",
            code="body_too_deep",
        )
    if twice is not None:
        raise ApiError(400, f"The body names `{twice[:64]}` twice. Send each field once.", param=twice[:64])
    try:
        body = model_of(route, limits).model_validate_json(raw)
    except ValidationError as error:
        raise invalid(route, error, limits) from None
    effects: list[Effect] = []
    _check_extra(route, "", body, effects)
    return body, effects


@cache
def model_of(route: Route, limits: Limits) -> type[BaseModel]:
    """The model of a route's body: its honoured fields; all others are kept aside."""
    return _model(route, limits, _NAMES[route], "")


def _model(route: Route, limits: Limits, name: str, prefix: str) -> type[BaseModel]:
    honoured = [field for field in by_name(route, limits).values() if field.effect == "honoured"]
    fields: dict[str, Any] = {}
    for field in honoured:
        if not field.name.startswith(prefix) or "." in field.name[len(prefix) :]:
            continue
        kind: Any = _annotation(field)
        if not prefix and field.name in _nested(route):
            words = field.name.title().replace("_", "")
            kind = _model(route, limits, f"{name.removesuffix('Request')}{words}", f"{field.name}.")
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
            return Annotated[int, Info(ge=field.low, le=field.high)]
        case "number":
            return Annotated[float, Info(ge=field.low, gt=field.above, le=field.high, allow_inf_nan=False)]
        case "string":
            return Annotated[str, Info(min_length=int(field.low or 0))]
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
            return Annotated[Any, WithJsonSchema({"type": "string", "enum": ["none", "auto"]})]
        case "any":
            return Any


_TEXT: Any = Annotated[str, Info(min_length=1)]

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


def _check_extra(route: Route, prefix: str, body: BaseModel, effects: list[Effect]) -> None:
    known = by_name(route)
    for key, value in (body.model_extra or {}).items():
        if value is None:
            continue
        name = prefix + key
        field = known.get(name)
        if field is None:
            effects.append(Effect(name, "inert", nearest=nearest(route, name) if len(effects) < 32 else None))
        elif not any(_same(value, noop) for noop in field.noop):
            raise refusal(field)
    if not prefix:
        for name in _nested(route):
            value = getattr(body, name)
            if value is not None:
                _check_extra(route, f"{name}.", value, effects)


@cache
def _nested(route: Route) -> frozenset[str]:
    """Fields whose members have rows of their own."""
    honoured = (field.name for field in by_name(route).values() if field.effect == "honoured")
    return frozenset(name.partition(".")[0] for name in honoured if "." in name)


def refusal(field: Field) -> ApiError:
    """400 for a field that is known and not implemented."""
    reason = f": {field.reason}" if field.reason else ""
    return ApiError(
        400,
        f"`{field.name}` is known, but this server does not implement it yet{reason}.",
        param=field.name,
        code="unsupported_parameter",
    )


def _same(value: Any, noop: Any) -> bool:
    """Equality of JSON values: 0 and 0.0 are one, 0 and false are two."""
    return isinstance(value, bool) == isinstance(noop, bool) and bool(value == noop)
