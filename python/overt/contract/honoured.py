"""Fields that do what their documentation says."""

from overt.contract.field import CHAT, COMPLETIONS, GENERATE, Field, Route

INT64 = 2**63
INT32 = 2**31
TEMPLATE: tuple[Route, ...] = ("chat", "tokenize")
ALL: tuple[Route, ...] = ("chat", "completions", "tokenize", "detokenize")

HONOURED = (
    Field("model", ALL, "string", "Served name of the model; absent: the first served name."),
    Field("messages", CHAT, "messages", "The conversation so far.", low=1, required=True),
    Field("messages", ("tokenize",), "messages", "The conversation to render and tokenise.", low=1),
    Field("prompt", COMPLETIONS, "prompt", "Text or token ids to continue, one or many.", required=True),
    Field("prompt", ("tokenize",), "string", "Text to tokenise.", origin="vllm"),
    Field("tokens", ("detokenize",), "integers", "Token ids.", origin="vllm", required=True),
    # --- length ---
    Field(
        "max_completion_tokens",
        CHAT,
        "integer",
        "Most tokens of a choice. Beside `max_tokens` it wins.",
        low=1,
    ),
    Field("max_tokens", CHAT, "integer", "Most tokens of a choice; absent: the rest of the context.", low=1),
    Field("max_tokens", COMPLETIONS, "integer", "Most tokens of a choice.", low=1, default=16),
    # --- sampling ---
    Field("temperature", GENERATE, "number", "Divides the logits; 0 takes the likeliest token.", low=0, high=2),
    Field("top_p", GENERATE, "number", "Keeps the likeliest tokens that together reach it.", above=0, high=1),
    Field("top_k", GENERATE, "integer", "Keeps this many likeliest tokens; 0 or -1: all.", origin="vllm", low=-1),
    Field(
        "min_p",
        GENERATE,
        "number",
        "Drops tokens less likely than this share of the likeliest.",
        origin="vllm",
        low=0,
        high=1,
    ),
    Field(
        "seed",
        GENERATE,
        "integer",
        "Fixes the sample stream, whatever else runs in the batch.",
        low=-INT64,
        high=INT64 - 1,
    ),
    Field("n", GENERATE, "integer", "Choices for each prompt.", low=1, high=128, default=1),
    # --- stopping ---
    Field("stop", GENERATE, "strings", "Text that ends a choice; not part of the answer.", high=32, default=[]),
    Field(
        "stop_token_ids",
        GENERATE,
        "integers",
        "Tokens that end a choice beside the model's own.",
        origin="vllm",
        high=128,
        default=[],
    ),
    Field(
        "ignore_eos",
        GENERATE,
        "boolean",
        "The model's end-of-turn tokens do not end a choice.",
        origin="vllm",
        default=False,
    ),
    Field(
        "include_stop_str_in_output",
        GENERATE,
        "boolean",
        "The stop string stays at the end of the text.",
        origin="vllm",
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
    # --- answer ---
    Field("stream", GENERATE, "boolean", "Server-sent events instead of one body.", default=False),
    Field("stream_options", GENERATE, "object", "Options of a stream; only with `stream: true`."),
    Field(
        "stream_options.include_usage",
        GENERATE,
        "boolean",
        "A last chunk with the token counts of the whole request.",
        default=False,
    ),
    # --- scheduling ---
    Field("user", GENERATE, "string", "Whom the request is for: users share the server fairly."),
    Field(
        "priority",
        GENERATE,
        "integer",
        "Lower runs sooner, down to the operator's --max-client-priority.",
        origin="vllm",
        low=-INT32,
        high=INT32 - 1,
        default=0,
    ),
    Field(
        "cache_salt",
        GENERATE,
        "string",
        "Requests share cached prefixes only with requests of the same salt.",
        origin="vllm",
        low=1,
    ),
    # --- prompt ---
    Field("tools", TEMPLATE, "objects", "Functions that the model may call."),
    Field("tool_choice", TEMPLATE, "tool_choice", "`none` hides the tools; `auto` lets the model choose."),
    Field(
        "chat_template_kwargs",
        TEMPLATE,
        "object",
        "Variables for the chat template.",
        origin="vllm",
        default={},
    ),
    Field("documents", TEMPLATE, "objects", "Documents for templates that know them.", origin="vllm"),
    Field(
        "add_generation_prompt",
        TEMPLATE,
        "boolean",
        "The template opens the assistant's turn.",
        origin="vllm",
        default=True,
    ),
    Field(
        "continue_final_message",
        CHAT,
        "boolean",
        "The last message is left open and continued; `add_generation_prompt` is then off.",
        origin="vllm",
        default=False,
    ),
    Field(
        "add_special_tokens",
        ("tokenize",),
        "boolean",
        "The tokenizer adds its own special tokens; absent: to a prompt it does, to messages it does not.",
        origin="vllm",
    ),
    Field(
        "return_token_strs",
        ("tokenize",),
        "boolean",
        "Each token's spelling in the vocabulary as well.",
        origin="vllm",
        default=False,
    ),
    # --- headers ---
    Field(
        "x-request-id",
        ALL,
        "string",
        "Comes back in the response; absent: one is made.",
        origin="vllm",
        location="header",
    ),
)
