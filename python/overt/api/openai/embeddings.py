"""POST /v1/embeddings: says why there are none."""

from typing import Any

from fastapi import FastAPI, Request

from overt.api.openapi import errors
from overt.api.state import State
from overt.contract.asked import profile_asked
from overt.contract.errors import ApiError


def mount(app: FastAPI) -> None:
    """Adds the route."""
    state: State = app.state.overt
    answers = errors(400, 404, shape=state.error_shape)
    app.add_api_route(
        "/v1/embeddings", refuse, methods=["POST"], summary="Why there are no embeddings here", responses=answers
    )


async def refuse(request: Request) -> dict[str, Any]:
    """A model that generates text has hidden states, and they are no embeddings: it was not trained for that."""
    state: State = request.app.state.overt
    profile = profile_asked(request.scope["headers"], state.deployment)
    if profile.embeddings == "absent":
        error = ApiError(404, "There is nothing at `/v1/embeddings`: the model generates text.", code="not_found")
    else:
        served = state.deployment.served[0]
        error = ApiError(
            400,
            f"`{served}` generates text: its hidden states are no embeddings, and pooling them would answer with "
            "numbers of little use. Serve a model that was trained for embeddings, and ask that.",
            param="model",
            code="unsupported_model",
        )
    error.shape = profile.error_shape
    raise error
