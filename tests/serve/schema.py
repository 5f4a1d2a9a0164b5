"""OpenAI's own schema, as JSON Schema that a validator understands."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SPEC = Path(__file__).parents[3] / "shared" / "spec" / "openai-subset.json"


@cache
def _spec() -> dict[str, Any] | None:
    if not SPEC.exists():
        return None
    spec: dict[str, Any] = _convert(json.loads(SPEC.read_text()))
    return spec


def _convert(node: Any) -> Any:
    """The document says 3.1.0 but writes 3.0's `nullable`: turn it into a null type."""
    if isinstance(node, list):
        return [_convert(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _convert(value) for key, value in node.items()}
    if node.pop("nullable", False) is True:
        if "enum" in node:
            node["enum"] = [*node["enum"], None]
        if "type" in node:
            node["type"] = [*([node["type"]] if isinstance(node["type"], str) else node["type"]), "null"]
        else:
            return {"anyOf": [node, {"type": "null"}]}
    return node


def check(name: str, value: dict[str, Any]) -> None:
    """Fails where `value` is not what `#/components/schemas/{name}` says; says nothing where the schema is absent."""
    spec = _spec()
    if spec is None:
        return
    schema = {"$ref": f"#/components/schemas/{name}", "components": spec["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def check_streamed_completion(chunk: dict[str, Any]) -> None:
    """As `check`, but for the two places where OpenAI's server itself leaves its schema: null `finish_reason`
    and `usage` on the chunks of a streamed completion."""
    chunk = json.loads(json.dumps(chunk))
    if chunk.get("usage", 0) is None:
        del chunk["usage"]
    for choice in chunk["choices"]:
        if choice["finish_reason"] is None:
            choice["finish_reason"] = "stop"
    check("CreateCompletionResponse", chunk)
