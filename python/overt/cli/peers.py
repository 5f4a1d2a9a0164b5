"""Flags of vLLM and SGLang that launch lines have and that mean nothing, or something else, to this server.

None passes in silence: a flag that changes nothing is said at start, one that asks for what there is not is refused.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

Words = Literal["0", "1", "+"]
"""How many values follow; "0": a switch, which has its `--no-…` too."""


class Inert(NamedTuple):
    """Accepted, and said to change nothing."""

    names: str
    words: Words
    reason: str


class Refused(NamedTuple):
    """Refused, but for the values that say what this server does anyway."""

    names: str
    words: Words
    sentence: str
    fine: tuple[str, ...] = ()


_LOGS = "requests are not logged; /metrics counts them"
_LOAD = "the load is always tracked"
_MEMORY = "KV memory is bounded by --kv-cache-memory-bytes"
_KERNELS = "there is one implementation for each device"
_GRAPHS = "the sizes of CUDA graphs are fixed; --enforce-eager turns them off"
_PREFILL = "prompts are always computed in chunks; --max-num-batched-tokens bounds a step"
_SCHEDULE = "requests run by priority, then by age, each key its fair share"
_MEDIA = "no model here reads images, audio or video"
_WORKERS = "one process holds all connections"
_TOOLS = "tool calls are read wherever --tool-call-parser finds their format"
_METRICS = "/metrics is always there, with all that is counted"
_THREADS = "prompts are tokenized one by one, by a pool of threads"
_STEPS = "a step makes one token of each sequence"

INERT: tuple[Inert, ...] = (
    Inert("--disable-log-requests --enable-log-requests --log-requests", "0", _LOGS),
    Inert("--disable-log-stats --disable-uvicorn-access-log", "0", _LOGS),
    Inert("--enable-log-outputs --enable-log-deltas --log-error-stack", "0", _LOGS),
    Inert("--show-time-cost", "0", _LOGS),
    Inert("--max-log-len --log-level --log-level-http", "1", _LOGS),
    Inert("--uvicorn-log-level --log-requests-level --log-requests-format", "1", _LOGS),
    Inert("--disable-access-log-for-endpoints --decode-log-interval --log-requests-target", "1", _LOGS),
    Inert("--enable-server-load-tracking", "0", _LOAD),
    Inert("--enable-metrics --enable-metrics-for-all-schedulers --kv-cache-metrics", "0", _METRICS),
    Inert("--gpu-memory-utilization --mem-fraction-static --swap-space --max-total-tokens", "1", _MEMORY),
    Inert("--block-size --page-size", "1", "a KV block is 16 tokens"),
    Inert("--attention-backend --sampling-backend", "1", _KERNELS),
    Inert("--prefill-attention-backend --decode-attention-backend", "1", _KERNELS),
    Inert("--moe-backend --mm-attention-backend --fp8-gemm-backend", "1", _KERNELS),
    Inert("--disable-custom-all-reduce --enable-torch-compile --enable-flashinfer-autotune", "0", _KERNELS),
    Inert("--compilation-config -cc --optimization-level -O --torch-compile-max-bs", "1", _KERNELS),
    Inert("--cudagraph-capture-sizes --cuda-graph-bs", "+", _GRAPHS),
    Inert("--max-cudagraph-capture-size --cuda-graph-max-bs --max-seq-len-to-capture", "1", _GRAPHS),
    Inert("--enable-chunked-prefill --enable-mixed-chunk --disable-chunked-prefix-cache", "0", _PREFILL),
    Inert("--chunked-prefill-size --max-prefill-tokens", "1", _PREFILL),
    Inert("--max-num-partial-prefills --long-prefill-token-threshold", "1", _PREFILL),
    Inert("--scheduling-policy --schedule-policy --schedule-conservativeness", "1", _SCHEDULE),
    Inert("--num-continuous-decode-steps --num-scheduler-steps", "1", _STEPS),
    Inert("--stream-interval", "1", "streams tell every token as it is made"),
    Inert("--enable-priority-scheduling", "0", _SCHEDULE),
    Inert("--limit-mm-per-prompt --limit-mm-data-per-request --mm-processor-kwargs --media-io-kwargs", "1", _MEDIA),
    Inert("--allowed-local-media-path --mm-processor-cache-gb --media-url-max-file-size-mb", "1", _MEDIA),
    Inert("--allowed-media-domains", "+", _MEDIA),
    Inert("--language-model-only --disable-mm-preprocessor-cache", "0", _MEDIA),
    Inert("--api-server-count --detokenizer-worker-num", "1", _WORKERS),
    Inert("--disable-frontend-multiprocessing", "0", _WORKERS),
    Inert("--tokenizer-worker-num --renderer-num-workers", "1", _THREADS),
    Inert("--disable-tokenizer-batch-decode --enable-tokenizer-batch-encode", "0", _THREADS),
    Inert("--skip-server-warmup", "0", "the engine warms up before the server is ready"),
    Inert("--enable-auto-tool-choice", "0", _TOOLS),
    Inert("--enable-scale-out", "0", "no route needs a flag to be open"),
    Inert("--trust-remote-code", "0", "code that comes with a checkpoint is never run"),
    Inert("--structured-outputs-config --guided-decoding-backend", "1", "there is no choice of backends"),
    Inert("--h11-max-incomplete-event-size --h11-max-header-count", "1", "the parser of HTTP has bounds of its own"),
    Inert("--sse-keep-alive-interval", "1", "a stream that is idle for 15 s gets a comment"),
    Inert("--prefix-caching-hash-algo --radix-eviction-policy", "1", "the prefix cache has one way to work"),
    Inert("--show-hidden-metrics-for-version", "1", "no metric is hidden"),
    Inert("--exclude-tools-when-tool-choice-none", "0", "tools are never shown beside tool_choice \"none\""),
    Inert("--fingerprint-mode --fingerprint-value", "1", "system_fingerprint follows all that can change an answer"),
)  # fmt: skip

_ADAPTERS = "LoRA adapters are not served here; serve the merged model"
_QUANT = (
    "weights and KV are not quantized at load here; serve a checkpoint in the format you want, such as a .gguf file"
)
_DRAFTS = "there is no speculative decoding here; leave it out"
_ONE = "a model runs on one device here; run a server for each, behind a load balancer"
_SPLIT = "prefill and decode are not split over servers here"
_TLS = "this server speaks plain HTTP; let a proxy in front of it end TLS"
_GENERATES = "this server serves models that generate text, and nothing else"
_OFFLOAD = "nothing is offloaded here; lower --max-model-len or --max-num-seqs"
_PLUGINS = "this server loads no code of others"
_FORMATS = "formats of others come from packages, by the entry point `overt.parsers`"
_TEMPLATES = "chat templates come from the checkpoint or from --chat-template alone"
_RANKS = "one server is one rank"

REFUSED: tuple[Refused, ...] = (
    Refused("--disable-fastapi-docs", "0", "/docs is always there; --api-key guards it like every other route"),
    Refused("--max-num-queued-tokens", "1", "the queue is bounded in sequences: --max-num-queued-reqs"),
    Refused("--enable-per-request-metrics", "0", "answers carry their usage and no other measurements"),
    Refused("--tool-strict-level", "1", "a tool asks for it by itself, with `strict: true`"),
    Refused("--enable-lora", "0", _ADAPTERS),
    Refused("--lora-modules --lora-paths", "+", _ADAPTERS),
    Refused("--max-loras --max-lora-rank --max-cpu-loras --max-loras-per-batch --max-loaded-loras", "1", _ADAPTERS),
    Refused("--quantization -q --quantization-param-path --torchao-config", "1", _QUANT, ("none", "gguf")),
    Refused("--kv-cache-dtype", "1", _QUANT, ("auto",)),
    Refused("--speculative-config --speculative-model --num-speculative-tokens --speculative-num-steps", "1", _DRAFTS),
    Refused("--speculative-algorithm --speculative-draft-model-path --speculative-eagle-topk", "1", _DRAFTS),
    Refused("--speculative-num-draft-tokens --speculative-token-map", "1", _DRAFTS),
    Refused("--tensor-parallel-size --tp-size --tp -tp", "1", _ONE, ("1",)),
    Refused("--pipeline-parallel-size --pp-size --pp -pp", "1", _ONE, ("1",)),
    Refused("--data-parallel-size --dp-size --dp -dp", "1", _ONE, ("1",)),
    Refused("--expert-parallel-size --ep-size --ep", "1", _ONE, ("1",)),
    Refused("--decode-context-parallel-size -dcp --nnodes", "1", _ONE, ("1",)),
    Refused("--enable-expert-parallel --enable-dp-attention --headless", "0", _ONE),
    Refused("--node-rank --data-parallel-rank --base-gpu-id", "1", _RANKS, ("0",)),
    Refused("--dist-init-addr --data-parallel-address --distributed-executor-backend", "1", _RANKS),
    Refused("--disaggregation-mode", "1", _SPLIT, ("null",)),
    Refused("--kv-transfer-config --disaggregation-transfer-backend --kv-events-config", "1", _SPLIT),
    Refused("--ssl-keyfile --ssl-certfile --ssl-ca-certs --ssl-cert-reqs --ssl-keyfile-password", "1", _TLS),
    Refused("--enable-ssl-refresh --enable-http2", "0", _TLS),
    Refused("--uds --grpc-port", "1", "this server listens on --host and --port alone"),
    Refused("--config", "1", "flags are given on the command line alone"),
    Refused("--admin-api-key", "1", "there are no routes for administration; --api-key guards all there are"),
    Refused("--task --runner", "1", _GENERATES, ("auto", "generate")),
    Refused("--convert", "1", _GENERATES, ("auto", "none")),
    Refused("--is-embedding --enable-prompt-embeds", "0", _GENERATES),
    Refused("--cpu-offload-gb --kv-offloading-size", "1", _OFFLOAD, ("0", "0.0")),
    Refused("--enable-hierarchical-cache --enable-lmcache --enable-sleep-mode --enable-memory-saver", "0", _OFFLOAD),
    Refused("--middleware", "+", _PLUGINS),
    Refused("--tool-parser-plugin --reasoning-parser-plugin", "+", _FORMATS),
    Refused("--logits-processors --tool-server", "+", _PLUGINS),
    Refused("--worker-cls --worker-extension-cls --model-impl", "1", _PLUGINS, ("auto", "transformers")),
    Refused("--enable-custom-logit-processor", "0", _PLUGINS),
    Refused("--trust-request-chat-template --trust-request-mm-kwargs", "0", _TEMPLATES),
    Refused("--hf-chat-template-name --completion-template", "1", _TEMPLATES),
    Refused("--chat-template-content-format", "1", _TEMPLATES, ("auto",)),
    Refused("--response-role", "1", "answers are the assistant's", ("assistant",)),
    Refused("--revision --tokenizer-revision --code-revision", "1", "name the folder of that revision as the model"),
    Refused("--download-dir", "1", "the Hub's files lie where HF_HOME says"),
    Refused("--load-format", "1", "safetensors and GGUF are read", ("auto", "safetensors", "gguf", "hf")),
    Refused("--tokenizer-mode", "1", "the tokenizer is the checkpoint's own tokenizer.json", ("auto", "hf", "fast")),
    Refused("--skip-tokenizer-init", "0", "text cannot be served without a tokenizer"),
    Refused("--hf-overrides --json-model-override-args", "1", "edit the checkpoint's config.json instead"),
    Refused("--rope-scaling", "1", "edit the checkpoint's config.json instead"),
    Refused("--device", "1", "a GPU is used where there is one; CUDA_VISIBLE_DEVICES hides it", ("auto",)),
    Refused("--allow-auto-truncate", "0", "requests ask for it: truncate_prompt_tokens"),
    Refused("--stream-response-default-include-usage", "0", "--enable-force-include-usage is what there is"),
    Refused("--preferred-sampling-params", "1", "--override-generation-config gives defaults"),
    Refused("--enable-deterministic-inference --enable-watermark", "0", "there is no such mode; leave it out"),
    Refused("--otlp-traces-endpoint", "1", "no traces are written; leave it out"),
    Refused("--enable-trace", "0", "no traces are written; leave it out"),
    Refused("--enable-response-store --enable-tokenizer-info-endpoint", "0", "there is no such route; leave it out"),
    Refused("--tokens-only", "0", "there is no such route; leave it out"),
)  # fmt: skip


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds all of them to a parser, without help. They leave their sentences in the namespace's `notes`."""
    parser.set_defaults(notes=[])
    rows: tuple[Inert | Refused, ...] = (*INERT, *REFUSED)
    for row in rows:
        for name in row.names.split():
            _add(parser, name, row, takes=row.words)
            if row.words == "0":
                _add(parser, f"--no-{name.removeprefix('--')}", row, takes="0", off=True)


def _add(parser: argparse.ArgumentParser, name: str, row: Inert | Refused, *, takes: Words, off: bool = False) -> None:
    nargs: dict[Words, Any] = {"0": 0, "1": None, "+": "+"}
    parser.add_argument(name, action=_Said, nargs=nargs[takes], dest="notes", help=argparse.SUPPRESS, const=(row, off))


class _Said(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        row: Inert | Refused
        row, off = self.const
        if isinstance(row, Inert):
            namespace.notes = [*namespace.notes, f"{option_string} changes nothing here: {row.reason}"]
        elif not off and not all(value.lower() in row.fine for value in _each(values)):
            given = f" {values}" if isinstance(values, str) else ""
            parser.error(f"{option_string}{given}: {row.sentence}")


def _each(values: str | Sequence[Any] | None) -> Iterator[str]:
    """Its values; a switch has itself, which is nothing this server does."""
    yield from [values] if isinstance(values, str) else [str(value) for value in values or ()] or [""]
