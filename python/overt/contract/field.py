"""A row of the field table."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from overt.contract.limits import Limits

Kind = Literal[
    "boolean",
    "integer",
    "number",
    "string",
    "strings",
    "texts",
    "integers",
    "biases",
    "object",
    "objects",
    "messages",
    "prompt",
    "tool_choice",
    "any",
]
"""JSON types. "strings": one string or a list of them; "texts", "integers", "objects": lists; "biases": numbers by
token id."""

Route = Literal["chat", "completions", "tokenize", "detokenize"]
Origin = Literal["openai", "vllm", "sglang", "overt"]

CHAT: tuple[Route, ...] = ("chat",)
COMPLETIONS: tuple[Route, ...] = ("completions",)
GENERATE: tuple[Route, ...] = ("chat", "completions")
TEMPLATE: tuple[Route, ...] = ("chat", "tokenize")
ALL: tuple[Route, ...] = ("chat", "completions", "tokenize", "detokenize")

INT64 = 2**63
INT32 = 2**31

MAX_BIAS = 100
"""Greatest value of a token's bias; the least is its negative."""


@dataclass(frozen=True, slots=True)
class Field:
    """What one request field is and what it does here."""

    name: str
    """Dotted where it is a member of an object."""
    routes: tuple[Route, ...]
    kind: Kind
    meaning: str
    origin: Origin = "openai"
    low: float | None = None
    """Least value; least length of a string; least number of items of a list."""
    high: float | None = None
    """Greatest value; greatest number of items of a list or an object, or of prompts."""
    limit: str = ""
    """The member of `Limits` that gives `high`."""
    above: float | None = None
    """The value must be greater than this."""
    default: Any = None
    """Null stands for: as the model or the server has it."""
    required: bool = False
    effect: Literal["honoured", "refused"] = "honoured"
    reason: str = ""
    """Why it is refused, or what to do instead; a clause without a full stop."""
    noop: tuple[Any, ...] = ()
    """Values of a refused field that ask for nothing, and are accepted."""
    location: Literal["body", "header"] = "body"

    def under(self, limits: Limits) -> "Field":
        """The row as the operator's limits bound it."""
        return replace(self, high=getattr(limits, self.limit)) if self.limit else self

    def wanted(self) -> str:
        """What a value has to be, as the end of "must be …"."""
        match self.kind:
            case "boolean":
                return "true or false"
            case "integer":
                return f"an integer{self._range()}"
            case "number":
                return f"a number{self._range()}"
            case "string":
                return "a non-empty string" if self.low else "a string"
            case "strings":
                return f"a non-empty string or a list of {self._count()}of them"
            case "texts":
                return f"a list of {self._count()}non-empty strings"
            case "integers":
                return f"a list of {self._count()}integers of at least 0"
            case "biases":
                return f"an object of {self._count()}numbers from -{MAX_BIAS} to {MAX_BIAS} by token id"
            case "object":
                return "an object"
            case "objects":
                return "a list of objects"
            case "messages":
                return "a list of at least one message object"
            case "prompt":
                most = "" if self.high is None else f", {self.high:g} prompts at most"
                return f"a string, a list of strings, a list of token ids or a list of such lists{most}"
            case "tool_choice":
                return '"none" or "auto"'
            case "any":
                return "JSON"

    def item_wanted(self) -> str:
        """The same for an item of a list or an object."""
        match self.kind:
            case "strings" | "texts":
                return "a non-empty string"
            case "integers":
                return "an integer of at least 0"
            case "biases":
                return f"a number from -{MAX_BIAS} to {MAX_BIAS}"
            case _:
                return "an object"

    def _range(self) -> str:
        if self.above is not None:
            return f" above {self.above:g} and at most {self.high:g}"
        if self.low is not None and self.high is not None:
            if self.high >= 2**31 - 1:
                bits = 64 if self.high > 2**32 else 32
                return f" of {bits} bits"
            return f" from {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f" of at least {self.low:g}"
        return ""

    def _count(self) -> str:
        if self.high is None:
            return ""
        return f"{self.low:g} to {self.high} " if self.low else f"up to {self.high} "
