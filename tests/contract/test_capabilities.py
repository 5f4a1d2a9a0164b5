"""The capabilities document, its schema, its text, and the pages that are written from the same tables."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contract.ask import DEPLOYMENT, ask, told
from overt.contract.capabilities import Mounted, capabilities, render_text, supported_parameters
from overt.contract.capabilities_schema import SCHEMA
from overt.contract.deployment import Deployment
from overt.contract.docs import pages
from overt.contract.fields import FIELDS
from overt.contract.limits import Limits
from overt.contract.profiles import NAMES

DOCS = Path(__file__).parents[2] / "docs" / "reference"
RICH = replace(
    DEPLOYMENT,
    generation_config={"temperature": 0.6},
    model={"max_model_len": 64, "dtype": "float32", "device": "cpu", "architecture": "Tiny", "source": "x"},
    engine={"max_num_seqs": 8, "block_size": 16},
)
DEPLOYMENTS: list[Deployment] = [
    RICH,
    Deployment(("a",), 10),
    *(replace(RICH, default_profile=name, strict=True, always_reports=True) for name in NAMES),
]


def field(document: dict[str, Any], name: str, route: str = "chat") -> dict[str, Any]:
    found = [row for row in document["fields"] if row["name"] == name and route in row["routes"]]
    assert len(found) == 1
    entry: dict[str, Any] = found[0]
    return entry


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_the_document_follows_its_schema(deployment: Deployment) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for routes in (None, [Mounted("POST", "/v1/chat/completions", "Chat")]):
        document = capabilities(deployment, routes)
        jsonschema.validate(document, SCHEMA)
        assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_every_row_is_told_on_each_of_its_routes() -> None:
    document = capabilities(RICH)
    told_of = sorted((row["name"], row["location"], route) for row in document["fields"] for route in row["routes"])
    assert told_of == sorted((row.name, row.location, route) for row in FIELDS for route in row.routes)
    assert [limit["name"] for limit in document["limits"]][-len(fields(Limits)) :] == [f.name for f in fields(Limits)]
    broken = {key: value for key, value in document.items() if key != "limits"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_fields_are_told_as_the_deployment_has_them() -> None:
    document = capabilities(RICH)
    temperature = field(document, "temperature")
    assert (temperature["default"], temperature["default_source"]) == (0.6, "generation_config")
    assert (temperature["low"], temperature["high"], temperature["effect"]) == (0, 2, "honoured")
    assert field(document, "suffix", "completions")["effect"] == "honoured"
    assert field(document, "max_tokens", "completions")["default"] == 16
    assert field(document, "model")["default"] == "a"
    assert document["template"]["variables"] == ["add_generation_prompt", "documents", "tools"]
    poor = capabilities(Deployment(("a",), 10))
    assert field(poor, "suffix", "completions")["effect"] == "refused"
    assert field(poor, "messages")["effect"] == "refused"
    assert poor["template"] is None
    sglang = capabilities(replace(RICH, default_profile="sglang"))
    assert field(sglang, "temperature")["high"] is None
    # Its two routes differ in where defaults come from.
    assert field(sglang, "temperature", "completions")["default"] == 1.0
    assert field(sglang, "suffix", "completions")["effect"] == "inert"


@pytest.mark.parametrize("name", ["store", "session_id", "prediction", "cache_salt", "documents"])
def test_effects_at_rest_are_the_effects_of_requests(name: str) -> None:
    values: dict[str, Any] = {"store": True, "prediction": {"a": 1}, "documents": [{"a": 1}]}
    for deployment in (RICH, replace(RICH, prefix_caching=False, chat_template="x")):
        entry = field(capabilities(deployment), name)
        effects = told(ask("chat", {name: values.get(name, "x")}, deployment)[1])
        assert effects == ([] if entry["effect"] == "honoured" else [(name, "inert", None)])


def test_parsers_and_grammar() -> None:
    told_of = {"tool_call_parser_reason": "the template", "reasoning_parser_reason": "nothing shows one"}
    parsers = capabilities(replace(RICH, reading=told_of))["parsers"]
    assert (parsers["tool_calls"], parsers["tool_calls_reason"]) == ("hermes", "the template")
    assert (parsers["reasoning"], parsers["reasoning_reason"]) == (None, "nothing shows one")
    assert "hermes" in parsers["known"]["tool_calls"]
    assert "qwen3" in parsers["known"]["reasoning"]
    for names in parsers["known"].values():
        assert names == sorted(set(names))
    grammar = capabilities(RICH)["grammar"]
    assert (grammar["backend"], grammar["reason"]) == ("llguidance", None)
    assert grammar["limits"]["regex_bytes"] >= 1024
    off = capabilities(replace(RICH, constrains=False))["grammar"]
    assert off == {
        "backend": None,
        "reason": "--grammar-backend none",
        "whitespace": None,
        "numbers": None,
        "limits": None,
    }


def test_routes() -> None:
    document = capabilities(RICH, [Mounted("POST", "/v1/embeddings", "E"), Mounted("GET", "/health", "H")])
    assert [route["path"] for route in document["routes"]] == ["/health", "/v1/embeddings"]
    absent = {(route["method"], route["path"]) for route in document["absent_routes"]}
    assert ("POST", "/v1/embeddings") not in absent
    assert ("POST", "/v1/responses") in absent
    assert all(route["reason"] for route in document["absent_routes"])


def test_the_text_begins_with_what_one_wants_to_know() -> None:
    lines = render_text(capabilities(RICH)).splitlines()
    top = "\n".join(lines[:13])
    assert "calls      hermes" in lines
    assert any(line.startswith("grammar    llguidance; white space bounded: ") for line in lines)
    off = render_text(capabilities(replace(RICH, constrains=False, parser=None))).splitlines()
    assert {
        "calls      none, they stay text",
        "grammar    none, outputs are not constrained: --grammar-backend none",
    } <= {*off}
    reads = "reads add_generation_prompt, documents, tools"
    for word in ("a, b", "Tiny", "64 tokens", reads, "hermes", "overt", "honoured"):
        assert word in top
    text = "\n".join(lines)
    assert all(row.name in text for row in FIELDS)
    assert "--max-stops" in text
    assert "none: chat needs" in render_text(capabilities(Deployment(("a",), 10)))


def test_supported_parameters() -> None:
    names = supported_parameters(RICH)
    assert {"temperature", "top_k", "stop", "seed", "tools", "tool_choice", "logprobs", "max_tokens"} <= set(names)
    assert {"response_format", "structured_outputs"} <= set(names)
    assert "suffix" not in names
    assert "tools" not in supported_parameters(replace(RICH, parser=None))
    assert "response_format" not in supported_parameters(replace(RICH, constrains=False))


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_are_those_of_the_tables(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert text == pages()[name], f"{name} is old: python -m overt.contract.docs docs/reference"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in DOCS.iterdir()} == set(pages())
