"""POST /tokenize and /detokenize, as vLLM has them."""

import asyncio
import json
from typing import Any

from fastapi import FastAPI

from overt import _core
from overt.api.hot import Call, add_hot_route
from overt.contract.effects import Effect, header
from overt.contract.errors import ApiError
from overt.contract.models import validate
from overt.contract.template import check_template_fields

_OF_MESSAGES = ("tools", "tool_choice", "chat_template_kwargs", "documents", "add_generation_prompt")
"""Fields that change nothing beside `prompt`."""


async def tokenize(call: Call) -> int:
    """Token ids of a prompt or of rendered messages."""
    state = call.overt
    raw = await call.read()
    checked, effects = validate("tokenize", raw, state.deployment.limits)
    body: dict[str, Any] = checked.__dict__
    state.deployment.named(body["model"])
    if (body["prompt"] is None) == (body["messages"] is None):
        raise ApiError(400, "Send either `prompt` or `messages`.", param="prompt")
    if body["messages"] is not None:
        check_template_fields(body, state.deployment, effects)
    else:
        effects.extend(Effect(name, "inert") for name in _OF_MESSAGES if body[name] is not None)
    opened = body["add_generation_prompt"]
    protocol = "completions" if body["messages"] is None else "chat"

    def work() -> dict[str, Any]:
        ids = state.front.tokenize(protocol, raw, True if opened is None else opened, body["add_special_tokens"])
        return {
            "count": len(ids),
            "max_model_len": state.max_model_len,
            "tokens": ids,
            "token_strs": state.front.token_strings(ids) if body["return_token_strs"] else None,
        }

    try:
        answer = await asyncio.to_thread(work)
    except _core.RequestError as error:
        raise from_core(error) from None
    return await _answer(call, answer, effects)


async def detokenize(call: Call) -> int:
    """Text of token ids, special tokens included."""
    state = call.overt
    raw = await call.read()
    checked, effects = validate("detokenize", raw, state.deployment.limits)
    body: dict[str, Any] = checked.__dict__
    state.deployment.named(body["model"])
    try:
        text = await asyncio.to_thread(state.front.detokenize, body["tokens"])
    except _core.RequestError as error:
        raise from_core(error) from None
    return await _answer(call, {"prompt": text}, effects)


def from_core(error: "_core.RequestError") -> ApiError:
    """The core's error as one of this side's."""
    status, message, kind, param, code = error.args
    return ApiError(status, message, param=param, code=code, type=kind)


async def _answer(call: Call, answer: dict[str, Any], effects: list[Effect]) -> int:
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return await call.answer(200, body, effects=header(effects))


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    add_hot_route(app, "/tokenize", tokenize, "tokenize", summary="Token ids of a text")
    add_hot_route(app, "/detokenize", detokenize, "detokenize", summary="Text of token ids")
