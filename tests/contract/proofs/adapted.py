"""Values that are accepted and changed: both are reported, and the one that was applied is seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contract.proofs.sampling import DRAWS, IDS, distribution
from contract.proofs.talk import ABSENT, Answer
from contract.proofs.trial import Trial, least
from overt.contract.field import Route

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
OPEN = "<|im_start|>assistant\n"
HI, WELL = "<|im_start|>user\nHi<|im_end|>\n", f"{OPEN}Well<|im_end|>\n"
TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well"}]
CHAT: tuple[Route, ...] = ("chat",)
GENERATE: tuple[Route, ...] = ("chat", "completions")


@dataclass(frozen=True)
class Case:
    """One request with a field that is changed."""

    field: str
    """As it is reported."""
    requested: Any
    applied: Any
    """None: `seen` knows."""
    seen: Callable[[Answer, Trial], bool]
    """Whether the answer shows what was applied."""
    body: dict[str, Any] | Callable[[Trial], dict[str, Any]]
    on: str = "tiny"
    routes: tuple[Route, ...] = GENERATE
    profile: str = "overt"

    def check(self, trial: Trial) -> None:
        """Asks, and looks."""
        body = self.body if isinstance(self.body, dict) else self.body(trial)
        fields = least(trial.route, {"overt": {"report": True}, **body})
        answer = trial.servers[self.on].ask(trial.route, fields, {"overt-profile": self.profile}).ok()
        (name,) = (name for name in answer.reported if name == self.field or name.startswith(f"{self.field}."))
        reported = answer.reported[name]
        assert reported["effect"] == "adapted"
        assert reported["reason"]
        assert reported["requested"] == self.requested
        assert self.applied is None or reported["applied"] == self.applied
        assert answer.effects[name] == {"e": "adapted", "applied": reported["applied"]}
        assert self.seen(answer, trial), answer.raw


def _fills_context(field: str) -> Callable[[Answer, Trial], bool]:
    def seen(answer: Answer, _: Trial) -> bool:
        applied: int = answer.reported[field]["applied"]
        return answer.made == applied == 512 - len(answer.prompt) and answer.finish == "length"

    return seen


def _nearly_tied(trial: Trial) -> dict[str, Any]:
    """The second token is made almost as likely as the first: at temperature 0.001 it is one of 20, at 0.01 nearly
    every second one."""
    (_, most), (second, chance), *_ = distribution(trial).items()
    return DRAWS | {"temperature": 0.001, "logit_bias": {str(second): math.log(most / chance) - 0.003}}


def _often_both(answer: Answer, _: Trial) -> bool:
    drawn = [tokens[0] for tokens in answer.tokens]
    return len(set(drawn)) == 2 and min(map(drawn.count, set(drawn))) >= 5


def _first_of(answer: Answer, trial: Trial) -> bool:
    return answer.tokens == [[next(iter(distribution(trial)))]]


def _demo_answers(answer: Answer, trial: Trial) -> bool:
    return answer.tokens == trial.ask(ABSENT, "demo", **IDS).tokens


def _prompt(text: str) -> Callable[[Answer, Trial], bool]:
    return lambda answer, trial: trial.servers["tiny"].text(answer.prompt) == text


def _second_over_first(trial: Trial) -> dict[str, Any]:
    """Biases that only their bound makes equal."""
    first, second, *_ = distribution(trial)
    return IDS | {"max_tokens": 1, "logit_bias": {str(second): 150, str(first): 100}}


LONG: dict[str, Any] = {"prompt": "river " * 200, "truncate_prompt_tokens": 500, "ignore_eos": True} | IDS
CASES = (
    Case("n", 3, 1, lambda a, _: len(a.texts) == 3 and len(set(a.texts)) == 1 and a.made == 4, {"n": 3} | IDS),
    Case("max_tokens", 10**6, None, _fills_context("max_tokens"), LONG | {"max_tokens": 10**6}),
    Case(
        "max_completion_tokens",
        10**6,
        None,
        _fills_context("max_completion_tokens"),
        LONG | {"max_tokens": ABSENT, "max_completion_tokens": 10**6},
        routes=CHAT,
    ),
    Case("model", None, "m", lambda a, _: a.json["model"] == "m", {"model": ABSENT}),
    Case(
        "service_tier",
        "priority",
        "default",
        lambda a, _: a.json["service_tier"] == "default",
        {"service_tier": "priority"},
    ),
    Case(
        "service_tier", "scale", "default", lambda a, _: a.json["service_tier"] == "default", {"service_tier": "scale"}
    ),
    Case(
        "stream_options.include_usage",
        None,
        True,
        lambda a, _: a.chunks[-1]["choices"] == [] and a.chunks[-1]["usage"]["completion_tokens"] == 4,
        {"stream": True, "stream_options": {"continuous_usage_stats": True}},
    ),
    Case(
        "tools",
        [TOOL],
        "prompt only",
        lambda a, _: a.json["usage"]["prompt_tokens"] > 40 and "tool_calls" not in a.choice["message"],
        {"tools": [TOOL]},
        routes=CHAT,
    ),
    Case(
        "functions",
        [TOOL["function"]],
        "prompt only",
        lambda a, _: a.json["usage"]["prompt_tokens"] > 40 and "function_call" not in a.choice["message"],
        {"functions": [TOOL["function"]]},
        routes=CHAT,
    ),
    Case(
        "tools",
        [TOOL],
        "calls only",
        lambda a, _: a.json["usage"]["prompt_tokens"] < 40 and "tool_calls" not in a.choice["message"],
        {"tools": [TOOL]},
        on="demo",
        routes=CHAT,
    ),
    Case(
        "tool_choice",
        "required",
        "auto",
        lambda a, _: a.finish == "tool_calls",
        {"prompt": "<call>", "max_tokens": 20, "tools": [TOOL], "tool_choice": "required"},
        on="scripted",
        routes=CHAT,
    ),
    Case("messages[1]", TURNS[1], "new turn", _prompt(HI + WELL + OPEN), {"messages": TURNS} | IDS, routes=CHAT),
    Case(
        "messages[1].role",
        "assistant",
        "user",
        _prompt(HI + WELL.replace("assistant", "user") + OPEN),
        {"messages": TURNS} | IDS,
        routes=CHAT,
        profile="sglang",
    ),
    Case("temperature", 0.001, 0.01, _often_both, _nearly_tied, profile="vllm"),
    Case("logit_bias", 150, 100, _first_of, _second_over_first, profile="vllm"),
    Case("model", "third", "m", _demo_answers, {"model": "third"} | IDS, on="demo", profile="sglang"),
    Case(
        "top_logprobs",
        30,
        20,
        lambda a, _: {len(entry["top_logprobs"]) for entry in a.choice["logprobs"]["content"]} == {20},
        {"logprobs": True, "top_logprobs": 30},
        on="demo",
        routes=CHAT,
        profile="sglang",
    ),
)
