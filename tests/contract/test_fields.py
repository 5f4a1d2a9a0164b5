"""The field table: complete, consistent, and held by validation."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from contract.ask import DEPLOYMENT
from overt.contract.effects import Effect
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.fields import FIELDS, by_name, nearest
from overt.contract.limits import DEFAULTS
from overt.contract.models import model_of
from overt.contract.models import validate as validate_by

SPEC = Path(__file__).parents[3] / "shared" / "spec" / "openai-subset.json"
ROUTES: tuple[Route, ...] = ("chat", "completions", "tokenize", "detokenize", "parse")
VALID: dict[Route, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "x"}]},
    "completions": {"prompt": "x"},
    "tokenize": {"prompt": "x"},
    "detokenize": {"tokens": [1]},
    "parse": {"text": "x"},
}


def validate(route: Route, raw: bytes) -> tuple[BaseModel, list[Effect]]:
    return validate_by(DEPLOYMENT.plan(route, DEPLOYMENT.profile), raw)


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
    names = {field.name for field in FIELDS}
    for field in FIELDS:
        assert field.meaning.endswith("."), field.name
        for clause in (field.reason, field.advice, field.condition):
            assert not clause.endswith("."), field.name
        assert field.rest or field.effect == "honoured" or field.reason, field.name
        assert not (field.rest and field.effect != "honoured"), field.name
        assert not field.alias or field.alias in names, field.name
        assert field.wanted()
    assert {field.effect for field in FIELDS} == {"honoured", "inert", "refused"}


@pytest.mark.parametrize("route", ROUTES)
def test_the_model_has_the_fields_that_are_read_and_null_is_absent(route: Route) -> None:
    read = {n for n, f in by_name(route).items() if f.effect != "refused" and "." not in n}
    assert set(model_of(route, DEFAULTS).model_fields) == read
    required = {name for name in read if by_name(route)[name].required}
    nulls = dict.fromkeys(set(by_name(route)) - required) | VALID[route]
    body, effects = validate(route, json.dumps(nulls).encode())
    plain, _ = validate(route, json.dumps(VALID[route]).encode())
    assert effects == []
    assert {name: getattr(body, name) for name in read} == {name: getattr(plain, name) for name in read}


@pytest.mark.parametrize("route", ROUTES)
def test_refused_fields_are_refused_by_name_except_where_they_ask_for_nothing(route: Route) -> None:
    refused = [field for field in by_name(route).values() if field.effect == "refused"]
    for field in refused:
        outer, _, inner = field.name.partition(".")

        def body(value: Any, outer: str = outer, inner: str = inner) -> bytes:
            return json.dumps(VALID[route] | {outer: {inner: value} if inner else value}).encode()

        with pytest.raises(ApiError) as caught:
            validate(route, body({"some": "value"}))
        assert caught.value.status == 400
        assert caught.value.param == field.name
        assert caught.value.code == "unsupported_parameter"
        assert field.name in caught.value.message
        for noop in field.noop:
            assert validate(route, body(noop))[1] == [], field.name


@pytest.mark.parametrize("name", ["return_token_ids", "echo", "store", "watermarking"])
def test_zero_is_not_false(name: str) -> None:
    with pytest.raises(ApiError):
        validate("chat", json.dumps(VALID["chat"] | {name: 0}).encode())


@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_zero_is_zero_however_it_is_written(value: float) -> None:
    assert validate("chat", json.dumps(VALID["chat"] | {"routed_experts_prompt_start": value}).encode())[1] == []


def test_unknown_fields_are_told_with_the_nearest_known_one() -> None:
    body = VALID["chat"] | {
        "temprature": 1,
        "zzz": 2,
        "stream": True,
        "stream_options": {"include_usages": 1},
    }
    _, effects = validate("chat", json.dumps(body).encode())
    assert [(effect.field, effect.effect, effect.nearest) for effect in effects] == [
        ("temprature", "inert", "temperature"),
        ("zzz", "inert", None),
        ("stream_options.include_usages", "inert", "stream_options.include_usage"),
    ]
    assert nearest("completions", "temperatura") == "temperature"


# --- the peers' fields ---

SURFACES = SPEC.parents[1] / "reference"
_NAME = re.compile(r"[a-z][a-z0-9_]*")

COMPLETIONS_LACK = {
    # As the surface file says: no tools, templates, documents, reasoning switches, prompt text, media.
    *("messages", "max_completion_tokens", "top_logprobs", "tools", "tool_choice", "parallel_tool_calls"),
    *("reasoning_effort", "include_reasoning", "add_generation_prompt", "continue_final_message", "documents"),
    *("chat_template", "chat_template_kwargs", "media_io_kwargs", "mm_processor_kwargs", "return_prompt_text"),
    *("mm_payload", "return_mm_kwargs"),
}
SGLANG_SPELT = {
    # Cells of the table that shorten several names into one.
    "frequency/presence_penalty": "frequency_penalty presence_penalty",
    "max/min_dynamic_patch": "max_dynamic_patch min_dynamic_patch",
    "bootstrap_host/port/room": "bootstrap_host bootstrap_port bootstrap_room",
    "(+_b64)": " return_flat_raw_output_top_logprobs_b64",
}
_SGLANG_COMPLETIONS = (
    "model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream "
    "stream_options suffix temperature top_p user top_k min_p min_tokens json_schema regex ebnf repetition_penalty "
    "stop_token_ids stop_regex no_stop_trim ignore_eos skip_special_tokens lora_path session_params response_format "
    "bootstrap_host bootstrap_port bootstrap_room routed_dp_rank data_parallel_rank disagg_prefill_dp_rank rid "
    "priority extra_key cache_salt custom_labels custom_logit_processor custom_params return_hidden_states "
    "return_routed_experts return_cached_tokens_details return_token_ids session_id watermark"
)


def cells(file: str, start: str, end: str) -> list[list[str]]:
    path = SURFACES / file
    if not path.exists():
        pytest.skip(f"{path} is not here to compare with")
    text = path.read_text(encoding="utf-8")
    part = text[text.index(start) : text.index(end)]
    rows = [re.split(r"(?<!\\)\|", line)[1:] for line in part.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row[0].strip().startswith("Field")]


def test_every_field_of_vllm_is_in_the_table() -> None:
    rows = cells("vllm_surface.md", "### B.1", "### B.2")
    names = {name for row in rows for name in _NAME.findall(re.sub(r"\(.*?\)", "", row[0]))} | {"return_mm_kwargs"}
    assert len(names) == 68
    assert names - set(by_name("chat")) == set()
    completions = (names - COMPLETIONS_LACK) | {"prompt", "suffix", "prompt_embeds", "add_special_tokens"}
    assert completions - set(by_name("completions")) == set()
    for name in ("include_usage", "continuous_usage_stats"):
        assert f"stream_options.{name}" in by_name("chat")
        assert f"stream_options.{name}" in by_name("completions")


def test_every_field_of_sglang_is_in_the_table() -> None:
    names: set[str] = set()
    for row in cells("sglang_surface.md", "### B.1", "### B.2"):
        cell = row[0]
        for short, long in SGLANG_SPELT.items():
            cell = cell.replace(short, long)
        cell = re.sub(r"\[\]\.function|\{.*|\((?!\+).*?\)|\(bool.*", "", cell)
        names |= set(_NAME.findall(cell))
    names -= {"content", "parts"}
    assert len(names) >= 70
    assert names - set(by_name("chat")) == set()
    assert set(_SGLANG_COMPLETIONS.split()) - set(by_name("completions")) == set()


def test_every_header_of_the_surfaces_is_in_the_table() -> None:
    rows = {field.name for field in FIELDS if field.location == "header"}
    text = "".join(" ".join(row) for row in cells("vllm_surface.md", "### C.6", "CORS:"))
    pattern = r"[Xx]-[A-Za-z-]+[A-Za-z]|traceparent|tracestate|endpoint-load[a-z-]+"
    named = {name.lower() for name in re.findall(pattern, text)}
    assert {"x-request-id", "traceparent"} <= named
    assert named - rows - {"endpoint-load-metrics", "x-api-key"} == set()
    assert {"x-api-key", "x-data-parallel-rank", "overt-strict", "overt-profile", "x-smg-routing-key"} <= rows
