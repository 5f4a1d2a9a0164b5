"""What is asked, of which model, for whom."""

from overt.contract.field import ALL, CHAT, COMPLETIONS, GENERATE, INT32, TEMPLATE, Field

REQUEST = (
    Field("model", ALL, "string", "Served name of the model; absent: the first served name."),
    Field("messages", CHAT, "messages", "The conversation so far.", low=1, required=True),
    Field("messages", ("tokenize",), "messages", "The conversation to render and tokenise.", low=1),
    Field(
        "prompt",
        COMPLETIONS,
        "prompt",
        "Text or token ids to continue, one or many.",
        limit="max_prompts",
        required=True,
    ),
    Field("prompt", ("tokenize",), "string", "Text to tokenise.", origin="vllm"),
    Field("tokens", ("detokenize",), "integers", "Token ids.", origin="vllm", required=True),
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
