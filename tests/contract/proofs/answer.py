"""What the answer holds, and how it is sent."""

from typing import Any

from contract.proofs.registry import proof
from contract.proofs.servers import HIDDEN
from contract.proofs.stopping import WORDS
from contract.proofs.talk import ABSENT, QUESTION
from contract.proofs.trial import Trial
from overt.contract.field import CHAT, COMPLETIONS, GENERATE

IDS: dict[str, Any] = {"return_token_ids": True}


# --- streams ---


@proof(GENERATE, "stream")
def stream(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        whole = trial.ask(ABSENT, on, max_tokens=5)
        assert not whole.streamed
        assert trial.ask(False, on, max_tokens=5).masked == whole.masked
        streamed = trial.ask(True, on, max_tokens=5)
        assert streamed.streamed
        assert streamed.texts == whole.texts
        assert len(streamed.chunks) > 1


def usages(chunks: list[dict[str, Any]]) -> list[Any]:
    """What each chunk says of token counts."""
    return [chunk.get("usage", "absent") for chunk in chunks]


@proof(GENERATE, "stream_options")
def stream_options(trial: Trial) -> None:
    assert set(usages(trial.ask(ABSENT, stream=True).chunks)) == {"absent"}
    told = trial.ask({"include_usage": True}, stream=True).chunks
    assert told[-1]["usage"]["completion_tokens"] == 4
    trial.ask({"include_usage": True}).refuses("stream_options")


@proof(GENERATE, "stream_options.include_usage")
def include_usage(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        for value in (ABSENT, False):
            chunks = trial.ask(value, on, stream=True, stream_options={}).chunks
            assert set(usages(chunks)) == {"absent"}
        chunks = trial.ask(True, on, stream=True, stream_options={}).chunks
        assert chunks[-1]["choices"] == []
        assert usages(chunks)[:-1] == [None] * (len(chunks) - 1)
        usage = usages(chunks)[-1]
        assert usage["completion_tokens"] == 4
        assert usage == trial.ask(ABSENT, on, stream=False).json["usage"] | {
            "prompt_tokens_details": usage["prompt_tokens_details"]
        }


@proof(GENERATE, "stream_options.continuous_usage_stats")
def continuous_usage_stats(trial: Trial) -> None:
    rest: dict[str, Any] = {"prompt": WORDS, "max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}}
    plain = usages(trial.ask(ABSENT, "scripted", **rest).chunks)
    assert plain[:-1] == [None] * (len(plain) - 1)
    told = usages(trial.ask(True, "scripted", **rest).chunks)
    counts = [usage["completion_tokens"] for usage in told]
    assert counts == sorted(counts)
    assert counts[-1] == 4
    assert set(counts) >= {1, 2, 3, 4}
    assert {usage["total_tokens"] - usage["completion_tokens"] for usage in told} == {told[0]["prompt_tokens"]}


@proof(GENERATE, "stream_options.include_obfuscation")
def include_obfuscation(trial: Trial) -> None:
    rest: dict[str, Any] = {"prompt": WORDS, "max_tokens": 9, "stream": True, "stream_options": {}}
    for value in (ABSENT, False):
        assert not any("obfuscation" in chunk for chunk in trial.ask(value, "scripted", **rest).chunks)
    answer = trial.ask(True, "scripted", **rest)
    texts = [chunk for chunk in answer.chunks if _text(chunk)]
    assert answer.texts == ["one two three four"]
    assert len(texts) > 1
    assert len({len(_text(chunk)) + len(chunk["obfuscation"]) for chunk in texts}) == 1


def _text(chunk: dict[str, Any]) -> str:
    (choice,) = chunk["choices"]
    text: str = choice["text"] if "text" in choice else choice["delta"].get("content") or ""
    return text


# --- text ---


@proof(COMPLETIONS, "echo")
def echo(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        plain = trial.ask(ABSENT, on, prompt="Two words").text
        assert trial.ask(True, on, prompt="Two words").text == "Two words" + plain
    assert trial.ask(True, prompt="Two words", max_tokens=0).text == "Two words"
    trial.ask(ABSENT, prompt="Two words", max_tokens=0).refuses("max_tokens")


@proof(GENERATE, "skip_special_tokens")
def skip_special_tokens(trial: Trial) -> None:
    rest: dict[str, Any] = {"prompt": "<hidden>", "max_tokens": 9}
    for value, text in ((ABSENT, "ab"), (True, "ab"), (False, f"a{HIDDEN}b")):
        assert trial.ask(value, "scripted", **rest).text == text
    ended: dict[str, Any] = {"logit_bias": {"0": 100}, "max_tokens": 2, "ignore_eos": True}
    assert trial.ask(ABSENT, **ended).text == ""
    assert trial.ask(False, **ended).text == "<|endoftext|>" * 2


@proof(GENERATE, "spaces_between_special_tokens")
def spaces_between_special_tokens(trial: Trial) -> None:
    # What it would change is not in any text: `true` is how things are, `false` is told to change nothing.
    rest: dict[str, Any] = {"prompt": "<hidden>", "max_tokens": 9, "skip_special_tokens": False}
    plain = trial.ask(ABSENT, "scripted", **rest)
    assert plain.text == f"a{HIDDEN}b"
    assert trial.ask(True, "scripted", **rest).masked == plain.masked
    unserved = trial.ask(False, "scripted", **rest)
    assert unserved.masked == plain.masked
    assert unserved.effects == {"spaces_between_special_tokens": {"e": "inert"}}


# --- log probabilities and ids ---


@proof(CHAT, "logprobs")
def logprobs_of_chat(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        rest: dict[str, Any] = IDS | {"return_tokens_as_token_ids": True}
        plain = trial.ask(ABSENT, on, **rest)
        assert plain.choice["logprobs"] is None
        answer = trial.ask(True, on, **rest)
        assert [step.token for step in answer.steps()] == plain.tokens[0]
        assert all(step.logprob <= 0 and not step.likeliest for step in answer.steps())


@proof(CHAT, "top_logprobs")
def top_logprobs(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        for value in (1, 3):
            steps = trial.ask(value, on, logprobs=True, return_tokens_as_token_ids=True).steps()
            for step in steps:
                assert len(step.likeliest) == value
                assert [*step.likeliest.values()] == sorted(step.likeliest.values(), reverse=True)
                # Greedy: the token is the likeliest.
                assert next(iter(step.likeliest.items())) == (step.token, step.logprob)
    trial.ask(2).refuses("top_logprobs")


@proof(COMPLETIONS, "logprobs")
def logprobs_of_completions(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        rest: dict[str, Any] = IDS | {"return_tokens_as_token_ids": True}
        plain = trial.ask(ABSENT, on, **rest)
        assert plain.choice["logprobs"] is None
        for value in (0, 3):
            steps = trial.ask(value, on, **rest).steps()
            assert [step.token for step in steps] == plain.tokens[0]
            # The token's own is always told.
            assert {len(step.likeliest) for step in steps} == {max(value, 1)} or value == 0
            assert all(step.likeliest.get(step.token, step.logprob) == step.logprob <= 0 for step in steps)


@proof(GENERATE, "prompt_logprobs")
def prompt_logprobs(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        plain = trial.ask(ABSENT, on, **IDS)
        assert _prompt_logprobs(trial, plain.json) is None
        answer = trial.ask(2, on, **IDS)
        told = _prompt_logprobs(trial, answer.json)
        assert told[0] is None
        assert len(told) == len(answer.prompt)
        for token, entries in zip(answer.prompt[1:], told[1:], strict=True):
            assert len(entries) in (2, 3)
            assert entries[str(token)]["logprob"] <= 0
            assert {1, 2} <= {entry["rank"] for entry in entries.values()}


def _prompt_logprobs(trial: Trial, body: dict[str, Any]) -> Any:
    return (body if trial.route == "chat" else body["choices"][0]).get("prompt_logprobs")


@proof(GENERATE, "return_tokens_as_token_ids")
def return_tokens_as_token_ids(trial: Trial) -> None:
    rest: dict[str, Any] = IDS | ({"logprobs": True} if trial.route == "chat" else {"logprobs": 1})
    for on in ("demo", "tiny"):
        plain = trial.ask(ABSENT, on, **rest)
        if on == "demo":
            # The other one's tokens are hardly ever whole characters.
            assert "".join(_spelt(trial, plain.choice)) == plain.text
        answer = trial.ask(True, on, **rest)
        assert _spelt(trial, answer.choice) == [f"token_id:{token}" for token in plain.tokens[0]]


def _spelt(trial: Trial, choice: dict[str, Any]) -> list[str]:
    told = choice["logprobs"]
    return [entry["token"] for entry in told["content"]] if trial.route == "chat" else told["tokens"]


@proof(GENERATE, "return_token_ids")
def return_token_ids(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        plain = trial.ask(ABSENT, on)
        assert b"token_ids" not in plain.raw
        answer = trial.ask(True, on)
        assert answer.text == plain.text
        assert trial.servers[on].text(answer.tokens[0]) == plain.text
        assert QUESTION in trial.servers[on].text(answer.prompt)
        assert len(answer.prompt) == plain.json["usage"]["prompt_tokens"]


@proof(CHAT, "return_prompt_text")
def return_prompt_text(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        plain = trial.ask(ABSENT, on)
        assert b"prompt_text" not in plain.raw
        told = trial.ask(True, on)
        answer = trial.ask(True, on, **IDS)
        assert answer.text == told.text == plain.text
        assert told.json["prompt_text"] == answer.json["prompt_text"]
        assert answer.json["prompt_text"] == trial.servers[on].text(answer.prompt)
        assert QUESTION in answer.json["prompt_text"]
        cut = trial.ask(True, on, truncate_prompt_tokens=3, **IDS)
        assert cut.json["prompt_text"] == trial.servers[on].text(cut.prompt)
        first, *rest = trial.ask(True, on, stream=True).chunks
        assert first["prompt_text"] == answer.json["prompt_text"]
        assert not any("prompt_text" in chunk for chunk in rest)
