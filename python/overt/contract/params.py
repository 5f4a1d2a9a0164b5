"""What the core is told of a generation."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass
class GenerationParams:
    """What a request asks of sampling, stopping and framing. The core reads these attributes by name."""

    model: str
    """The served name to answer with."""
    request_id: str
    max_tokens: int | None
    """Tokens a choice; none: the rest of the context."""
    max_tokens_field: str
    """The field that gave `max_tokens`."""
    max_tokens_sent: bool = field(default=True, kw_only=True)
    """The client sent it; a default that does not fit the context is clamped in silence."""
    temperature: float
    top_p: float
    top_k: int
    """0: all."""
    min_p: float
    seed: int | None
    n: int
    stop: list[str]
    stop_token_ids: list[int]
    ignore_eos: bool
    skip_special_tokens: bool
    include_stop: bool
    stream: bool
    include_usage: bool
    priority: int
    user: str | None
    key: str | None
    cache_salt: str | None
    tools: bool
    """The template sees tools."""
    add_generation_prompt: bool
    continue_final_message: bool
    typical_p: float = 1.0
    """1: all."""
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: list[tuple[int, float]] = field(default_factory=list)
    """Tokens, each once, and what is added to their logits."""
    allowed_token_ids: list[int] | None = None
    """None: all."""
    bad_words: list[str] = field(default_factory=list)
    min_tokens: int = 0
    best_of: int = 1
    """Candidates for each prompt, at least `n`."""
    beam: bool = False
    """Beam search of the width `n`."""
    length_penalty: float = 1.0
    stop_regex: list[str] = field(default_factory=list)
    logprobs: int | None = None
    """Alternatives beside each token; none: no log probabilities."""
    prompt_logprobs: int | None = None
    """The same for the prompt."""
    echo: bool = False
    tokens_as_ids: bool = False
    """Tokens of log probabilities are written as their ids."""
    assistant_to_user: bool = False
    """A last message of the assistant is rendered as the user's."""
    template_variables: str | None = None
    """Variables of the chat template that fields and the operator give, as a JSON object; the request's own win."""
    add_special_tokens: bool | None = None
    """None: to text prompts the tokenizer adds its own special tokens, to rendered chats it does not."""
    suffix: str | None = None
    """What stands behind the gap that the answer fills."""
    truncate_prompt_tokens: int | None = None
    """Cuts prompts to so many tokens; -1: to what the context leaves beside `max_tokens`."""
    truncation_side: Literal["left", "right"] = "left"
    overflow: Literal["clamp", "clamp_within", "refuse"] = "clamp"
    """What happens to `max_tokens` beyond what the prompt leaves of the context; "clamp_within" refuses more than the
    whole context."""
    strict: list[str] | None = None
    """The request is served as sent or not at all: what of it is not honoured, a clause each. None: not strict."""
    id: str | None = None
    """The response's id; none: one is made."""
    fingerprint: str | None = None
    """`system_fingerprint`; none: the model's own."""
    extra: str = ""
    """JSON members of the whole answer, without braces."""
    report: tuple[str, str] | None = None
    """What the answer tells of its request's fields, as JSON: effects with commas between them, and further members."""
    copies: bool = False
    """One choice is made for each prompt and answered `n` times."""
    tell_ends: bool = False
    """Log probabilities tell of the token that ended a choice, too."""
    token_ids: bool = False
    prompt_text: bool = False
    """The answer tells the prompt's text."""
    continuous_usage: bool = False
    obfuscation: bool = False
    stop_field: Literal["stop_reason", "matched_stop", "none"] = "stop_reason"
    constrained: bool = False
    """A field asks for constrained output."""
    one_call: bool = False
    """A choice is over once a call has ended."""
    functions: bool = False
    """The answer's call stands in `function_call`."""
    merges_reasoning: bool = False
    """Reasoning stays in the content."""
    gathers_reasoning: bool = False
    """Reasoning comes in one piece."""
    thinking_budget: int | None = None
    """Tokens of thinking before it is closed; none: no bound."""
    reasoning_field: Literal["both", "reasoning", "reasoning_content", "none"] = "both"
    cached_tokens: bool = True
    """`usage.prompt_tokens_details`."""
    empty_content: bool = False
    """Content beside nothing but calls is "" instead of null."""
    error_shape: Literal["openai", "vllm", "sglang"] = "openai"

    def copy(self) -> "GenerationParams":
        """Another with the same values."""
        # Called for each request: dataclasses.replace takes many times as long.
        other = object.__new__(GenerationParams)
        other.__dict__.update(self.__dict__)
        return other
