"""GET /metrics, for Prometheus."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from overt.api.ops import peers
from overt.api.state import State

_GAUGES = {
    "requests_running": "Sequences that hold a slot.",
    "requests_waiting": "Sequences that wait for one.",
    "kv_blocks_used": "KV blocks held by live sequences.",
    "kv_blocks_cached": "KV blocks kept for their prefix, free to take.",
    "kv_blocks_total": "KV blocks in all.",
    "encode_cache_bytes": "Memory of texts whose tokens are known.",
}
_COUNTERS = {
    "prompt_tokens": ("prompt_tokens", "Tokens of admitted prompts."),
    "generation_tokens": ("generation_tokens", "Tokens made."),
    "prefix_query_tokens": ("prefix_cache_queries", "Prompt tokens looked up in the prefix cache."),
    "prefix_hit_tokens": ("prefix_cache_hits", "Prompt tokens found in the prefix cache."),
    "preemptions": ("preemptions", "Sequences that lost their blocks and computed them again."),
    "encode_cache_queries": ("encode_cache_queries", "Pieces of prompts looked up among those whose tokens are known."),
    "encode_cache_hits": ("encode_cache_hits", "Pieces of prompts found there."),
    "step_failures": ("step_failures", "Steps that raised."),
    "requests_aborted": ("requests_aborted", "Requests whose client left."),
}
_HISTOGRAMS = {
    "ttft": ("time_to_first_token_seconds", "From a request's arrival to its first token."),
    "inter_token": ("inter_token_latency_seconds", "From token to token of one choice."),
}


class _Collector:
    """Reads the core's counts when Prometheus asks for them."""

    def __init__(self, state: State) -> None:
        self.state = state

    def collect(self) -> Iterator[Metric]:
        stats: dict[str, Any] = json.loads(self.state.front.stats())
        for name, meaning in _GAUGES.items():
            yield GaugeMetricFamily(f"overt:{name}", meaning, value=stats[name])
        for name, (shown, meaning) in _COUNTERS.items():
            yield CounterMetricFamily(f"overt:{shown}", meaning, value=stats[name])
        buckets = {name: _buckets(stats[name]) for name in _HISTOGRAMS}
        for name, (shown, meaning) in _HISTOGRAMS.items():
            total = stats[name]["sum"]
            yield HistogramMetricFamily(f"overt:{shown}", meaning, buckets=buckets[name], sum_value=total)
        yield _labelled("http_answers", "HTTP answers.", ("route", "status"), self.state.answers)
        meaning = "Fields of requests that were not plainly honoured."
        yield _labelled("field_effects", meaning, ("field", "effect"), self.state.effects)
        if self.state.users.counts:
            yield _labelled("user_requests", "Requests by hashed user.", ("user",), self.state.users.counts)
        for peer in self.state.config.metrics_compat:
            yield from peers.collect(peer, self.state.deployment.served[0], stats, buckets)


def _buckets(histogram: dict[str, Any]) -> list[tuple[str, int]]:
    """Upper bounds, and how many lie below each."""
    bounds = [str(bound) for bound in histogram["bounds"]] + ["+Inf"]
    return list(zip(bounds, accumulate(histogram["counts"]), strict=True))


def _labelled(name: str, meaning: str, labels: Sequence[str], counts: Mapping[tuple[Any, ...], int]) -> Metric:
    family = CounterMetricFamily(f"overt:{name}", meaning, labels=labels)
    for values, number in sorted(counts.items()):
        family.add_metric([str(value) for value in values], number)
    return family


_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


def mount(app: FastAPI, state: State) -> None:
    """Adds the route."""
    registry = CollectorRegistry()
    registry.register(_Collector(state))
    ProcessCollector(registry=registry)
    app.state.registry = registry
    app.add_api_route("/metrics", metrics, summary="Counts for Prometheus", response_class=Response, responses=_TEXT)


async def metrics(request: Request) -> Response:
    """Everything that is counted, in Prometheus' text format."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
