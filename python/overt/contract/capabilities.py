"""The whole contract under one deployment: what `GET /v1/capabilities` and `overt capabilities` tell."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from overt import _core, parsers
from overt.contract.capabilities_text import render_text
from overt.contract.deployment import NEUTRAL, Deployment
from overt.contract.errors import CODES, type_of
from overt.contract.field import Field, Route, Standing
from overt.contract.fields import FIELDS
from overt.contract.honoured.sampling import SAMPLING
from overt.contract.limits import Limits
from overt.contract.profiles import NAMES, ROWS
from overt.contract.template import ALWAYS_READ, KNOWN_KEYS, Template

__all__ = ["ABSENT", "Mounted", "capabilities", "render_text", "supported_parameters"]

_BESIDE_SAMPLING = ("logprobs", "top_logprobs", "tools", "tool_choice", "response_format", "structured_outputs")

_LATER = "it comes later"
_TEXT = "this server takes and gives text only"
_NO_STORE = "nothing of requests is stored"
ABSENT: Mapping[str, str] = {
    "POST /v1/responses": _LATER,
    "POST /v1/messages": _LATER,
    "POST /v1/messages/count_tokens": _LATER,
    "POST /api/chat": _LATER,
    "POST /api/generate": _LATER,
    "GET /api/tags": _LATER,
    "POST /generate": "use /v1/completions",
    "POST /v1/messages/render": _LATER,
    "POST /v1/responses/render": _LATER,
    "GET /v1/chat/completions": _NO_STORE,
    "GET /v1/chat/completions/{completion_id}": _NO_STORE,
    "POST /pooling": "the model generates text",
    "POST /classify": "the model generates text",
    "POST /score": "the model generates text",
    "POST /v1/score": "the model generates text",
    "POST /rerank": "the model generates text",
    "POST /v1/rerank": "the model generates text",
    "POST /v1/audio/speech": _TEXT,
    "POST /v1/audio/transcriptions": _TEXT,
    "POST /v1/audio/translations": _TEXT,
    "POST /v1/images/generations": _TEXT,
    "GET /v1/realtime": _TEXT,
    "POST /v1/moderations": "there is no moderation here",
    "POST /v1/files": _NO_STORE,
    "POST /v1/batches": _NO_STORE,
    "POST /v1/fine_tuning/jobs": "this server does not train",
    "POST /v1/assistants": _NO_STORE,
    "POST /v1/load_lora_adapter": "adapters come later",
    "POST /v1/unload_lora_adapter": "adapters come later",
}
"""Well-known routes, and why they are not here."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """One route of the server."""

    method: str
    path: str
    summary: str


def capabilities(deployment: Deployment, routes: Iterable[Mounted] | None = None) -> dict[str, Any]:
    """The document, as JSON-able values. `routes`: those of a running server; none: they are not told."""
    model, template, with_tools = deployment.model, deployment.template, deployment.template_for(True)
    return {
        "object": "capabilities",
        "server": {"name": "overt", "version": _core.__version__},
        "model": {
            "served_names": list(deployment.served),
            "source": model.get("source"),
            "architecture": model.get("architecture"),
            "dtype": model.get("dtype"),
            "device": model.get("device"),
            "context_length": deployment.max_model_len,
            "vocab_size": deployment.vocab_size,
            "fills_gaps": deployment.fills_gaps,
            "system_fingerprint": deployment.fingerprint(deployment.profile),
            "input_modalities": ["text"],
            "output_modalities": ["text"],
        },
        "settings": {
            "profile": deployment.default_profile,
            "strict": deployment.strict,
            "report": "always" if deployment.always_reports else "on_request",
            "max_client_priority": deployment.max_client_priority,
            "prefix_caching": deployment.prefix_caching,
            "keys": deployment.guarded,
        },
        "fields": [entry for row in FIELDS for entry in _entries(row, deployment)],
        "message_keys": [_message_key(name, meaning, deployment) for name, meaning in KNOWN_KEYS.items()],
        "limits": _limits(deployment),
        "profiles": [
            {"name": name, "situation": row.situation} | {profile: row.text(profile) for profile in NAMES}
            for name, row in ROWS.items()
        ],
        "template": None if template is None else _template(template, deployment),
        "tool_template": None if with_tools is template or with_tools is None else _template(with_tools, deployment),
        "normalisations": [
            {"name": name, "meaning": meaning, "changes_meaning": changes}
            for name, meaning, changes in _core.normalisations()
        ],
        "parsers": _parsers(deployment),
        "grammar": _grammar(deployment),
        "errors": [
            {"code": code, "status": status, "type": type_of(status), "meaning": meaning}
            for code, (status, meaning) in CODES.items()
        ],
    } | _routes(routes)


def _parsers(deployment: Deployment) -> dict[str, Any]:
    reading = deployment.reading
    return {
        "tool_calls": deployment.parser,
        "tool_calls_reason": reading.get("tool_call_parser_reason"),
        "reasoning": deployment.reasoning_parser,
        "reasoning_reason": reading.get("reasoning_parser_reason"),
        "known": {"tool_calls": list(parsers.names().tool), "reasoning": list(parsers.names().reasoning)},
    }


def _grammar(deployment: Deployment) -> dict[str, Any]:
    if not deployment.constrains:
        return {
            "backend": None,
            "reason": "--grammar-backend none",
            "whitespace": None,
            "numbers": None,
            "limits": None,
        }
    told: dict[str, Any] = json.loads(_core.grammar())
    return {"backend": "llguidance", "reason": None} | told


def _template(template: Template, deployment: Deployment) -> dict[str, Any]:
    return template.told() | {
        "variables": list(template.variables),
        "given": sorted(deployment.template_variables),
        "normalisations": list(template.normalisations),
        "special_tokens_in_text": "escaped" if deployment.escapes else "read",
    }


def _routes(routes: Iterable[Mounted] | None) -> dict[str, Any]:
    if routes is None:
        return {"routes": None, "absent_routes": None}
    mounted = sorted(routes, key=lambda route: (route.path, route.method))
    there = {f"{route.method} {route.path}" for route in mounted}
    absent = ([*name.split(" ", 1), reason] for name, reason in ABSENT.items() if name not in there)
    return {
        "routes": [{"method": route.method, "path": route.path, "summary": route.summary} for route in mounted],
        "absent_routes": [{"method": method, "path": path, "reason": reason} for method, path, reason in absent],
    }


def _entries(row: Field, deployment: Deployment) -> list[dict[str, Any]]:
    """The row as an object; more than one where its routes differ."""
    entries: list[dict[str, Any]] = []
    for route in row.routes:
        entry = _entry(row, route, deployment)
        same = next((known for known in entries if known | {"routes": None} == entry | {"routes": None}), None)
        if same is None:
            entries.append(entry)
        else:
            same["routes"].append(route)
    return entries


def _entry(row: Field, route: Route, deployment: Deployment) -> dict[str, Any]:
    profile = deployment.profile
    bound = row.under(deployment.limits, profile)
    standing: Standing = row.standing(deployment, profile)
    default, source = _default(row, route, deployment)
    return {
        "name": row.name,
        "location": row.location,
        "routes": [route],
        "kind": row.kind,
        "meaning": row.meaning,
        "range": bound.wanted(),
        "low": bound.above if bound.low is None else bound.low,
        "high": bound.high,
        "choices": list(row.choices) or None,
        "required": row.required,
        "default": default,
        "default_source": source,
        "origin": row.origin,
        "alias_of": row.alias or None,
        "condition": row.condition or None,
        "effect": standing.effect,
        "reason": standing.reason or None,
        "advice": standing.advice or None,
    }


def _default(row: Field, route: Route, deployment: Deployment) -> tuple[Any, str]:
    profile = deployment.profile
    if row.name in NEUTRAL and row.location == "body":
        return deployment.sampling_default(row.name, route, profile)
    if row.name == "model" and row.location == "body":
        return deployment.served[0], "flag"
    if row.name in ("max_tokens", "max_completion_tokens"):
        most = deployment.plan(route, profile).params.max_tokens
        return most, "model" if most is None else "server" if route == "completions" else "generation_config"
    if row.name == "return_tokens_as_token_ids":
        return deployment.tokens_as_ids, "flag" if deployment.tokens_as_ids else "server"
    if row.name == "overt.strict":
        return deployment.strict, "flag"
    if row.name == "overt.report":
        return deployment.always_reports, "flag"
    return row.default, row.source


def _message_key(name: str, meaning: str, deployment: Deployment) -> dict[str, Any]:
    template = deployment.template
    read = name in ALWAYS_READ or (template is not None and template.reads_key(name))
    return {
        "name": f"messages[].{name}",
        "meaning": meaning,
        "effect": "honoured" if read else "inert",
        "reason": None if read else "the chat template does not read it",
    }


def _limits(deployment: Deployment) -> list[dict[str, Any]]:
    told = [
        {
            "name": limit.name,
            "value": getattr(deployment.limits, limit.name),
            "flag": f"--{limit.name.replace('_', '-')}",
            "meaning": f"Most {limit.metadata['meaning']}.",
        }
        for limit in fields(Limits)
    ]
    context = {
        "name": "max_model_len",
        "value": deployment.max_model_len,
        "flag": "--max-model-len",
        "meaning": "Tokens of the context, prompt and answer together.",
    }
    engine = [
        {"name": name, "value": deployment.engine[name], "flag": flag, "meaning": meaning}
        for name, flag, meaning in (
            ("max_num_seqs", "--max-num-seqs", "Sequences that run at once."),
            ("max_num_batched_tokens", "--max-num-batched-tokens", "Tokens of a step."),
            ("kv_blocks", "--num-gpu-blocks-override", "Blocks of KV."),
            ("block_size", None, "Tokens of a block."),
        )
        if name in deployment.engine
    ]
    return [context, *engine, *told]


def supported_parameters(deployment: Deployment) -> list[str]:
    """Fields of chat that change the answer and are honoured, as OpenRouter's model lists name them."""
    names = dict.fromkeys((*(row.name for row in SAMPLING), *_BESIDE_SAMPLING))
    known = deployment.plan("chat", deployment.profile).known
    honoured = {
        name
        for name in names
        if name in known and known[name].standing(deployment, deployment.profile).effect == "honoured"
    }
    if "tools" not in honoured:
        honoured.discard("tool_choice")
    return [name for name in names if name in honoured]
