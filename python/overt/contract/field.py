"""A row of the field table."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from overt.contract.limits import Limits
from overt.contract.profiles import OVERT, Profile

if TYPE_CHECKING:
    from overt.contract.deployment import Deployment

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
    "labels",
    "objects",
    "messages",
    "prompt",
    "tool_choice",
    "any",
]
"""JSON types. "strings": one string or a list of them; "texts", "integers", "objects": lists; "biases": numbers by
token id; "labels": strings by name."""

Route = Literal["chat", "completions", "tokenize", "detokenize", "parse"]
Origin = Literal["openai", "vllm", "sglang", "overt"]
Location = Literal["body", "header"]
Status = Literal["honoured", "adapted", "inert", "refused"]
Source = Literal["server", "generation_config", "model", "template", "flag"]

CHAT: tuple[Route, ...] = ("chat",)
COMPLETIONS: tuple[Route, ...] = ("completions",)
GENERATE: tuple[Route, ...] = ("chat", "completions")
TEMPLATE: tuple[Route, ...] = ("chat", "tokenize")
ALL: tuple[Route, ...] = ("chat", "completions", "tokenize", "detokenize", "parse")

INT64 = 2**63
INT32 = 2**31

MAX_BIAS = 100
"""Greatest value of a token's bias; the least is its negative."""


MAX_LABELS = 16
MAX_LABEL_NAME = 64
MAX_LABEL = 512
"""Characters."""


class Standing(NamedTuple):
    """What a deployment does with a field."""

    effect: Status
    reason: str = ""
    """Why it is not honoured; a clause without a full stop."""
    advice: str = ""
    """What to do instead; a clause without a full stop."""


HONOURED = Standing("honoured")


@dataclass(frozen=True, slots=True)
class Field:
    """What one request field or header is and what it does here."""

    name: str
    """Dotted where it is a member of an object; headers in lower case."""
    routes: tuple[Route, ...]
    kind: Kind
    meaning: str
    origin: Origin = "openai"
    low: float | None = None
    """Least value; least length of a string; least number of items of a list."""
    high: float | None = None
    """Greatest value; greatest length of a string; greatest number of items of a list or an object, or of prompts."""
    limit: str = ""
    """The member of `Limits` that gives `high`."""
    above: float | None = None
    """The value must be greater than this."""
    choices: tuple[str, ...] = ()
    """The only values of a string."""
    form: str = ""
    """What a value has to be, where its kind and its range do not say it all; the end of "must be …"."""
    default: Any = None
    """Null stands for: as `source` has it, or nothing."""
    source: Source = "server"
    """Where the default comes from."""
    required: bool = False
    alias: str = ""
    """The field that this is another name of."""
    condition: str = ""
    """When the field can be sent or changes something; a clause without a full stop."""
    effect: Status = "honoured"
    """What every deployment does with it. Refused fields are known by name alone, their values are not read."""
    reason: str = ""
    """Why it is not honoured; a clause without a full stop."""
    advice: str = ""
    """What to do instead; a clause without a full stop."""
    rest: "Callable[[Deployment, Profile], Standing] | None" = None
    """What a deployment does with it, where deployments differ."""
    noop: tuple[Any, ...] = ()
    """Values that ask for nothing: accepted and not told, whatever the effect."""
    location: Location = "body"

    def under(self, limits: Limits, profile: Profile = OVERT) -> "Field":
        """The row as the operator's limits and the profile bound it."""
        high = getattr(limits, self.limit) if self.limit else self.high
        high = profile.bound(self.name, high)
        return self if high == self.high else replace(self, high=high)

    def standing(self, deployment: "Deployment", profile: Profile) -> Standing:
        """What becomes of it at rest: before a value is seen."""
        if self.rest is not None:
            return self.rest(deployment, profile)
        return Standing(self.effect, self.reason, self.advice) if self.effect != "honoured" else HONOURED

    def wanted(self) -> str:
        """What a value has to be, as the end of "must be …"."""
        if self.form:
            return self.form
        match self.kind:
            case "boolean":
                return "true or false"
            case "integer":
                return f"an integer{self._range()}"
            case "number":
                return f"a number{self._range()}"
            case "string":
                return self._string()
            case "labels":
                return (
                    f"an object of up to {MAX_LABELS} strings of up to {MAX_LABEL} characters, "
                    f"with names of up to {MAX_LABEL_NAME}"
                )
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
                most = "" if self.high is None else f", {self.high:g} at most"
                return f"a list of at least one message object{most}"
            case "prompt":
                most = "" if self.high is None else f", {self.high:g} prompts at most"
                return f"a string, a list of strings, a list of token ids or a list of such lists{most}"
            case "tool_choice":
                return '"none", "auto", "required" or a choice of tools'
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
            case "labels":
                return f"a string of up to {MAX_LABEL} characters"
            case _:
                return "an object"

    def _string(self) -> str:
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        what = "a non-empty string" if self.low else "a string"
        return what if self.high is None else f"{what} of up to {self.high:g} characters"

    def _range(self) -> str:
        if self.above is not None:
            return f" above {self.above:g}" + ("" if self.high is None else f" and at most {self.high:g}")
        if self.low is not None and self.high is not None:
            if self.low <= -INT32:
                return f" of {64 if self.high > INT32 else 32} bits"
            return f" from {self.low:g} to {int(self.high) if self.high >= 2**20 else f'{self.high:g}'}"
        if self.low is not None:
            return f" of at least {self.low:g}"
        return ""

    def _count(self) -> str:
        if self.high is None:
            return ""
        return f"{self.low:g} to {self.high:g} " if self.low else f"up to {self.high:g} "
