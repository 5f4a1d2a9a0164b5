"""The field table: complete, consistent, and held by validation."""

import json
from pathlib import Path
from typing import Any

import pytest

from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.fields import FIELDS, by_name, nearest
from overt.contract.limits import DEFAULTS
from overt.contract.models import model_of, validate

SPEC = Path(__file__).parents[3] / "shared" / "spec" / "openai-subset.json"
ROUTES: tuple[Route, ...] = ("chat", "completions", "tokenize", "detokenize")
VALID: dict[Route, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "x"}]},
    "completions": {"prompt": "x"},
    "tokenize": {"prompt": "x"},
    "detokenize": {"tokens": [1]},
}


def properties(schemas: dict[str, Any], name: str) -> set[str]:
    schema = schemas[name]
    names = set(schema.get("properties", {}))
    for part in [*schema.get("allOf", []), *schema.get("anyOf", [])]:
        reference = part.get("$ref")
        names |= properties(schemas, reference.rpartition("/")[2]) if reference else set(part.get("properties", {}))
    return names


@pytest.mark.parametrize(
    ("schema", "route", "prefix"),
    [
        ("CreateChatCompletionRequest", "chat", ""),
        ("CreateCompletionRequest", "completions", ""),
        ("ChatCompletionStreamOptions", "chat", "stream_options."),
        ("ChatCompletionStreamOptions", "completions", "stream_options."),
    ],
)
def test_every_openai_field_is_in_the_table(schema: str, route: Route, prefix: str) -> None:
    if not SPEC.exists():
        pytest.skip(f"{SPEC} is not here to compare with")
    wanted = properties(json.loads(SPEC.read_text())["components"]["schemas"], schema)
    assert len(wanted) >= 1
    assert {prefix + name for name in wanted} - set(by_name(route)) == set()


def test_a_name_stands_once_a_route() -> None:
    seen = [(route, field.location, field.name) for field in FIELDS for route in field.routes]
    assert len(seen) == len(set(seen))


def test_rows_are_whole() -> None:
    for field in FIELDS:
        assert field.meaning.endswith("."), field.name
        assert not field.reason.endswith("."), field.name
        assert field.effect == "refused" or not field.noop, field.name
        assert field.wanted()
    assert {field.effect for field in FIELDS} == {"honoured", "refused"}


@pytest.mark.parametrize("route", ROUTES)
def test_the_model_has_the_honoured_fields_and_null_is_absent(route: Route) -> None:
    honoured = {n for n, f in by_name(route).items() if f.effect == "honoured" and "." not in n}
    assert set(model_of(route, DEFAULTS).model_fields) == honoured
    required = {name for name in honoured if by_name(route)[name].required}
    nulls = dict.fromkeys(set(by_name(route)) - required) | VALID[route]
    body, effects = validate(route, json.dumps(nulls).encode(), DEFAULTS)
    plain, _ = validate(route, json.dumps(VALID[route]).encode(), DEFAULTS)
    assert effects == []
    assert {name: getattr(body, name) for name in honoured} == {name: getattr(plain, name) for name in honoured}


@pytest.mark.parametrize("route", ROUTES)
def test_refused_fields_are_refused_by_name_except_where_they_ask_for_nothing(route: Route) -> None:
    refused = [field for field in by_name(route).values() if field.effect == "refused"]
    for field in refused:
        outer, _, inner = field.name.partition(".")

        def body(value: Any, outer: str = outer, inner: str = inner) -> bytes:
            return json.dumps(VALID[route] | {outer: {inner: value} if inner else value}).encode()

        with pytest.raises(ApiError) as caught:
            validate(route, body({"some": "value"}), DEFAULTS)
        assert caught.value.status == 400
        assert caught.value.param == field.name
        assert caught.value.code == "unsupported_parameter"
        assert field.name in caught.value.message
        for noop in field.noop:
            assert validate(route, body(noop), DEFAULTS)[1] == [], field.name


@pytest.mark.parametrize("name", ["return_token_ids", "echo", "store"])
def test_zero_is_not_false(name: str) -> None:
    with pytest.raises(ApiError):
        validate("chat", json.dumps(VALID["chat"] | {name: 0}).encode(), DEFAULTS)


@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_zero_is_zero_however_it_is_written(value: float) -> None:
    assert (
        validate("chat", json.dumps(VALID["chat"] | {"routed_experts_prompt_start": value}).encode(), DEFAULTS)[1] == []
    )


def test_unknown_fields_are_told_with_the_nearest_known_one() -> None:
    body = VALID["chat"] | {
        "temprature": 1,
        "zzz": 2,
        "stream": True,
        "stream_options": {"include_usages": 1},
    }
    _, effects = validate("chat", json.dumps(body).encode(), DEFAULTS)
    assert [(effect.field, effect.effect, effect.nearest) for effect in effects] == [
        ("temprature", "inert", "temperature"),
        ("zzz", "inert", None),
        ("stream_options.include_usages", "inert", "stream_options.include_usage"),
    ]
    assert nearest("completions", "temperatura") == "temperature"
