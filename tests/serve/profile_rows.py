"""The situations in which profiles differ, as requests, and what each profile answers to them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from serve.profile_ask import (
    ABSENT,
    COMPLETIONS,
    CONTEXT,
    DEFAULTS,
    EMBEDDINGS,
    MODEL,
    RENDER,
    Case,
    Documents,
    Want,
    Wants,
    at,
    said,
    texts_of,
)


@dataclass(frozen=True)
class Row:
    """One situation of the table of profiles."""

    name: str
    """As the product's table has it."""
    situation: str
    cases: tuple[Case, ...] = ()
    waiting: str = ""
    """What of it cannot be tried yet, and why."""


def by(overt: Want, openai: Want | None = None, vllm: Want | None = None, sglang: Want | None = None) -> Wants:
    """By profile; where nothing is said, as overt."""
    return {"overt": overt, "openai": openai or overt, "vllm": vllm or overt, "sglang": sglang or overt}


def refused(param: str | None, *words: str, status: int = 400) -> Want:
    """An error that names a field."""
    return Want(status=status, param=param, words=words)


def inert(name: str, **more: Any) -> Want:
    """Accepted, changes nothing, is told."""
    return Want(effects={name: "inert"}, **more)


def adapted(name: str, applied: Any = None, **more: Any) -> Want:
    """Accepted with another value, is told."""
    return Want(effects={name: "adapted" if applied is None else ("adapted", applied)}, **more)


def _row(name: str, situation: str, *cases: Case, waiting: str = "") -> Row:
    return Row(name, situation, cases, waiting)


def _chat(wants: Wants, **fields: Any) -> Case:
    return Case(fields, wants)


def _text(wants: Wants, **fields: Any) -> Case:
    return Case(fields, wants, COMPLETIONS)


def _chat_of_script(wants: Wants, **fields: Any) -> Case:
    return Case(fields, wants, on_script=True)


def _text_of_script(wants: Wants, **fields: Any) -> Case:
    return Case(fields, wants, COMPLETIONS, on_script=True)


# --- what holds of a whole answer ---


def _full(documents: Documents) -> bool:
    """Prompt and answer take the whole context."""
    return bool(documents[-1]["usage"]["total_tokens"] == CONTEXT)


def _three_alike(documents: Documents) -> bool:
    texts = texts_of(documents)
    return len(texts) == 3 and len(set(texts.values())) == 1


def _id(prefix: str) -> Want:
    """Hexadecimal digits behind a prefix, the same on all chunks."""

    def check(documents: Documents) -> bool:
        (one,) = {document["id"] for document in documents}
        return bool(re.fullmatch(f"{prefix}[0-9a-f]{{32}}", one))

    return Want(check=check)


def _counts_everywhere(documents: Documents) -> bool:
    """Usage on every chunk, and a last one that has nothing else."""
    return documents[-1]["choices"] == [] and all(document["usage"] for document in documents)


def _counts_on_chunks(documents: Documents) -> bool:
    """Usage on chunks with choices alone."""
    return all(document["choices"] for document in documents) and any(document.get("usage") for document in documents)


def _padded(documents: Documents) -> bool:
    """Every chunk with text has padding."""
    of_text = [document for document in documents if any(c["delta"].get("content") for c in document["choices"])]
    return bool(of_text) and all(document.get("obfuscation") for document in of_text)


def _sized(path: str, size: int) -> Callable[[Documents], bool]:
    """The length of what is at a path of the only document."""
    return lambda documents: len(at(documents[0], path)) == size


# --- rows ---

OK = Want()
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
_CALLED = {"messages": said("<call>"), "tools": TOOLS, "max_tokens": 85}


def _reasoned(part: str) -> Wants:
    """The reasoning's fields in a message or in deltas."""
    one, other = f"choices.0.{part}.reasoning", f"choices.0.{part}.reasoning_content"
    return by(
        Want(has=(one, other)),
        Want(lacks=(one, other)),
        Want(has=(one,), lacks=(other,)),
        Want(has=(other,), lacks=(one,)),
    )


# fmt: off
_OPTIONAL = (
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "metadata", "modalities", "n", "parallel_tool_calls", "prediction", "presence_penalty",
    "prompt_cache_key", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop",
    "store", "stream", "stream_options", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
    "web_search_options",
)
# fmt: on
_NUMBERS = ("max_tokens", "temperature", "top_p", "n", "presence_penalty", "frequency_penalty")


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


_LAST = said("x", ("assistant", "One"))
_LONG = said("one " * 85)
_TIGHT = {"prompt": [70] * 120, "ignore_eos": True}
"""Leaves 8 tokens of the context."""
_LONE = {"stream": True, "stream_options": {"continuous_usage_stats": True}, "max_tokens": 4}
_OPTIONS = {"stream_options": {"include_usage": True}}
_PADDING = "stream_options.include_obfuscation"
_UNPADDED = ("obfuscation",)
_FIRST = {"temperature": 1, "top_p": ABSENT, "min_p": ABSENT, "top_k": 1}
"""The likeliest tokens by another way."""
_DRAWN = {"temperature": 2, "seed": 5, "max_tokens": 5}
_UNKNOWN = refused("model", f"`{MODEL}`", status=404)
_DEFAULT = adapted("model", MODEL, values={"model": MODEL})
_CLAMPED = adapted("max_tokens", 8, finish="length", tokens=8)
_COPIED = adapted("n", 1, check=_three_alike)
_COMPUTED = Want(check=_three_alike)
_ONE_TOKEN = {"logit_bias": {"70": 100}, "stop_token_ids": [70], "logprobs": 0}
_TOPS = "choices.0.logprobs.content.0.top_logprobs"
_FIRST_K = {"top_k": 1}
_STOPPED = {"stop": ["two"], "max_tokens": 9}
_STOP_FIELDS = by(
    Want(finish="stop", has=("choices.0.stop_reason",), lacks=("choices.0.matched_stop",)),
    Want(finish="stop", lacks=("choices.0.stop_reason", "choices.0.matched_stop")),
    sglang=Want(finish="stop", has=("choices.0.matched_stop",), lacks=("choices.0.stop_reason",)),
)
_CACHED = by(
    Want(has=("usage.prompt_tokens_details.cached_tokens",)), vllm=Want(lacks=("usage.prompt_tokens_details",))
)
_LONE_WANTS = by(
    adapted("stream_options.include_usage", True, check=_counts_everywhere),
    vllm=inert("stream_options.continuous_usage_stats", lacks=("usage",)),
    sglang=Want(check=_counts_on_chunks),
)
_NO_TOPS = by(refused("top_logprobs"), sglang=inert("top_logprobs", lacks=("choices.0.logprobs",)))

# fmt: off
ROWS: tuple[Row, ...] = (
    _row("overflow", "prompt + max_tokens exceeds the context",
         _text(by(_CLAMPED, refused("max_tokens", "120", "33"), _CLAMPED, refused("max_tokens", "120", "33")),
               **_TIGHT, max_tokens=33),
         _text(by(_CLAMPED, refused("max_tokens"), _CLAMPED, refused("max_tokens", "120", str(CONTEXT))),
               **_TIGHT, max_tokens=CONTEXT),
         # More than the whole context is another matter for one of them.
         _text(by(_CLAMPED, refused("max_tokens"), refused("max_tokens", str(CONTEXT + 1)), refused("max_tokens")),
               **_TIGHT, max_tokens=CONTEXT + 1),
         # Errors name the field that was sent.
         _chat_of_script(by(adapted("max_completion_tokens", finish="length", check=_full),
                            refused("max_completion_tokens", "100"),
                            adapted("max_completion_tokens", finish="length", check=_full),
                            refused("max_completion_tokens", "100")),
                         messages=_LONG, max_tokens=ABSENT, max_completion_tokens=100),
         _text(by(Want(tokens=8, finish="length")), **_TIGHT, max_tokens=8)),
    _row("full_prompt", "prompt alone fills or exceeds it",
         _text(by(refused(None, str(CONTEXT))), prompt=[70] * CONTEXT),
         _text(by(refused(None, str(CONTEXT + 9))), prompt=[70] * (CONTEXT + 9)),
         _chat(by(refused(None, str(CONTEXT))), messages=said("one " * 150), stream=True),
         _text(by(Want(tokens=1)), prompt=[70] * (CONTEXT - 1))),
    _row("greedy", "temperature 0",
         _text(by(Want(like=_FIRST)), top_p=0.5, top_k=7, min_p=0.2, seed=3),
         _chat(by(Want(like=_FIRST)), top_p=0.9, seed=4)),
    _row("least_temperature", "0 < temperature < 0.01",
         _chat(by(OK, vllm=adapted("temperature", 0.01)), temperature=0.001),
         _text(by(OK, vllm=adapted("temperature", 0.01)), temperature=0.0099),
         _text(by(OK), temperature=0.01)),
    _row("greedy_choices", "n > 1 at temperature 0",
         _chat(by(_COPIED, _COMPUTED, refused("n"), _COMPUTED), n=3, max_tokens=2),
         _text(by(_COPIED, _COMPUTED, refused("n"), _COMPUTED), n=3, max_tokens=2, stream=True),
         _text(by(OK), n=2, temperature=0.5)),
    _row("stray_top_logprobs", "top_logprobs without logprobs",
         _chat(_NO_TOPS, top_logprobs=2), _chat(_NO_TOPS, top_logprobs=2, logprobs=False)),
    _row("unknown_model", "unknown model",
         _chat(by(_UNKNOWN, sglang=adapted("model", MODEL)), model="no-such"),
         _text(by(_UNKNOWN, sglang=adapted("model", MODEL)), model="no-such")),
    _row("absent_model", "model absent",
         _chat_of_script(by(_DEFAULT, refused("model")), model=ABSENT),
         _text(by(_DEFAULT, refused("model")), model=None)),
    _row("adapters", "`base:adapter` in model",
         _chat(by(refused("model", "`style`", status=404), _UNKNOWN, _UNKNOWN, refused("model", "`style`")),
               model=f"{MODEL}:style"),
         _chat(by(_UNKNOWN, sglang=refused("model")), model="other:style"),
         _text(by(Want(values={"model": f"{MODEL}:exact"})), model=f"{MODEL}:exact"),
         waiting="what an adapter that is loaded answers: none is served yet"),
    _row("stray_stream_options", "stream_options without stream",
         _chat(by(refused("stream_options"), sglang=inert("stream_options")), **_OPTIONS),
         _text(by(refused("stream_options"), sglang=inert("stream_options")), **_OPTIONS, stream=False)),
    _row("empty_tools", "`tools: []`",
         _chat(by(inert("tools", like={"tools": ABSENT}), refused("tools"), refused("tools")), tools=[]),
         _chat(by(inert("tools"), refused("tools"), refused("tools")), tools=[], tool_choice="auto")),
    _row("suffix", "suffix",
         _text(by(refused("suffix"), sglang=inert("suffix", like={"suffix": ABSENT})), suffix="XYZ"),
         _text_of_script(by(OK, sglang=inert("suffix")), suffix="XYZ")),
    _row("embeddings", "embeddings on a generation model",
         Case({}, by(refused("model", f"`{MODEL}`"), vllm=refused(None, status=404)), EMBEDDINGS)),
    _row("wide_logit_bias", "logit_bias beyond ±100",
         _text(by(refused("logit_bias"), vllm=adapted("logit_bias.70", 100, like={"logit_bias": {"70": 100, "71": 90}}),
                  sglang=Want(like={"logit_bias": {"70": 100}})),
               logit_bias={"70": 300, "71": 90}),
         # What is cut is no longer greater than the other.
         _text(by(refused("logit_bias"),
                  vllm=Want(effects={"logit_bias.70": ("adapted", 100), "logit_bias.71": ("adapted", 100)},
                            like={"logit_bias": {"70": 100, "71": 100}}),
                  sglang=Want(like={"logit_bias": {"71": 100}})),
               logit_bias={"70": 101, "71": 301}),
         _chat(by(refused("logit_bias"), vllm=adapted("logit_bias.70", -100), sglang=OK), logit_bias={"70": -101}),
         _text(by(refused("logit_bias"), vllm=adapted("logit_bias.70", 100), sglang=refused("logit_bias")),
               logit_bias={"70": 1e39})),
    _row("assistant_last", "last message is from the assistant",
         _chat(by(adapted("messages[1]", "new turn"),
                  sglang=adapted("messages[1].role", "user", like={"messages": said("x", ("user", "One"))})),
               messages=_LAST),
         _chat(by(OK), messages=_LAST, continue_final_message=True, add_generation_prompt=False)),
    _row("error_shape", "error shape",
         _chat(by(refused("temperature")), temperature=-1),
         _chat(by(refused("temperature")), temperature="hot", stream=True),
         _text(by(refused("prompt")), prompt={})),
    _row("reasoning_field", "reasoning field",
         _chat_of_script(_reasoned("message"), messages=said("<muse>"), max_tokens=9),
         _chat_of_script(_reasoned("delta"), messages=said("<muse>"), max_tokens=9, stream=True)),
    _row("max_temperature", "temperature > 2",
         _chat(by(refused("temperature"), sglang=OK), temperature=2.5),
         _text(by(refused("temperature"), sglang=OK), temperature=50),
         _text(by(OK), temperature=2)),
    _row("top_k_zero", "top_k 0",
         _text(by(Want(like={"top_k": -1}), sglang=refused("top_k")), top_k=0, temperature=1, seed=2),
         _chat(by(refused("top_k")), top_k=-2)),
    _row("max_stops", "more than 4 stop strings",
         _chat(by(OK, refused("stop"), refused("stop")), stop=["a%", "b%", "c%", "d%", "e%"]),
         _text(by(OK, refused("stop"), refused("stop")), stop=["%"] * 32),
         _text(by(refused("stop")), stop=["%"] * 33),
         _text(by(OK), stop=["a%", "b%", "c%", "d%"])),
    _row("max_top_logprobs", "top_logprobs above 20",
         # The operator's --max-logprobs bounds memory, whatever a header says.
         _chat(by(refused("top_logprobs"), sglang=adapted("top_logprobs", 20, check=_sized(_TOPS, 20))),
               logprobs=True, top_logprobs=21),
         _chat(by(Want(check=_sized(_TOPS, 20))), logprobs=True, top_logprobs=20)),
    _row("lone_continuous_usage", "`continuous_usage_stats` without `include_usage`",
         _chat_of_script(_LONE_WANTS, **_LONE), _text_of_script(_LONE_WANTS, **_LONE)),
    _row("obfuscation", "`obfuscation` in stream chunks",
         _chat_of_script(by(Want(lacks=_UNPADDED), Want(check=_padded)), stream=True, max_tokens=4),
         _chat_of_script(by(Want(check=_padded), vllm=inert(_PADDING, lacks=_UNPADDED),
                            sglang=inert(_PADDING, lacks=_UNPADDED)),
                         stream=True, max_tokens=4, stream_options={"include_obfuscation": True}),
         _chat_of_script(by(Want(lacks=_UNPADDED)), stream=True, stream_options={"include_obfuscation": False}),
         _chat_of_script(by(Want(lacks=_UNPADDED)))),
    _row("choice_without_tools", "tool_choice required or named, without tools",
         _chat(by(refused("tool_choice")), tool_choice="required"),
         _chat(by(refused("tool_choice")), tool_choice=_named("weather"), stream=True),
         _chat_of_script(by(Want(finish="tool_calls")), **_CALLED, tool_choice="required"),
         _chat_of_script(by(Want(finish="stop")), **_CALLED, tool_choice=_named("weather"))),
    _row("choice_of_no_tool", "named tool_choice not in tools",
         _chat(by(refused("tool_choice", "`tools`")), tools=TOOLS, tool_choice=_named("other"))),
    _row("completion_tokens", "completions: max_tokens absent",
         _text_of_script(by(Want(tokens=16, finish="length")), max_tokens=ABSENT),
         _text_of_script(by(Want(tokens=16, finish="length")), prompt="x", max_tokens=ABSENT)),
    _row("chat_tokens", "chat: max_tokens absent",
         _chat_of_script(by(Want(check=_full, finish="length"),
                            vllm=Want(tokens=DEFAULTS["max_new_tokens"], finish="length")),
                         messages=_LONG, max_tokens=ABSENT)),
    _row("generation_config", "generation_config.json gives defaults",
         _chat(by(Want(like=_FIRST_K), Want(unlike=_FIRST_K)), **_DRAWN),
         _text(by(Want(like=_FIRST_K), Want(unlike=_FIRST_K), sglang=Want(unlike=_FIRST_K)), **_DRAWN),
         _text(by(Want(unlike=_FIRST_K)), **_DRAWN, top_k=-1)),
    _row("nulls", "explicit null for an optional field",
         _chat_of_script(by(OK), **dict.fromkeys(_OPTIONAL), messages=_LONG),
         _chat_of_script(by(OK), temperature=None, top_k=None, min_p=None, chat_template_kwargs=None, overt=None),
         *(_text_of_script(by(Want(like={name: ABSENT}), sglang=refused(name)), **{name: None}) for name in _NUMBERS),
         _text_of_script(by(OK), **dict.fromkeys(("stop", "user", "logprobs", "seed", "suffix", "echo", "best_of")))),
    _row("no_messages", "messages empty",
         _chat(by(refused("messages")), messages=[]), _chat(by(refused("messages")), messages=ABSENT),
         _chat(by(refused("messages")), messages=None)),
    _row("empty_content", "content when there are only tool calls",
         _chat_of_script(by(Want(finish="tool_calls", lacks=("choices.0.message.content",)),
                            sglang=Want(finish="tool_calls", values={"choices.0.message.content": ""})),
                         **_CALLED)),
    _row("stop_field", "stop reason field",
         _chat_of_script(_STOP_FIELDS, **_STOPPED), _text_of_script(_STOP_FIELDS, **_STOPPED),
         _text_of_script(_STOP_FIELDS, **_STOPPED, stream=True)),
    _row("id_prefix", "ids",
         _chat_of_script(by(_id("chatcmpl-"), sglang=_id(""))),
         _chat_of_script(by(_id("chatcmpl-"), sglang=_id("")), stream=True),
         _text_of_script(by(_id("cmpl-"), sglang=_id("")))),
    _row("request_id_header", "`X-Request-Id` on responses"),
    _row("cached_tokens", "usage.prompt_tokens_details",
         _chat_of_script(_CACHED), _text_of_script(_CACHED, **_OPTIONS, stream=True)),
    _row("render_routes", "render routes",
         Case({}, by(Want(has=("prompt_text", "token_ids", "provenance.spans"))), RENDER),
         Case({"return_prompt_text": True}, by(Want(has=("prompt_text",))), RENDER)),
    _row("extension", "extension object of the response",
         _chat_of_script(by(Want(lacks=("overt", "sglext")))),
         _chat_of_script(by(Want(has=("overt.effects",))), overt={"report": True}),
         _chat_of_script(by(Want(has=("prompt_token_ids",))), return_token_ids=True),
         waiting="what `sglext` tells: the fields that ask for it are refused yet"),
    _row("tell_ends", "log probabilities of the token that ended a choice",
         _text(by(Want(finish="stop", check=_sized("choices.0.logprobs.tokens", 0)),
                  vllm=Want(finish="stop", check=_sized("choices.0.logprobs.tokens", 1))),
               **_ONE_TOKEN)),
)
# fmt: on
