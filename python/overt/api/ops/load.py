"""How loaded the server is: GET /load, and the header by which load balancers ask for it with an answer (ORCA)."""

import json
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request

from overt.contract.errors import ApiError

if TYPE_CHECKING:
    from overt.api.state import State

ASKED = b"endpoint-load-metrics-format"
_TOLD = b"endpoint-load-metrics"
_FORMATS = (b"text", b"json")


def mount(app: FastAPI) -> None:
    """Adds the route."""
    app.add_api_route("/load", load, summary="Requests being answered, and what the engine holds")


async def load(request: Request) -> dict[str, Any]:
    """`server_load` counts requests with a body that are being answered, queued ones too."""
    state: State = request.app.state.overt
    stats = json.loads(state.front.stats())
    return {
        "server_load": state.in_flight,
        "requests_running": stats["requests_running"],
        "requests_waiting": stats["requests_waiting"],
        "kv_cache_usage_perc": usage(stats),
    }


def usage(stats: dict[str, Any]) -> float:
    """Part of the KV blocks that live sequences hold, from 0 to 1."""
    total: int = stats["kv_blocks_total"]
    return round(stats["kv_blocks_used"] / total, 4) if total else 0.0


def check_format(value: bytes) -> None:
    """Raises ApiError (400) for a format that there is not."""
    if value.strip().lower() not in _FORMATS:
        name = ASKED.decode()
        raise ApiError(400, f"`{name}` must be TEXT or JSON, and is {value.decode('latin-1')[:40]!r}.", param=name)


def load_header(state: "State", value: bytes) -> tuple[bytes, bytes] | None:
    """The header that tells the load in the format asked for; none for a format that there is not."""
    asked = value.strip().lower()
    if asked not in _FORMATS:
        return None
    stats = json.loads(state.front.stats())
    named = {"kv_cache_usage_perc": usage(stats), "num_requests_waiting": stats["requests_waiting"]}
    if asked == b"json":
        told = "JSON " + json.dumps({"named_metrics": named})
    else:
        told = "TEXT " + ", ".join(f"named_metrics.{name}={number}" for name, number in named.items())
    return _TOLD, told.encode()
