"""Fields that other servers know and this one does not implement: a request that needs one is told so."""

from typing import Any

from overt.contract.field import CHAT, COMPLETIONS, GENERATE, Field, Kind, Origin, Route

_MEDIA = "this server takes and gives text only"
_IDS = "use `return_token_ids`"
_REASONING = "use `reasoning_effort`, `enable_thinking` and `thinking_token_budget`"
_ADAPTERS = "adapters come later"
_SPLIT = "prefill and decode are not separated here"
_EXPERTS = "experts are not reported"
_CODE = "code in requests is not run"
_TRUST = "templates in requests are not trusted; the operator gives one with --chat-template"
_LATER = "it comes later"


def _refused(
    name: str,
    routes: tuple[Route, ...],
    kind: Kind,
    meaning: str,
    *noop: Any,
    origin: Origin = "openai",
    reason: str = _LATER,
    alias: str = "",
) -> Field:
    return Field(name, routes, kind, meaning, origin, effect="refused", reason=reason, noop=noop, alias=alias)


def _vllm(
    name: str,
    kind: Kind,
    meaning: str,
    *noop: Any,
    routes: tuple[Route, ...] = GENERATE,
    reason: str = _LATER,
    alias: str = "",
) -> Field:
    return _refused(name, routes, kind, meaning, *noop, origin="vllm", reason=reason, alias=alias)


def _sglang(
    name: str,
    kind: Kind,
    meaning: str,
    *noop: Any,
    routes: tuple[Route, ...] = GENERATE,
    reason: str = _LATER,
    alias: str = "",
) -> Field:
    return _refused(name, routes, kind, meaning, *noop, origin="sglang", reason=reason, alias=alias)


_OPENAI = (
    _refused("verbosity", CHAT, "string", "How long answers are.", "medium"),
    _refused("modalities", CHAT, "any", "Kinds of output.", ["text"], reason=_MEDIA),
    _refused("audio", CHAT, "object", "Voice and format of spoken answers.", reason=_MEDIA),
    _refused("web_search_options", CHAT, "object", "Search before answering.", reason="there is no search here"),
    _refused("moderation", CHAT, "object", "Checks of input and output.", reason="there is no moderation here"),
)

_VLLM = (
    _vllm("logprob_token_ids", "integers", "Tokens whose log probabilities are reported."),
    _vllm("stream_interval", "integer", "Tokens a chunk.", 1),
    _vllm("watermarking", "boolean", "Marks the text.", False),
    _vllm("echo", "boolean", "The last message before the answer.", False, routes=CHAT),
    _vllm(
        "chat_template",
        "string",
        "A template for this request.",
        routes=CHAT,
        reason=_TRUST,
    ),
    _vllm("media_io_kwargs", "object", "How media are read.", {}, routes=CHAT, reason=_MEDIA),
    _vllm("mm_processor_kwargs", "object", "How media are processed.", {}, routes=CHAT, reason=_MEDIA),
    _vllm("mm_payload", "string", "How media are returned.", "none", routes=CHAT, reason=_MEDIA),
    _vllm("return_mm_kwargs", "boolean", "Media tensors in the answer.", False, routes=CHAT, reason=_MEDIA),
    _vllm("prompt_embeds", "any", "Embeddings instead of a prompt.", routes=COMPLETIONS),
    _vllm(
        "routed_experts_prompt_start", "integer", "First prompt token whose experts are reported.", 0, reason=_EXPERTS
    ),
    _vllm("kv_transfer_params", "object", "Moves KV between servers.", reason=_SPLIT),
    _vllm("ec_transfer_params", "object", "Moves encoder caches between servers.", reason=_SPLIT),
    _vllm("vllm_xargs", "object", "Arguments for server plugins.", {}),
    _vllm("repetition_detection", "object", "Ends answers that repeat themselves."),
)

_SGLANG = (
    _sglang("reasoning", "object", "Whether and how long the model thinks.", routes=CHAT, reason=_REASONING),
    _sglang("thinking", "any", "Whether the model thinks.", routes=CHAT, reason=_REASONING),
    _sglang("task", "string", "What a search model is asked for.", routes=CHAT),
    _sglang("input_ids", "integers", "Token ids instead of messages.", routes=CHAT, reason="use /v1/completions"),
    _sglang("lora_path", "any", "Which adapter to apply.", reason=_ADAPTERS),
    _sglang("disagg_prefill_dp_rank", "integer", "Which replica prefilled.", reason=_SPLIT),
    _sglang("bootstrap_host", "any", "Where the prefill server is.", reason=_SPLIT),
    _sglang("bootstrap_port", "any", "Where the prefill server is.", reason=_SPLIT),
    _sglang("bootstrap_room", "any", "Which prefill to fetch.", reason=_SPLIT),
    _sglang("custom_logit_processor", "string", "Code from the client.", reason=_CODE),
    _sglang("custom_params", "object", "Arguments for such code.", {}, reason=_CODE),
    _sglang("watermark", "object", "Marks the text."),
    _sglang("return_hidden_states", "any", "Hidden states with the answer.", False),
    _sglang("return_routed_experts", "boolean", "Experts with the answer.", False, reason=_EXPERTS),
    _sglang("routed_experts_start_len", "integer", "First token whose experts are reported.", 0, reason=_EXPERTS),
    _sglang("return_cached_tokens_details", "boolean", "Where cached tokens came from.", False),
    _sglang("return_spec_tokens_details", "boolean", "How drafts fared.", False),
    _sglang("return_prompt_token_ids", "boolean", "The prompt's ids with the answer.", False, reason=_IDS),
    _sglang("return_meta_info", "boolean", "The engine's own record with the answer.", False),
    _sglang("return_input_ids_in_sglext", "boolean", "The prompt's ids with the answer.", False, reason=_IDS),
    _sglang("return_output_ids_in_sglext", "boolean", "Token ids with the answer.", False, reason=_IDS),
    _sglang("return_sampling_mask", "boolean", "Which tokens could be chosen.", False),
    _sglang("sampling_logprobs_mode", "string", "Which log probabilities are reported."),
    _sglang("return_flat_raw_output_top_logprobs", "any", "Log probabilities in a flat form.", False),
    _sglang("return_flat_raw_output_top_logprobs_b64", "any", "The same in base64.", False),
    _sglang("images_config", "object", "How images are read.", {}, routes=CHAT, reason=_MEDIA),
    _sglang("video_config", "object", "How videos are read.", {}, routes=CHAT, reason=_MEDIA),
    _sglang("max_dynamic_patch", "integer", "How images are cut.", routes=CHAT, reason=_MEDIA),
    _sglang("min_dynamic_patch", "integer", "How images are cut.", routes=CHAT, reason=_MEDIA),
    _sglang("use_audio_in_video", "boolean", "Sound of videos.", False, routes=CHAT, reason=_MEDIA),
)

_TOKENIZE = (
    _vllm("media_io_kwargs", "object", "How media are read.", {}, routes=("tokenize",), reason=_MEDIA),
    _vllm("chat_template", "string", "A template for this request.", routes=("tokenize",), reason=_TRUST),
    _vllm("mm_processor_kwargs", "object", "How media are processed.", {}, routes=("tokenize",), reason=_MEDIA),
)

REFUSED = _OPENAI + _VLLM + _SGLANG + _TOKENIZE
