"""OpenAI's own SDKs talk to the server as to OpenAI."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import openai
import pytest

from serve.server import Server

NODE = Path(__file__).parents[1] / "node"
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
        client.chat.completions.create(model=MODEL, messages=MESSAGES, logit_bias={"5": 1})
    assert caught.value.param == "logit_bias"


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
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    if not (NODE / "node_modules" / "openai").is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=NODE, check=True, timeout=300)
    run = subprocess.run(
        ["node", "sdk.mjs", f"{demo.url}/v1", MODEL], cwd=NODE, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert json.loads(run.stdout)["checks"] >= 8
