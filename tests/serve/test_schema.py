"""Every byte that leaves is what OpenAI's own schema says."""

from typing import Any

import jsonschema
import pytest

from serve.schema import SPEC, check, check_streamed_completion
from serve.server import Server, text_of

CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Name three rivers."}],
    "max_tokens": 12,
    "temperature": 0,
}
COMPLETION: dict[str, Any] = {"prompt": "Three rivers are", "max_tokens": 12, "temperature": 0}
USAGE = {"stream_options": {"include_usage": True}}


def test_the_schema_is_here() -> None:
    if not SPEC.exists():
        pytest.skip(f"OpenAI's schema is not at {SPEC}: answers are not held against it")
    with pytest.raises(jsonschema.ValidationError):
        check("CreateCompletionResponse", {"id": 1})


@pytest.mark.parametrize("extra", [{}, {"n": 2, "temperature": 1, "seed": 3}, {"max_tokens": 1}])
def test_answers(demo: Server, extra: dict[str, Any]) -> None:
    chat = demo.post("/v1/chat/completions", CHAT | extra).json()
    check("CreateChatCompletionResponse", chat)
    completion = demo.post("/v1/completions", COMPLETION | extra).json()
    check("CreateCompletionResponse", completion)
    for answer, prefix in ((chat, "chatcmpl-"), (completion, "cmpl-")):
        assert answer["id"].startswith(prefix)
        usage = answer["usage"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert len(answer["choices"]) == extra.get("n", 1)


@pytest.mark.parametrize("options", [{}, USAGE, {"n": 2} | USAGE])
def test_chat_stream(demo: Server, options: dict[str, Any]) -> None:
    chunks = demo.chunks("/v1/chat/completions", CHAT | options)
    for chunk in chunks:
        check("CreateChatCompletionStreamResponse", chunk)
    n = options.get("n", 1)
    for index in range(n):
        mine = [c["choices"][0] for c in chunks if c["choices"] and c["choices"][0]["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant", "content": ""}
        assert [c["finish_reason"] for c in mine if c["finish_reason"]] == ["length"]
        assert mine[-1]["delta"] == {}
    assert len({chunk["id"] for chunk in chunks}) == 1
    whole = demo.post("/v1/chat/completions", CHAT | {k: v for k, v in options.items() if k == "n"}).json()
    assert [text_of(chunks, i) for i in range(n)] == [c["message"]["content"] for c in whole["choices"]]
    if "stream_options" in options:
        assert chunks[-1]["choices"] == []
        counts = ("prompt_tokens", "completion_tokens", "total_tokens")
        assert [chunks[-1]["usage"][k] for k in counts] == [whole["usage"][k] for k in counts]
        assert all(chunk["usage"] is None for chunk in chunks[:-1])
    else:
        assert not any("usage" in chunk for chunk in chunks)


@pytest.mark.parametrize("options", [{}, USAGE])
def test_completion_stream(demo: Server, options: dict[str, Any]) -> None:
    chunks = demo.chunks("/v1/completions", COMPLETION | options)
    for chunk in chunks:
        check_streamed_completion(chunk)
    whole = demo.post("/v1/completions", COMPLETION).json()
    assert text_of(chunks) == whole["choices"][0]["text"]
    finishes = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
    assert [reason for reason in finishes if reason] == ["length"]
    assert ("usage" in chunks[0]) == bool(options)


def test_models(demo: Server) -> None:
    listed = demo.client.get("/v1/models").json()
    check("ListModelsResponse", listed)
    name = listed["data"][0]["id"]
    one = demo.client.get(f"/v1/models/{name}").json()
    check("Model", one)
    assert one["id"] == name
    missing = demo.client.get("/v1/models/no/such")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "model_not_found"


def test_lists_of_prompts_and_ids(demo: Server) -> None:
    texts = ["One two three", "The sky is", "A"]
    alone = [demo.post("/v1/completions", COMPLETION | {"prompt": text}).json() for text in texts]
    together = demo.post("/v1/completions", COMPLETION | {"prompt": texts}).json()
    assert [c["text"] for c in together["choices"]] == [a["choices"][0]["text"] for a in alone]
    assert [c["index"] for c in together["choices"]] == [0, 1, 2]
    assert together["usage"]["prompt_tokens"] == sum(a["usage"]["prompt_tokens"] for a in alone)
    ids = [demo.post("/tokenize", {"prompt": text}).json()["tokens"] for text in texts]
    by_id = demo.post("/v1/completions", COMPLETION | {"prompt": ids}).json()
    assert [c["text"] for c in by_id["choices"]] == [c["text"] for c in together["choices"]]
    single = demo.post("/v1/completions", COMPLETION | {"prompt": ids[0]}).json()
    assert single["choices"][0]["text"] == alone[0]["choices"][0]["text"]
