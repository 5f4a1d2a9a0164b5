"""Fields that other servers know and this one does not implement: a request that needs one is told so."""

from typing import Any

from overt.contract.field import CHAT, COMPLETIONS, GENERATE, Field, Kind, Origin, Route

_GRAMMAR = "structured outputs are not available, and text without the constraint would be a silent change"
_MEDIA = "this server takes and gives text only"
_IDS = "token ids are not reported with answers; `/tokenize` gives those of a text"


def _refused(
    name: str,
    routes: tuple[Route, ...],
    kind: Kind,
    meaning: str,
    *noop: Any,
    origin: Origin = "openai",
    reason: str = "",
) -> Field:
    return Field(name, routes, kind, meaning, origin, effect="refused", reason=reason, noop=noop)


def _vllm(
    name: str, kind: Kind, meaning: str, *noop: Any, routes: tuple[Route, ...] = GENERATE, reason: str = ""
) -> Field:
    return _refused(name, routes, kind, meaning, *noop, origin="vllm", reason=reason)


def _sglang(
    name: str, kind: Kind, meaning: str, *noop: Any, routes: tuple[Route, ...] = GENERATE, reason: str = ""
) -> Field:
    return _refused(name, routes, kind, meaning, *noop, origin="sglang", reason=reason)


_OPENAI = (
    _refused("response_format", CHAT, "object", "Form of the answer.", {"type": "text"}, reason=_GRAMMAR),
    _refused("parallel_tool_calls", CHAT, "boolean", "Several calls in one turn.", True),
    _refused("functions", CHAT, "objects", "Older spelling of tools.", [], reason="use `tools`"),
    _refused("function_call", CHAT, "any", "Older spelling of tool_choice.", "none", reason="use `tool_choice`"),
    _refused("reasoning_effort", CHAT, "string", "How long the model thinks."),
    _refused("verbosity", CHAT, "string", "How long answers are.", "medium"),
    _refused("modalities", CHAT, "any", "Kinds of output.", ["text"], reason=_MEDIA),
    _refused("audio", CHAT, "object", "Voice and format of spoken answers.", reason=_MEDIA),
    _refused("prediction", CHAT, "object", "Text that the answer will mostly equal."),
    _refused("web_search_options", CHAT, "object", "Search before answering.", reason="there is no search here"),
    _refused("moderation", CHAT, "object", "Checks of input and output.", reason="there is no moderation here"),
    _refused("store", CHAT, "boolean", "Keeps the answer for later.", False),
    _refused("metadata", CHAT, "object", "Labels of a stored answer.", {}, reason="answers are not stored"),
    _refused("service_tier", CHAT, "string", "Class of service.", "auto", "default"),
    _refused("safety_identifier", CHAT, "string", "Stable name of an end user.", reason="use `user`"),
    _refused("prompt_cache_key", CHAT, "string", "Groups requests that share prefixes.", reason="use `cache_salt`"),
    _refused("prompt_cache_retention", CHAT, "string", "How long prefixes stay cached.", "in_memory"),
    _refused("prompt_cache_options", CHAT, "object", "How prefixes are cached.", {}),
    _refused("suffix", COMPLETIONS, "string", "Text after the gap to fill.", ""),
    _refused("stream_options.include_obfuscation", GENERATE, "boolean", "Padding of chunks.", False),
)

_VLLM = (
    _vllm("stream_options.continuous_usage_stats", "boolean", "Token counts on every chunk.", False),
    _vllm("logprob_token_ids", "integers", "Tokens whose log probabilities are reported."),
    _vllm("structured_outputs", "object", "A grammar for the answer.", reason=_GRAMMAR),
    _vllm(
        "response_format",
        "object",
        "Form of the answer.",
        {"type": "text"},
        routes=COMPLETIONS,
        reason=_GRAMMAR,
    ),
    _vllm("guided_json", "any", "Older spelling of structured_outputs.", reason=_GRAMMAR),
    _vllm("guided_regex", "string", "Older spelling of structured_outputs.", reason=_GRAMMAR),
    _vllm("guided_choice", "any", "Older spelling of structured_outputs.", reason=_GRAMMAR),
    _vllm("guided_grammar", "string", "Older spelling of structured_outputs.", reason=_GRAMMAR),
    _vllm("guided_decoding_backend", "string", "Older choice of a grammar engine.", reason=_GRAMMAR),
    _vllm("guided_whitespace_pattern", "string", "Older choice of whitespace.", reason=_GRAMMAR),
    _vllm("stream_interval", "integer", "Tokens a chunk.", 1),
    _vllm("thinking_token_budget", "integer", "Most tokens of reasoning.", -1),
    _vllm("include_reasoning", "boolean", "Reasoning in the answer.", True, routes=CHAT),
    _vllm("watermarking", "boolean", "Marks the text.", False),
    _vllm("truncate_prompt_tokens", "integer", "Cuts the prompt to this many tokens."),
    _vllm("truncation_side", "string", "Which end of the prompt is cut."),
    _vllm("echo", "boolean", "The last message before the answer.", False, routes=CHAT),
    _vllm("add_special_tokens", "boolean", "The tokenizer's own special tokens.", False, routes=CHAT),
    _vllm("add_special_tokens", "boolean", "The tokenizer's own special tokens.", True, routes=COMPLETIONS),
    _vllm(
        "chat_template",
        "string",
        "A template for this request.",
        routes=CHAT,
        reason="templates in requests are not trusted; the operator gives one with --chat-template",
    ),
    _vllm("media_io_kwargs", "object", "How media are read.", {}, routes=CHAT, reason=_MEDIA),
    _vllm("mm_processor_kwargs", "object", "How media are processed.", {}, routes=CHAT, reason=_MEDIA),
    _vllm("mm_payload", "string", "How media are returned.", "none", routes=CHAT, reason=_MEDIA),
    _vllm("return_mm_kwargs", "boolean", "Media tensors in the answer.", False, routes=CHAT, reason=_MEDIA),
    _vllm("prompt_embeds", "any", "Embeddings instead of a prompt.", routes=COMPLETIONS),
    _vllm("request_id", "string", "Id of the answer.", reason="send the header X-Request-Id"),
    _vllm("session_id", "string", "Which conversation the request belongs to."),
    _vllm("return_token_ids", "boolean", "Token ids with the answer.", False, reason=_IDS),
    _vllm("return_prompt_text", "boolean", "The rendered prompt with the answer.", False, routes=CHAT),
    _vllm("return_token_offsets", "boolean", "Where tokens lie in the text.", False, reason=_IDS),
    _vllm("routed_experts_prompt_start", "integer", "First prompt token whose experts are reported.", 0),
    _vllm("kv_transfer_params", "object", "Moves KV between servers."),
    _vllm("ec_transfer_params", "object", "Moves encoder caches between servers."),
    _vllm("vllm_xargs", "object", "Arguments for server plugins.", {}),
    _vllm("repetition_detection", "object", "Ends answers that repeat themselves."),
)

_SGLANG = (
    _sglang("regex", "string", "A pattern for the answer.", reason=_GRAMMAR),
    _sglang("ebnf", "string", "A grammar for the answer.", reason=_GRAMMAR),
    _sglang("json_schema", "string", "A schema for the answer.", reason=_GRAMMAR),
    _sglang("reasoning", "object", "Whether and how long the model thinks.", routes=CHAT),
    _sglang("thinking", "any", "Whether the model thinks.", routes=CHAT),
    _sglang("task", "string", "What a search model is asked for.", routes=CHAT),
    _sglang("separate_reasoning", "boolean", "Reasoning in a field of its own.", True, routes=CHAT),
    _sglang("stream_reasoning", "boolean", "Reasoning as it is made.", True, routes=CHAT),
    _sglang("input_ids", "integers", "Token ids instead of messages.", routes=CHAT, reason="use /v1/completions"),
    _sglang("lora_path", "any", "Which adapter to apply."),
    _sglang("rid", "any", "Id of the answer.", reason="send the header X-Request-Id"),
    _sglang("extra_key", "string", "Partition of the prefix cache.", "", reason="use `cache_salt`"),
    _sglang("session_params", "object", "Which conversation the request belongs to."),
    _sglang("routed_dp_rank", "integer", "Which replica serves."),
    _sglang("data_parallel_rank", "integer", "Which replica serves."),
    _sglang("disagg_prefill_dp_rank", "integer", "Which replica prefilled."),
    _sglang("bootstrap_host", "any", "Where the prefill server is."),
    _sglang("bootstrap_port", "any", "Where the prefill server is."),
    _sglang("bootstrap_room", "any", "Which prefill to fetch."),
    _sglang("custom_logit_processor", "string", "Code from the client.", reason="code in requests is not run"),
    _sglang("custom_params", "object", "Arguments for such code.", {}, reason="code in requests is not run"),
    _sglang("watermark", "object", "Marks the text."),
    _sglang("return_hidden_states", "any", "Hidden states with the answer.", False),
    _sglang("return_routed_experts", "boolean", "Experts with the answer.", False),
    _sglang("routed_experts_start_len", "integer", "First token whose experts are reported.", 0),
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
    _sglang("custom_labels", "object", "Labels for the server's metrics.", {}, routes=COMPLETIONS),
)

_OVERT = (
    _refused(
        "overt",
        GENERATE,
        "object",
        "This server's own options.",
        {},
        origin="overt",
        reason="what was changed in a request is always told in the response header `overt-effects`",
    ),
)

_TOKENIZE = (
    _vllm("continue_final_message", "boolean", "The last message is left open.", False, routes=("tokenize",)),
    _vllm("chat_template", "string", "A template for this request.", routes=("tokenize",)),
    _vllm("mm_processor_kwargs", "object", "How media are processed.", {}, routes=("tokenize",)),
)

REFUSED = _OPENAI + _VLLM + _SGLANG + _OVERT + _TOKENIZE
