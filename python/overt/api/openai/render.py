"""POST /v1/chat/completions/render and /v1/completions/render: the prompt of a request, and where it came from."""

import asyncio
import json
from typing import Any

from fastapi import FastAPI

from overt import _core
from overt.api.generate import count_effects
from overt.api.hot import Call, add_hot_route
from overt.contract.asked import profile_asked, queried, read_headers
from overt.contract.deployment import Deployment
from overt.contract.effects import Effect, header, objects
from overt.contract.errors import ApiError, from_core
from overt.contract.field import Route
from overt.contract.params import GenerationParams
from overt.contract.profiles import Profile
from overt.contract.read import read

_TOLD_HERE = "return_token_offsets"
"""Inert where an answer is generated; here the offsets are always told."""


async def render_chat(call: Call) -> int:
    """The prompt that a chat body makes."""
    return await _render(call, "chat")


async def render_completion(call: Call) -> int:
    """The prompts that a completions body makes."""
    return await _render(call, "completions")


async def _render(call: Call, route: Route) -> int:
    shape = call.overt.deployment.profile.error_shape
    try:
        profile = profile_asked(call.scope["headers"], call.overt.deployment)
        shape = profile.error_shape
        return await _answer(call, route, profile)
    except ApiError as error:
        error.shape = shape
        raise


async def _answer(call: Call, route: Route, profile: Profile) -> int:
    state = call.overt
    deployment = state.deployment
    raw = await call.read()
    asked = read_headers(route, call.scope["headers"], deployment, call.request_id, profile)
    if call.scope["query_string"]:
        asked.effects.extend(queried(call.scope["query_string"]))
    params, effects = read(route, raw, deployment, asked)

    def work() -> tuple[bytes, list[Effect]]:
        told, all_effects = prompts(state.front, route, raw, params, effects, deployment)
        answer: Any = told[0] if route == "chat" else told
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode(), all_effects

    written, effects = await asyncio.to_thread(work)
    count_effects(state, effects)
    return await call.answer(200, written, effects=header(effects))


def prompts(
    core: "_core.Front | _core.Prompts",
    route: Route,
    raw: bytes,
    params: GenerationParams,
    effects: list[Effect],
    deployment: Deployment,
) -> tuple[list[dict[str, Any]], list[Effect]]:
    """Every prompt of a checked body as clients see it, and all effects. Not for the event loop.

    Raises ApiError where the body would not be answered.
    """
    effects = [effect for effect in effects if effect.field != _TOLD_HERE]
    if params.strict is not None:
        params.strict = [effect.clause() for effect in effects]
    try:
        shown = json.loads(core.show(route, raw, params))
    except _core.RequestError as error:
        raise from_core(error) from None
    effects += [Effect(effect="adapted", **one) for one in shown["adapted"]]
    told = [_described(prompt, params, deployment) for prompt in shown["prompts"]]
    if params.report is not None:
        report = json.loads(f'{{"effects":[{objects(effects)}],{params.report[1]}}}')
        told = [prompt | {"overt": report} for prompt in told]
    return told, effects


def _described(shown: dict[str, Any], params: GenerationParams, deployment: Deployment) -> dict[str, Any]:
    """One prompt as clients see it; `shown` is the core's."""
    length, most = len(shown["token_ids"]), deployment.max_model_len
    room = None if most is None else most - length
    answer: dict[str, Any] = {
        "object": "prompt",
        "model": params.model,
        "prompt_text": shown["prompt_text"],
        "token_ids": shown["token_ids"],
        "token_offsets": shown["token_offsets"],
        "truncated_tokens": shown["truncated_tokens"],
        "usage": {"prompt_tokens": length},
        "max_tokens": min((tokens for tokens in (params.max_tokens, room) if tokens is not None), default=None),
    }
    if shown["template"] is not None:
        template = deployment.template_for(params.tools)
        assert template is not None
        answer["template"] = template.told() | {
            "variables": list(template.variables),
            "variables_used": shown["variables_used"],
            "variables_unused": shown["variables_unused"],
        }
        answer["normalisations"] = shown["normalisations"]
    answer["provenance"] = {"exact": shown["exact"], "spans": shown["spans"]}
    return answer


_INTEGER = {"type": "integer", "minimum": 0}
_SPAN: dict[str, Any] = {
    "type": "object",
    "required": ["start", "end", "origin", "derived"],
    "properties": {
        "start": _INTEGER,
        "end": _INTEGER,
        "origin": {"enum": ["template", "message", "tool", "document", "kwarg", "special_token", "prompt"]},
        "derived": {"type": "boolean"},
    },
}
_PROMPT: dict[str, Any] = {
    "type": "object",
    "required": ["prompt_text", "token_ids", "token_offsets", "truncated_tokens", "usage", "max_tokens", "provenance"],
    "properties": {
        "prompt_text": {"type": ["string", "null"]},
        "token_ids": {"type": "array", "items": _INTEGER},
        "token_offsets": {"type": ["array", "null"], "items": {"type": "array", "items": _INTEGER}},
        "truncated_tokens": {"type": ["integer", "null"], "minimum": 0},
        "max_tokens": _INTEGER,
        "provenance": {
            "type": "object",
            "required": ["exact", "spans"],
            "properties": {"exact": {"type": "boolean"}, "spans": {"type": "array", "items": _SPAN}},
        },
    },
}


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    chat, completion = "/v1/chat/completions/render", "/v1/completions/render"
    what = "Show the prompt that a conversation makes"
    add_hot_route(app, chat, render_chat, "chat", summary=what, answer=_PROMPT)
    what = "Show the prompts of a completion"
    prompts = {"type": "array", "items": _PROMPT, "minItems": 1}
    add_hot_route(app, completion, render_completion, "completions", summary=what, answer=prompts)
