"""GET /v1/models and /v1/models/{id}."""

from typing import Any

from fastapi import FastAPI, Request

from overt.api.openapi import errors
from overt.api.state import State
from overt.contract.capabilities import supported_parameters


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    app.add_api_route("/v1/models", list_models, summary="The served models")
    state: State = app.state.overt
    missing = errors(404, shape=state.error_shape)
    app.add_api_route("/v1/models/{model:path}", retrieve_model, summary="One served model", responses=missing)


async def list_models(request: Request) -> dict[str, Any]:
    """Every name that the `model` field may have."""
    state: State = request.app.state.overt
    return {"object": "list", "data": [_card(state, name) for name in state.deployment.served]}


async def retrieve_model(model: str, request: Request) -> dict[str, Any]:
    """One of them; 404 for another name."""
    state: State = request.app.state.overt
    return _card(state, state.deployment.named(model))


def _card(state: State, name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": state.created,
        "owned_by": "overt",
        "root": state.model["name"],
        "parent": None,
        "max_model_len": state.max_model_len,
        "context_length": state.max_model_len,
        "input_modalities": ["text"],
        "output_modalities": ["text"],
        "supported_parameters": supported_parameters(state.deployment),
    }
