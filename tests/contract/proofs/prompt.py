"""What the prompt is made of: told by its token ids and its text."""

import json
from typing import Any

from contract.proofs.registry import proof
from contract.proofs.servers import CALL, GAP
from contract.proofs.talk import ABSENT, Answer
from contract.proofs.trial import Trial
from overt.contract.field import ALL, COMPLETIONS, GENERATE, TEMPLATE

IDS: dict[str, Any] = {"return_token_ids": True}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well"}]
CHAT_TEXT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def rendered(trial: Trial, value: Any, on: str = "tiny", **rest: Any) -> str:
    """The prompt's text, as its token ids spell it."""
    if trial.route != "tokenize":
        rest = IDS | rest
    elif trial.field.name != "messages":
        rest = {"messages": [{"role": "user", "content": "Hi"}], **rest}
    if trial.route == "chat":
        rest = {"prompt": "Hi"} | rest
    return trial.servers[on].text(trial.ask(value, on, **rest).prompt)


@proof(ALL, "model")
def model(trial: Trial) -> None:
    for name in ("m", "other"):
        answer = trial.ask(name, model=ABSENT).ok()
        if "model" in answer.json:
            assert answer.json["model"] == name
    trial.ask("third", model=ABSENT).refuses("model", "model_not_found", 404)
    absent = trial.ask(ABSENT, model=ABSENT).ok()
    assert absent.effects["model"]["applied"] == "m"


@proof(("chat", "tokenize"), "messages")
def messages(trial: Trial) -> None:
    for on in ("tiny", "scripted"):
        hi = rendered(trial, TURNS[:1], on, messages=ABSENT, prompt=ABSENT)
        assert hi == CHAT_TEXT
        more = rendered(trial, [*TURNS, {"role": "user", "content": "So?"}], on, messages=ABSENT, prompt=ABSENT)
        assert "assistant\nWell<|im_end|>\n<|im_start|>user\nSo?<|im_end|>" in more
    assert "SmolLM" in rendered(trial, TURNS[:1], "demo", messages=ABSENT, prompt=ABSENT)


@proof((*COMPLETIONS, "tokenize"), "prompt")
def prompt(trial: Trial) -> None:
    rest: dict[str, Any] = {"prompt": ABSENT}
    if trial.route == "completions":
        rest |= IDS
    one = trial.ask("one river", **rest).prompt
    assert trial.servers["tiny"].text(one) == "<|endoftext|>one river"
    assert trial.ask("two rivers", **rest).prompt != one
    if trial.route == "completions":
        assert trial.ask(one, **rest).prompt == one
        several = trial.ask(["one river", "two rivers"], **rest).ok().json["choices"]
        assert [choice["prompt_token_ids"] for choice in several] == [one, trial.ask("two rivers", **rest).prompt]
        assert trial.ask([one], **rest).tokens == trial.ask("one river", **rest).tokens


@proof("detokenize", "tokens")
def tokens(trial: Trial) -> None:
    text = "Name a \U0001f408 river."
    for on in ("demo", "tiny"):
        ids = trial.servers[on].ask("tokenize", {"prompt": text, "add_special_tokens": False}).json["tokens"]
        assert trial.ask(ids, on).json == {"prompt": text}
        assert trial.ask([], on).json == {"prompt": ""}
        assert trial.ask(ids[:1], on).json["prompt"] == text[: len(trial.ask(ids[:1], on).json["prompt"])]


@proof(COMPLETIONS, "suffix")
def suffix(trial: Trial) -> None:
    plain = trial.ask(ABSENT, prompt="one", **IDS)
    assert trial.servers["tiny"].text(plain.prompt) == "<|endoftext|>one"
    filled = trial.ask(" end", prompt="one", **IDS)
    before, after, answer = GAP
    assert trial.servers["tiny"].text(filled.prompt) == f"<|endoftext|>{before}one{after} end{answer}"
    assert filled.tokens != plain.tokens
    trial.ask(" end", "demo").refuses("suffix")


# --- the template's fields ---


@proof(TEMPLATE, "tools")
def tools(trial: Trial) -> None:
    assert rendered(trial, ABSENT, "scripted") == CHAT_TEXT
    shown = rendered(trial, [TOOL], "scripted")
    assert shown.endswith(CHAT_TEXT)
    assert json.loads(shown.removeprefix("Tools: ").partition("\n")[0]) == [TOOL]
    if trial.route == "chat":
        rest: dict[str, Any] = {"prompt": "<call>", "max_tokens": 20}
        assert trial.ask(ABSENT, "scripted", **rest).text == CALL
        message = trial.ask([TOOL], "scripted", **rest).choice["message"]
        (call,) = message["tool_calls"]
        assert call["function"] == {"name": "f", "arguments": '{"x": 1}'}
        assert message["content"] is None


@proof(TEMPLATE, "documents")
def documents(trial: Trial) -> None:
    assert rendered(trial, ABSENT) == CHAT_TEXT
    shown = rendered(trial, [{"title": "a", "text": "b"}])
    assert json.loads(shown.removeprefix("Documents: ").partition("\n")[0]) == [{"title": "a", "text": "b"}]
    assert shown.endswith(CHAT_TEXT)


@proof(TEMPLATE, "chat_template_kwargs")
def chat_template_kwargs(trial: Trial) -> None:
    assert rendered(trial, ABSENT) == CHAT_TEXT
    assert rendered(trial, {}) == CHAT_TEXT
    assert rendered(trial, {"mood": "glad"}) == "Mood: glad\n" + CHAT_TEXT
    rest: dict[str, Any] = {"messages": TURNS[:1]}
    unread = trial.ask({"moods": 1}, **rest)
    assert unread.effects == {"chat_template_kwargs.moods": {"e": "inert", "nearest": "chat_template_kwargs.mood"}}
    trial.ask({"messages": []}, **rest).refuses("chat_template_kwargs.messages")


@proof(TEMPLATE, "add_generation_prompt")
def add_generation_prompt(trial: Trial) -> None:
    for value in (ABSENT, True):
        assert rendered(trial, value) == CHAT_TEXT
    assert rendered(trial, False) == CHAT_TEXT.removesuffix("<|im_start|>assistant\n")


@proof(TEMPLATE, "reasoning_effort")
def reasoning_effort(trial: Trial) -> None:
    assert rendered(trial, ABSENT) == CHAT_TEXT
    for effort in ("none", "low", "max"):
        assert rendered(trial, effort) == f"Effort: {effort}\nThinking: {effort != 'none'}\n{CHAT_TEXT}"
    own = {"chat_template_kwargs": {"reasoning_effort": "own"}}
    assert rendered(trial, "low", **own) == f"Effort: own\nThinking: True\n{CHAT_TEXT}"


@proof(TEMPLATE, "continue_final_message")
def continue_final_message(trial: Trial) -> None:
    for value in (ABSENT, False):
        closed = rendered(trial, value, messages=TURNS)
        assert closed == CHAT_TEXT + "Well<|im_end|>\n<|im_start|>assistant\n"
    assert rendered(trial, True, messages=TURNS) == CHAT_TEXT + "Well"


@proof((*GENERATE, "tokenize"), "add_special_tokens")
def add_special_tokens(trial: Trial) -> None:
    rest: dict[str, Any] = {} if trial.route == "tokenize" else IDS
    without, with_ = (trial.ask(value, **rest).prompt for value in (False, True))
    assert with_ == [0, *without]
    assert trial.ask(ABSENT, **rest).prompt == (without if trial.route == "chat" else with_)
    if trial.route == "tokenize":
        assert rendered(trial, ABSENT) == CHAT_TEXT
        assert rendered(trial, True) == "<|endoftext|>" + CHAT_TEXT


@proof("tokenize", "return_token_strs")
def return_token_strs(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        for value in (ABSENT, False):
            assert trial.ask(value, on, prompt="a river").json["token_strs"] is None
        answer = trial.ask(True, on, prompt="a river", add_special_tokens=False).json
        assert "".join(answer["token_strs"]).replace("\u0120", " ") == "a river"
        assert len(answer["token_strs"]) == answer["count"]


# --- cutting ---


@proof(GENERATE, "truncate_prompt_tokens")
def truncate_prompt_tokens(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        whole = trial.ask(ABSENT, on, **IDS).prompt
        for value in (3, 5):
            assert trial.ask(value, on, **IDS).prompt == whole[-value:]
        assert trial.ask(1000, on, **IDS).prompt == whole
        assert trial.ask(-1, on, **IDS).prompt == whole
    long: dict[str, Any] = {"prompt": "river " * 500, "max_tokens": 10}
    trial.ask(ABSENT, **long).refuses(_prompt_field(trial), "context_length_exceeded")
    cut = trial.ask(-1, **long, **IDS)
    assert len(cut.prompt) == 512 - 10
    assert cut.made == 10 or cut.finish == "stop"


def _prompt_field(trial: Trial) -> str:
    return "messages" if trial.route == "chat" else "prompt"


@proof(GENERATE, "truncation_side")
def truncation_side(trial: Trial) -> None:
    whole = trial.ask(ABSENT, **IDS).prompt
    rest: dict[str, Any] = IDS | {"truncate_prompt_tokens": 4}
    for value, kept in ((ABSENT, whole[-4:]), ("left", whole[-4:]), ("right", whole[:4])):
        assert trial.ask(value, **rest).prompt == kept
    alone: Answer = trial.ask("right", **IDS)
    assert alone.prompt == whole
    assert alone.effects == {"truncation_side": {"e": "inert"}}
