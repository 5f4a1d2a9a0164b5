"""POST /tokenize and /detokenize, as vLLM has them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from overt import _core
from overt.api.generate import count_effects
from overt.api.hot import Call, add_hot_route
from overt.contract.asked import Asked, profile_asked, read_headers
from overt.contract.conversation import (
    check_choice,
    check_messages,
    check_spelled,
    check_template_fields,
    has_tools,
    template_variables,
    turn,
)
from overt.contract.effects import Effect, header, refuse_strict
from overt.contract.errors import ApiError, from_core
from overt.contract.field import Route
from overt.contract.models import validate

_OF_MESSAGES = (
    "tools",
    "tool_choice",
    "chat_template_kwargs",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "reasoning_effort",
)
"""Fields that change nothing beside `prompt`."""

Work = Callable[[], dict[str, Any]]
Reader = Callable[[Call, bytes, dict[str, Any], Asked, list[Effect]], Work]


async def tokenize(call: Call) -> int:
    """Token ids of a prompt or of rendered messages."""
    return await _answer(call, "tokenize", _tokenizing)


async def detokenize(call: Call) -> int:
    """Text of token ids, special tokens included."""
    return await _answer(call, "detokenize", _detokenizing)


def _tokenizing(call: Call, raw: bytes, body: dict[str, Any], asked: Asked, effects: list[Effect]) -> Work:
    state = call.overt
    if (body["prompt"] is None) == (body["messages"] is None):
        raise ApiError(400, "Send either `prompt` or `messages`.", param="prompt")
    deployment = state.deployment
    params = deployment.plan("tokenize", asked.profile).params.copy()
    params.add_special_tokens = body["add_special_tokens"]
    if body["messages"] is not None:
        check_template_fields(body, deployment, asked.profile, effects)
        template = deployment.template_for(has_tools(body))
        check_messages(body["messages"], template, effects)
        check_spelled(raw, body, deployment, effects)
        params.continue_final_message, params.add_generation_prompt = turn(body)
        params.template_variables = template_variables(body, deployment, template, effects)
    else:
        check_choice(body)
        told = {effect.field for effect in effects}
        reason = "there are no messages"
        effects.extend(
            Effect(name, "inert", requested=body[name], reason=reason)
            for name in _OF_MESSAGES
            if body[name] is not None and name not in told
        )
    protocol = "completions" if body["messages"] is None else "chat"

    def work() -> dict[str, Any]:
        ids = state.front.tokenize(protocol, raw, params)
        return {
            "count": len(ids),
            "max_model_len": state.max_model_len,
            "tokens": ids,
            "token_strs": state.front.token_strings(ids) if body["return_token_strs"] else None,
        }

    return work


def _detokenizing(call: Call, _: bytes, body: dict[str, Any], __: Asked, ___: list[Effect]) -> Work:
    front = call.overt.front
    return lambda: {"prompt": front.detokenize(body["tokens"])}


async def _answer(call: Call, route: Route, reader: Reader) -> int:
    """The way of both routes: checks headers and body, works off the loop, tells of the fields."""
    state = call.overt
    shape = state.deployment.profile.error_shape
    try:
        profile = profile_asked(call.scope["headers"], state.deployment)
        shape = profile.error_shape
        raw = await call.read()
        asked = read_headers(route, call.scope["headers"], state.deployment, call.request_id, profile)
        checked, effects = validate(state.deployment.plan(route, profile), raw)
        effects = asked.effects + effects
        body: dict[str, Any] = checked.__dict__
        state.deployment.named(body["model"], profile, effects)
        work = reader(call, raw, body, asked, effects)
        if asked.strict or (body["overt"] is not None and body["overt"].strict):
            refuse_strict(effects)
        try:
            answer = await asyncio.to_thread(work)
        except _core.RequestError as error:
            raise from_core(error) from None
    except ApiError as error:
        error.shape = shape
        raise
    count_effects(state, effects)
    told = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return await call.answer(200, told, effects=header(effects))


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    add_hot_route(app, "/tokenize", tokenize, "tokenize", summary="Token ids of a text")
    add_hot_route(app, "/detokenize", detokenize, "detokenize", summary="Text of token ids")
