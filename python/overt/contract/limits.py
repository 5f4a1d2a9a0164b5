"""What the operator's flags bound in a request: the flags, the messages and the schemas are made from this."""

from dataclasses import dataclass, field
from typing import Any


def _limit(default: int, meaning: str, *, least: int = 1, most: int | None = None) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True)
class Limits:
    """Most of each. `max_n` is the flag `--max-n`, and so on."""

    max_body_bytes: int = _limit(32 * 2**20, "bytes of a request's body")
    # The parsers behind this check have fixed depths of their own, a little above.
    max_json_depth: int = _limit(64, "arrays and objects within each other in a body", most=100)
    max_n: int = _limit(128, "choices a prompt: n, best_of and the width of a beam search")
    max_stops: int = _limit(32, "stop strings and stop patterns together")
    max_stop_token_ids: int = _limit(128, "stop tokens")
    max_logit_bias: int = _limit(4096, "tokens in logit_bias")
    max_allowed_token_ids: int = _limit(4096, "tokens in allowed_token_ids")
    max_bad_words: int = _limit(128, "words in bad_words")
    max_messages: int = _limit(10_000, "messages of a conversation")
    max_prompts: int = _limit(1024, "prompts of a completions request")
    max_choices: int = _limit(1024, "choices of a request, over all its prompts")
    max_logprobs: int = _limit(20, "alternatives beside each token: logprobs, top_logprobs, prompt_logprobs", least=0)
    max_prompt_logprobs_bytes: int = _limit(
        16 * 2**20, "bytes that the prompts which an answer repeats may take, with their log probabilities"
    )


DEFAULTS = Limits()
"""The limits without flags."""
