"""A client that leaves takes everything of its request with it, and nothing of anyone else's."""

import asyncio
import json
import random

import httpx

from serve.server import serving, text_of

BODY = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 400, "stream": True}


async def _leave(url: str, number: int, rng: random.Random) -> None:
    """Starts a stream and leaves: before the first byte, or after a few."""
    async with httpx.AsyncClient(timeout=60) as client:
        body = BODY | {"messages": [{"role": "user", "content": f"request {number}"}]}
        frames = rng.choice([0, 0, 1, 3, 10, 40])
        try:
            async with asyncio.timeout(rng.uniform(0.01, 1.5)):
                async with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
                    assert response.status_code == 200
                    async for _ in response.aiter_lines():
                        frames -= 1
                        if frames <= 0:
                            break
        except TimeoutError:
            pass


async def _stay(url: str) -> str:
    async with httpx.AsyncClient(timeout=60) as client:
        async with client.stream("POST", f"{url}/v1/chat/completions", json=BODY) as response:
            lines = [line async for line in response.aiter_lines() if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    return text_of([json.loads(line.removeprefix("data: ")) for line in lines[:-1]])


def test_200_streams_killed_at_random() -> None:
    flags = ("--model-runner", "sim", "--sim-step-ms", "5", "--max-num-seqs", "24")
    with serving("demo", *flags) as server:
        rng = random.Random(7)
        alone = asyncio.run(_stay(server.url))

        async def everyone() -> list[str]:
            leavers = [_leave(server.url, number, rng) for number in range(200)]
            stayers = [_stay(server.url) for _ in range(4)]
            results = await asyncio.gather(*stayers, *leavers)
            return [text for text in results if text is not None]

        texts = asyncio.run(everyone())
        assert texts == [alone] * 4
        metrics = server.wait_idle()
        assert metrics["overt:kv_blocks_used"] == 0
        assert metrics["overt:requests_running"] == 0
        assert metrics["overt:requests_waiting"] == 0
        for word in ("Traceback", "ERROR", "Exception", "panicked"):
            assert word not in server.log, server.log


def test_a_queued_request_is_aborted() -> None:
    flags = ("--model-runner", "sim", "--sim-step-ms", "20", "--max-num-seqs", "1")
    with serving("demo", *flags) as server:
        with server.client.stream("POST", "/v1/chat/completions", json=BODY) as running:
            next(running.iter_lines())
            try:
                httpx.post(f"{server.url}/v1/chat/completions", json=BODY | {"stream": False}, timeout=0.5)
            except httpx.ReadTimeout:
                pass
            else:
                raise AssertionError("the second request should have waited for the only row")
        metrics = server.wait_idle(10)
        assert metrics["overt:requests_waiting"] == 0
        assert metrics["overt:requests_running"] == 0
