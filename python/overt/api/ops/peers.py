"""What is counted under the names that vLLM's and SGLang's dashboards look for (`--metrics-compat`)."""

from collections.abc import Iterator
from typing import Any

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from overt.api.ops.load import usage

_HISTOGRAMS = {"ttft": "time_to_first_token_seconds", "inter_token": "inter_token_latency_seconds"}
_BLOCK = 16
"""Tokens of a KV block."""


def _vllm_gauges(stats: dict[str, Any]) -> dict[str, float]:
    return {
        "num_requests_running": stats["requests_running"],
        "num_requests_waiting": stats["requests_waiting"],
        "kv_cache_usage_perc": usage(stats),
    }


def _vllm_counters(stats: dict[str, Any]) -> dict[str, float]:
    return {
        "prompt_tokens": stats["prompt_tokens"],
        "generation_tokens": stats["generation_tokens"],
        "prompt_tokens_cached": stats["prefix_hit_tokens"],
        "num_preemptions": stats["preemptions"],
        "prefix_cache_queries": stats["prefix_query_tokens"],
        "prefix_cache_hits": stats["prefix_hit_tokens"],
    }


def _sglang_gauges(stats: dict[str, Any]) -> dict[str, float]:
    queried = stats["prefix_query_tokens"]
    return {
        "num_running_reqs": stats["requests_running"],
        "num_queue_reqs": stats["requests_waiting"],
        "token_usage": usage(stats),
        "num_used_tokens": stats["kv_blocks_used"] * _BLOCK,
        "max_total_num_tokens": stats["kv_blocks_total"] * _BLOCK,
        "cache_hit_rate": stats["prefix_hit_tokens"] / queried if queried else 0.0,
    }


def _sglang_counters(stats: dict[str, Any]) -> dict[str, float]:
    return {
        "prompt_tokens": stats["prompt_tokens"],
        "generation_tokens": stats["generation_tokens"],
        "cached_tokens": stats["prefix_hit_tokens"],
        "num_aborted_requests": stats["requests_aborted"],
    }


_PEERS = {
    "vllm": (_vllm_gauges, _vllm_counters, {"engine": "0"}),
    "sglang": (_sglang_gauges, _sglang_counters, {"engine_type": "unified"}),
}


def collect(
    peer: str, model: str, stats: dict[str, Any], buckets: dict[str, list[tuple[str, int]]]
) -> Iterator[Metric]:
    """One peer's metrics. `buckets`: cumulative counts of the histograms, by the core's names for them."""
    gauges, counters, others = _PEERS[peer]
    labels = {"model_name": model} | others
    names, values = list(labels), list(labels.values())
    for name, value in gauges(stats).items():
        gauge = GaugeMetricFamily(f"{peer}:{name}", "See the metric of overt.", labels=names)
        gauge.add_metric(values, value)
        yield gauge
    for name, value in counters(stats).items():
        counter = CounterMetricFamily(f"{peer}:{name}", "See the metric of overt.", labels=names)
        counter.add_metric(values, value)
        yield counter
    for name, shown in _HISTOGRAMS.items():
        histogram = HistogramMetricFamily(f"{peer}:{shown}", "See the metric of overt.", labels=names)
        histogram.add_metric(values, buckets=buckets[name], sum_value=stats[name]["sum"])
        yield histogram
