"""What the answer holds, and how it is sent."""

from overt.contract.field import CHAT, COMPLETIONS, GENERATE, Field

ANSWER = (
    Field("stream", GENERATE, "boolean", "Server-sent events instead of one body.", default=False),
    Field("stream_options", GENERATE, "object", "Options of a stream; only with `stream: true`."),
    Field(
        "stream_options.include_usage",
        GENERATE,
        "boolean",
        "A last chunk with the token counts of the whole request.",
        default=False,
    ),
    # --- text ---
    Field("echo", COMPLETIONS, "boolean", "The prompt stands before the answer.", default=False),
    Field(
        "include_stop_str_in_output",
        GENERATE,
        "boolean",
        "The text that ended a choice stays at its end.",
        origin="vllm",
        default=False,
    ),
    Field(
        "no_stop_trim",
        GENERATE,
        "boolean",
        "Another name of `include_stop_str_in_output`.",
        origin="sglang",
        default=False,
    ),
    Field(
        "skip_special_tokens",
        GENERATE,
        "boolean",
        "Special tokens are no part of the text.",
        origin="vllm",
        default=True,
    ),
    Field(
        "spaces_between_special_tokens",
        GENERATE,
        "boolean",
        "Special tokens are separated as the tokenizer has it.",
        origin="vllm",
        default=True,
    ),
    # --- log probabilities ---
    Field("logprobs", CHAT, "boolean", "The log probability of each token of the answer.", default=False),
    Field(
        "top_logprobs",
        CHAT,
        "integer",
        "As many of the likeliest tokens beside each; only with `logprobs: true`.",
        low=0,
        limit="max_logprobs",
        default=0,
    ),
    Field(
        "logprobs",
        COMPLETIONS,
        "integer",
        "The log probability of each token of the answer, and as many of the likeliest tokens beside it.",
        low=0,
        limit="max_logprobs",
    ),
    Field(
        "prompt_logprobs",
        GENERATE,
        "integer",
        "The log probability of each token of the prompt, and as many of the likeliest beside it; not on a stream.",
        origin="vllm",
        low=0,
        limit="max_logprobs",
    ),
    Field(
        "return_tokens_as_token_ids",
        GENERATE,
        "boolean",
        "Tokens of log probabilities are written as `token_id:` and their id.",
        origin="vllm",
        default=False,
    ),
)
