"""The JSON Schema of the capabilities document."""

from typing import Any

from overt.contract.profiles import NAMES

_STRING = {"type": "string"}
_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": ["number", "null"]}
_BOOLEAN = {"type": "boolean"}
_INTEGER = {"type": "integer"}
_COUNT = {"type": ["integer", "null"]}
_EFFECT = {"enum": ["honoured", "adapted", "inert", "refused"]}


def _strings(**more: Any) -> dict[str, Any]:
    return {"type": "array", "items": _STRING, **more}


def _object(**members: Any) -> dict[str, Any]:
    """All members are always there; later versions may add others."""
    return {"type": "object", "properties": members, "required": list(members)}


def _list(item: dict[str, Any], *, optional: bool = False) -> dict[str, Any]:
    return {"type": ["array", "null"] if optional else "array", "items": item}


_FIELD = _object(
    name=_STRING,
    location={"enum": ["body", "header"]},
    routes=_strings(minItems=1),
    kind=_STRING,
    meaning=_STRING,
    range={"type": "string", "description": 'What a value has to be: the end of "must be …".'},
    low=_NUMBER,
    high=_NUMBER,
    choices={"type": ["array", "null"], "items": _STRING},
    required=_BOOLEAN,
    default={"description": "null: nothing, or as the source has it."},
    default_source={"enum": ["server", "generation_config", "model", "template", "flag"]},
    origin={"enum": ["openai", "vllm", "sglang", "overt"]},
    alias_of=_TEXT,
    condition=_TEXT,
    effect=_EFFECT | {"description": "At rest: before a value is seen."},
    reason=_TEXT,
    advice=_TEXT,
)

_TEMPLATE = _object(
    name=_STRING,
    source=_TEXT,
    hash=_STRING,
    variables=_strings(),
    given=_strings(),
    normalisations=_strings(description="Those of the list that may be made for this template."),
    special_tokens_in_text={"enum": ["read", "escaped"]},
)

_PARSERS = _object(
    tool_calls=_TEXT | {"description": "The format that calls are read in; null: they stay text."},
    tool_calls_reason=_TEXT | {"description": "Where that came from."},
    reasoning=_TEXT | {"description": "The format that reasoning is read in; null: it stays text."},
    reasoning_reason=_TEXT,
    known=_object(tool_calls=_strings(minItems=1), reasoning=_strings(minItems=1))
    | {"description": "Names that the server, /v1/parse and `overt.parsers` know."},
)

_GRAMMAR = _object(
    backend=_TEXT | {"description": "null: outputs are not constrained."},
    reason=_TEXT,
    whitespace={"anyOf": [{"type": "null"}, _object(policy=_STRING, pattern=_STRING, meaning=_STRING)]},
    numbers={
        "anyOf": [
            {"type": "null"},
            _object(
                largest=_INTEGER,
                largest_integer=_INTEGER,
                fraction_digits=_INTEGER,
                exponents=_BOOLEAN,
                meaning=_STRING,
            ),
        ],
    },
    limits={
        "type": ["object", "null"],
        "additionalProperties": _INTEGER,
        "description": "What a constraint may have at most.",
    },
)

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Capabilities of an Overt server",
} | _object(
    object={"const": "capabilities"},
    server=_object(name={"const": "overt"}, version=_STRING),
    model=_object(
        served_names=_strings(minItems=1),
        source=_TEXT,
        architecture=_TEXT,
        dtype=_TEXT,
        device=_TEXT,
        context_length=_COUNT,
        vocab_size=_INTEGER,
        fills_gaps=_BOOLEAN,
        system_fingerprint=_STRING,
        input_modalities=_strings(),
        output_modalities=_strings(),
    ),
    settings=_object(
        profile={"enum": list(NAMES)},
        strict=_BOOLEAN,
        report={"enum": ["on_request", "always"]},
        max_client_priority=_INTEGER,
        prefix_caching=_BOOLEAN,
        keys=_BOOLEAN,
    ),
    fields=_list(_FIELD),
    message_keys=_list(_object(name=_STRING, meaning=_STRING, effect=_EFFECT, reason=_TEXT)),
    limits=_list(_object(name=_STRING, value=_COUNT, flag=_TEXT, meaning=_STRING)),
    profiles=_list(_object(name=_STRING, situation=_STRING, **dict.fromkeys(NAMES, _STRING))),
    template={"anyOf": [{"type": "null"}, _TEMPLATE]},
    tool_template={"anyOf": [{"type": "null"}, _TEMPLATE]},
    normalisations=_list(_object(name=_STRING, meaning=_STRING, changes_meaning=_BOOLEAN)),
    parsers=_PARSERS,
    grammar=_GRAMMAR,
    errors=_list(_object(code=_STRING, status=_INTEGER, type=_STRING, meaning=_STRING)),
    routes=_list(_object(method=_STRING, path=_STRING, summary=_STRING), optional=True),
    absent_routes=_list(_object(method=_STRING, path=_STRING, reason=_STRING), optional=True),
)
