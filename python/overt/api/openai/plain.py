"""The way of routes that answer without the model: checks headers and body, works off the loop, tells of the fields."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from overt import _core
from overt.api.generate import count_effects
from overt.api.hot import Call
from overt.contract.asked import Asked, profile_asked, read_headers
from overt.contract.effects import Effect, Late, header, late, refuse_strict
from overt.contract.errors import ApiError, from_core
from overt.contract.field import Route
from overt.contract.models import validate

Work = Callable[[], tuple[dict[str, Any], list[Late]]]
"""The answer, and what the core changed for it."""
Reader = Callable[[Call, bytes, dict[str, Any], Asked, list[Effect]], Work]


async def answer(call: Call, route: Route, reader: Reader) -> int:
    """Answers one request with what `reader` makes of it. Returns the status; raises ApiError."""
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
        try:
            told, adapted = await asyncio.to_thread(_written, work)
        except _core.RequestError as error:
            raise from_core(error) from None
        effects += late(adapted)
        if asked.strict or (body["overt"] is not None and body["overt"].strict):
            refuse_strict(effects)
    except ApiError as error:
        error.shape = shape
        raise
    count_effects(state, effects)
    return await call.answer(200, told, effects=header(effects))


def _written(work: Work) -> tuple[bytes, list[Late]]:
    answer, adapted = work()
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8"), adapted
