"""The floor to compare with: a raw ASGI app on uvicorn that writes prepared SSE bytes, one frame a stream and step.

python bench/raw_app.py PORT STEP_MS
"""

import asyncio
import sys
from typing import Any

import uvicorn

TOKENS = 128
HEAD = b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":0,"model":"raw","choices":[{"index":0,'
FIRST = HEAD + b'"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}\n\n'
TOKEN = HEAD + b'"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}\n\n'
LAST = HEAD + b'"delta":{},"logprobs":null,"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'

_waiting: list[asyncio.Future[None]] = []


async def _tick(step_s: float) -> None:
    """One wake a step for every stream, as an engine gives."""
    loop = asyncio.get_running_loop()
    at = loop.time()
    while True:
        at = max(at + step_s, loop.time())
        await asyncio.sleep(at - loop.time())
        woken, _waiting[:] = _waiting[:], []
        for future in woken:
            if not future.done():
                future.set_result(None)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Any request gets TOKENS frames, one a step."""
    if scope["type"] != "http":
        return
    loop = asyncio.get_running_loop()
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for index in range(TOKENS):
        future: asyncio.Future[None] = loop.create_future()
        _waiting.append(future)
        await future
        body = FIRST + TOKEN if index == 0 else TOKEN
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": LAST})


async def main(port: int, step_ms: float) -> None:
    """Serves until killed."""
    config = uvicorn.Config(app, port=port, log_level="warning", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    ticking = asyncio.create_task(_tick(step_ms / 1000))
    await server.serve()
    ticking.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
