"""Fields that change nothing, and say so."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from contract.proofs.refused import steady, with_field
from contract.proofs.samples import asks_nothing, values
from contract.proofs.servers import Served
from contract.proofs.talk import ABSENT
from contract.proofs.trial import least
from overt.contract.field import CHAT, COMPLETIONS, GENERATE, Field, Route

UNKNOWN = (
    "zzz",
    "max_token_s",
    "\u00fcber",
    "a b",
    "a.b",
    "x" * 70,
    "prompt_",
    "__class__",
    "0",
    "temperature ",
    "TOP_P",
)
"""Names that are in no table."""
MISSPELT: dict[Route, dict[str, str]] = {
    "chat": {
        "temprature": "temperature",
        "max_token": "max_tokens",
        "top_kk": "top_k",
        "message": "messages",
        "logit_biass": "logit_bias",
        "stopp": "stop",
        "presence_penality": "presence_penalty",
        "Seed": "seed",
    },
    "completions": {
        "temperatur": "temperature",
        "maxtokens": "max_tokens",
        "promt": "prompt",
        "best_off": "best_of",
        "frequency_penalities": "frequency_penalty",
        "ehco": "echo",
        "streams": "stream",
    },
    "tokenize": {"promt": "prompt", "add_special_token": "add_special_tokens", "toolls": "tools", "modell": "model"},
    "detokenize": {"token": "tokens", "tokenss": "tokens", "mdel": "model"},
    "parse": {"txt": "text", "tool_parser": "tool_call_parser", "promt_tail": "prompt_tail", "toolls": "tools"},
}
"""Names that are nearly one of the table, and that one."""


@dataclass(frozen=True)
class Beside:
    """A field that changes nothing because of another one, or because another one is not there."""

    field: str
    value: Any
    rest: dict[str, Any] = member(default_factory=dict)
    routes: tuple[Route, ...] = GENERATE
    headers: dict[str, str] = member(default_factory=dict)

    def __str__(self) -> str:
        return "-".join((self.routes[0], self.field, *self.rest, *self.headers))

    def check(self, served: Served, route: Route) -> None:
        """The field is reported, and the answer is the same without it."""
        plain = served.ask(route, least(route, self.rest), self.headers).ok()
        answer = served.ask(route, least(route, {**self.rest, self.field: self.value}), self.headers).ok()
        assert answer.effects[self.field]["e"] == "inert"
        assert self.field not in plain.effects
        assert _USAGE.sub(b"", answer.masked) == _USAGE.sub(b"", plain.masked)


_BEAM = {"use_beam_search": True, "n": 2, "temperature": ABSENT}
_SGLANG = {"overt-profile": "sglang"}
CASES = (
    Beside("length_penalty", 2),
    Beside("return_tokens_as_token_ids", True),
    Beside("truncation_side", "right"),
    Beside("spaces_between_special_tokens", False),
    Beside("safety_identifier", "b", {"user": "a"}),
    Beside("rid", "b", {"request_id": "a"}),
    Beside("request_id", "b", headers={"x-request-id": "a"}),
    Beside("priority", 3, headers={"x-vllm-priority": "2"}),
    *(
        Beside(name, value, _BEAM)
        for name, value in {
            "temperature": 0.5,
            "top_p": 0.5,
            "top_k": 5,
            "min_p": 0.5,
            "typical_p": 0.5,
            "seed": 5,
        }.items()
    ),
    Beside("max_tokens", 3, {"max_tokens": ABSENT, "max_completion_tokens": 2}, CHAT),
    Beside("top_logprobs", 2, {}, CHAT, _SGLANG),
    Beside("stream_options", {"include_usage": True}, {}, GENERATE, _SGLANG),
    Beside("suffix", " end", {}, COMPLETIONS, _SGLANG),
    Beside("add_special_tokens", True, {"prompt": [70, 71]}, COMPLETIONS),
    *(
        Beside(name, value, {}, ("tokenize",))
        for name, value in {
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "tool_choice": "none",
            "chat_template_kwargs": {"mood": "glad"},
            "documents": [{"text": "a"}],
            "add_generation_prompt": False,
        }.items()
    ),
)
_USAGE = re.compile(rb',"usage":\{.*?\}+')
"""The second of equal prompts is found in the prefix cache."""


def check_inert(served: Served, route: Route, row: Field) -> None:
    """No value changes a byte of the answer, and each that asks for something is reported."""
    plain = steady(served, route, row)
    asked = values(row)
    assert any(not asks_nothing(row, value) for value in asked)
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = list(pool.map(lambda value: served.ask(route, *with_field(route, row, value)), asked))
    for value, answer in zip(asked, answers, strict=True):
        assert answer.ok().masked == plain, value
        told = answer.effects.get(row.name)
        assert told == (None if asks_nothing(row, value) else {"e": "inert"}), (value, told)
