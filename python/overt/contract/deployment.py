"""What of the loaded model and the operator's flags decides over fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overt.contract.errors import ApiError
from overt.contract.fields import by_name
from overt.contract.limits import DEFAULTS, Limits

_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "typical_p": 1.0, "repetition_penalty": 1.0}


@dataclass(frozen=True, slots=True)
class Deployment:
    """One model as it is served."""

    served: tuple[str, ...]
    """Names the model answers to, the default first."""
    vocab_size: int
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that the model's makers give for sampling."""
    chat_template: str | None = None
    parser: str | None = None
    """The format that tool calls are read in; none: they stay text."""
    max_client_priority: int = 0
    tells_prompt_logprobs: bool = True
    """Whether the model's code gives the logits of prompt tokens."""
    limits: Limits = DEFAULTS

    sampling: Mapping[str, float] = field(init=False)
    """What sampling fields are where a request does not say."""

    def __post_init__(self) -> None:
        defaults = {name: self._default(name, value) for name, value in _SAMPLING.items()}
        object.__setattr__(self, "sampling", defaults)

    def _default(self, name: str, otherwise: float) -> float:
        """The model's default for a sampling field, where it gives a usable one."""
        value = self.generation_config.get(name)
        row = by_name("chat")[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return otherwise
        low = row.low if row.low is not None else row.above
        fits = (low is None or value >= low) and (row.high is None or value <= row.high)
        return value if fits and (row.above is None or value > row.above) else otherwise

    def named(self, model: str | None) -> str:
        """The served name for a request's `model`. Raises ApiError (404) for a name that is not served."""
        if model is None:
            return self.served[0]
        if model not in self.served:
            names = ", ".join(f"`{name}`" for name in self.served)
            raise ApiError(
                404,
                f"The model `{model[:80]}` is not served here. Served: {names}.",
                param="model",
                code="model_not_found",
                type="invalid_request_error",
            )
        return model


NEUTRAL: Mapping[str, float] = _SAMPLING
"""Sampling fields that change nothing."""
