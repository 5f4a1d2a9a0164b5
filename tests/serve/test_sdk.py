"""OpenAI's own SDKs talk to the server as to OpenAI."""

import asyncio
from typing import Any

import openai
import pytest

from serve.node import run_node
from serve.server import Server

MESSAGES: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
MODEL = "SmolLM2-135M-Instruct"


@pytest.fixture
def client(demo: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{demo.url}/v1", api_key="none", max_retries=0)


def test_chat(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=24, temperature=0)
    text = whole.choices[0].message.content
    assert text is not None
    assert "Paris" in text
    stream = client.chat.completions.create(
        model=MODEL,
        messages=MESSAGES,
        max_tokens=24,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert whole.usage is not None
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_completions_with_stop(client: openai.OpenAI) -> None:
    free = client.completions.create(model=MODEL, prompt="1, 2, 3, 4,", max_tokens=20, temperature=0)
    text = free.choices[0].text
    assert "8" in text
    stopped = client.completions.create(
        model=MODEL, prompt="1, 2, 3, 4,", max_tokens=20, temperature=0, stop=["zzz", "8"]
    )
    assert stopped.choices[0].text == text[: text.index("8")]
    assert stopped.choices[0].finish_reason == "stop"
    stream = client.completions.create(
        model=MODEL, prompt="1, 2, 3, 4,", max_tokens=20, temperature=0, stop="8", stream=True
    )
    assert "".join(chunk.choices[0].text for chunk in stream) == stopped.choices[0].text


def test_errors_are_typed(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match=MODEL):
        client.chat.completions.create(model="no-such-model", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=MODEL, messages=MESSAGES, temperature=9)
    assert caught.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=MODEL, messages=MESSAGES, logit_bias={"5": 101})
    assert caught.value.param == "logit_bias"
    assert "5" in str(caught.value)


def _choices(answer: Any) -> list[Any]:
    return [choice.message.content for choice in answer.choices]


def test_several_choices_and_seeds(client: openai.OpenAI) -> None:
    def ask(seed: int) -> list[Any]:
        return _choices(
            client.chat.completions.create(
                model=MODEL, messages=MESSAGES, n=3, max_tokens=10, temperature=1, seed=seed, user="someone"
            )
        )

    texts = ask(11)
    assert len(set(texts)) == 3
    assert ask(11) == texts
    assert not set(ask(12)) & set(texts)
    stream = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, n=3, max_tokens=10, temperature=1, seed=11, stream=True
    )
    parts: list[list[str]] = [[], [], []]
    for chunk in stream:
        for choice in chunk.choices:
            parts[choice.index].append(choice.delta.content or "")
    assert ["".join(part) for part in parts] == texts


def test_chat_logprobs(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "messages": MESSAGES, "max_tokens": 6, "temperature": 0, "logprobs": True}
    choice = client.chat.completions.create(**asked, top_logprobs=2).choices[0]
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    assert choice.logprobs.refusal is None
    for entry in choice.logprobs.content:
        # Greedy takes the likeliest.
        assert entry.top_logprobs[0].token == entry.token
        assert entry.logprob == entry.top_logprobs[0].logprob >= entry.top_logprobs[1].logprob
        assert entry.bytes == list(entry.token.encode())
    assert "".join(entry.token for entry in choice.logprobs.content) == choice.message.content
    streamed: list[Any] = []
    for chunk in client.chat.completions.create(**asked, top_logprobs=2, stream=True):
        told = chunk.choices[0].logprobs
        streamed += (told.content or []) if told is not None else []
    assert [entry.token for entry in streamed] == [entry.token for entry in choice.logprobs.content]
    assert [entry.logprob for entry in streamed] == pytest.approx(
        [entry.logprob for entry in choice.logprobs.content], abs=1e-3
    )
    assert client.chat.completions.create(**asked).choices[0].logprobs is not None
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**asked | {"logprobs": False}, top_logprobs=2)
    assert caught.value.param == "top_logprobs"


def test_completions_logprobs_and_echo(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "prompt": "One, two,", "max_tokens": 4, "temperature": 0, "logprobs": 2}
    plain = client.completions.create(**asked).choices[0]
    echoed = client.completions.create(**asked, echo=True).choices[0]
    assert echoed.text == "One, two," + plain.text
    for choice in (plain, echoed):
        told = choice.logprobs
        assert told is not None
        assert told.tokens is not None
        assert told.text_offset is not None
        assert "".join(told.tokens) == choice.text
        assert [choice.text[at:].startswith(t) for at, t in zip(told.text_offset, told.tokens, strict=True)]
    assert plain.logprobs is not None
    assert echoed.logprobs is not None
    told, all_told = plain.logprobs.token_logprobs or [], echoed.logprobs.token_logprobs or []
    assert all_told[0] is None
    assert all_told[-4:] == pytest.approx(told, abs=1e-3)
    alone = client.completions.create(**asked | {"max_tokens": 0}, echo=True)
    assert alone.choices[0].text == "One, two,"
    assert alone.choices[0].logprobs is not None
    assert alone.choices[0].logprobs.token_logprobs == pytest.approx(all_told[:-4], abs=1e-3)
    assert alone.usage is not None
    assert alone.usage.completion_tokens == 0
    assert (
        client.completions.create(**asked | {"max_tokens": 0, "logprobs": None}, echo=True).choices[0].logprobs is None
    )
    streamed = list(client.completions.create(**asked, echo=True, stream=True))
    assert "".join(chunk.choices[0].text for chunk in streamed) == echoed.text


def test_best_of(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 6, "temperature": 1, "seed": 5}

    def mean(choice: Any) -> float:
        told: list[float] = choice.logprobs.token_logprobs
        return sum(told) / len(told)

    every = client.completions.create(**asked, n=5, logprobs=0)
    best = client.completions.create(**asked, n=2, best_of=5, logprobs=0)
    ranked = sorted(every.choices, key=mean, reverse=True)
    assert [choice.text for choice in best.choices] == [choice.text for choice in ranked[:2]]
    assert best.usage is not None
    assert every.usage is not None
    # What was made is counted, chosen or not.
    assert best.usage.completion_tokens == every.usage.completion_tokens
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(**asked, n=2, best_of=1)
    assert caught.value.param == "best_of"


def test_logit_bias(demo: Server, client: openai.OpenAI) -> None:
    def tokens(bias: dict[str, int]) -> list[str]:
        answer = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=5, temperature=0, logprobs=True, logit_bias=bias,
            extra_body={"return_tokens_as_token_ids": True},
        )  # fmt: skip
        told = answer.choices[0].logprobs
        assert told is not None
        return [entry.token.removeprefix("token_id:") for entry in told.content or ()]

    free = tokens({})
    (forced,) = demo.post("/tokenize", {"prompt": " banana"}).json()["tokens"][:1]
    assert tokens({str(forced): 100}) == [str(forced)] * 5
    banned = tokens(dict.fromkeys(free, -100))
    assert not set(banned) & set(free)
    assert len(banned) == 5


def test_request_ids(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "messages": MESSAGES, "max_tokens": 2}
    raw = client.chat.completions.with_raw_response
    mine = raw.create(**asked, extra_headers={"X-Request-Id": "mine-1"})
    assert mine.headers["x-request-id"] == "mine-1"
    assert mine.parse()._request_id == "mine-1"
    made = [raw.create(**asked, stream=stream).headers["x-request-id"] for stream in (False, True)]
    assert all(made)
    assert len(set(made)) == 2
    completed = client.completions.with_raw_response.create(
        model=MODEL, prompt="x", max_tokens=1, extra_headers={"X-Request-Id": "mine-2"}
    )
    assert completed.headers["x-request-id"] == "mine-2"
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**asked, temperature=9, extra_headers={"X-Request-Id": "mine-3"})
    assert caught.value.request_id == "mine-3"
    assert client.models.with_raw_response.list(extra_headers={"X-Request-Id": "m"}).headers["x-request-id"] == "m"


def test_32_concurrent_async_streams(demo: Server) -> None:
    async def one(client: openai.AsyncOpenAI, number: int) -> str:
        stream = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": f"Say the number {number % 4}."}],
            max_tokens=16,
            temperature=0,
            stream=True,
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{demo.url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(one(client, number) for number in range(32)))

    texts = asyncio.run(all_of_them())
    assert all(texts)
    assert len(set(texts)) == 4, "equal requests get equal answers"


def test_node_sdk(demo: Server) -> None:
    assert run_node("sdk.mjs", f"{demo.url}/v1", MODEL)["checks"] >= 24
