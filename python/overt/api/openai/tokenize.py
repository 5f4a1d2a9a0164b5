"""POST /tokenize and /detokenize, as vLLM has them."""

from typing import Any

from fastapi import FastAPI

from overt.api.hot import Call, add_hot_route
from overt.api.openai.plain import Work, answer
from overt.contract.asked import Asked
from overt.contract.calls import check_choice
from overt.contract.conversation import (
    check_last,
    check_messages,
    check_template_fields,
    template_variables,
    turn,
)
from overt.contract.effects import Effect, Late
from overt.contract.errors import ApiError
from overt.contract.template import has_tools

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


async def tokenize(call: Call) -> int:
    """Token ids of a prompt or of rendered messages."""
    return await answer(call, "tokenize", _tokenizing)


async def detokenize(call: Call) -> int:
    """Text of token ids, special tokens included."""
    return await answer(call, "detokenize", _detokenizing)


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
        params.continue_final_message, params.add_generation_prompt = turn(body)
        params.template_variables = template_variables(body, deployment, template, effects)
        if not params.continue_final_message:
            opened = params.add_generation_prompt
            params.assistant_to_user = check_last(body["messages"], asked.profile, opened, effects)
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

    def work() -> tuple[dict[str, Any], list[Late]]:
        ids, adapted = state.front.tokenize(protocol, raw, params)
        answer = {
            "count": len(ids),
            "max_model_len": state.max_model_len,
            "tokens": ids,
            "token_strs": state.front.token_strings(ids) if body["return_token_strs"] else None,
        }
        return answer, adapted

    return work


def _detokenizing(call: Call, _: bytes, body: dict[str, Any], __: Asked, ___: list[Effect]) -> Work:
    front = call.overt.front
    return lambda: ({"prompt": front.detokenize(body["tokens"])}, [])


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    add_hot_route(app, "/tokenize", tokenize, "tokenize", summary="Token ids of a text")
    add_hot_route(app, "/detokenize", detokenize, "detokenize", summary="Text of token ids")
