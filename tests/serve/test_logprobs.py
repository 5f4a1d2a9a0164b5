"""Log probabilities over HTTP: of the right tokens, with the right text, and what the model says."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from overt import _core
from overt.models import load, resolve
from serve.schema import SPEC, check, check_streamed_completion
from serve.server import Server, serving, text_of

CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Write three words and an emoji."}],
    "max_tokens": 12,
    "temperature": 1,
    "seed": 3,
    "logprobs": True,
    "top_logprobs": 3,
}
PROMPT = "Zoë’s rocket \U0001f469\u200d\U0001f680 flew past 東京, then\n\tit landed. "
COMPLETION: dict[str, Any] = {"prompt": PROMPT, "max_tokens": 8, "temperature": 1, "seed": 3, "logprobs": 3}
AS_IDS = {"return_tokens_as_token_ids": True}
CLOSE = 1e-3
"""Rounding differs between batch shapes; an error is larger."""


@pytest.fixture(scope="module")
def chunked() -> Iterator[Server]:
    """Prefill in pieces of at most 16 tokens, and a prefix cache."""
    with serving("demo", "--max-model-len", "512", "--max-num-seqs", "8", "--max-num-batched-tokens", "16") as server:
        yield server


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    return load(resolve("demo"), dtype="float32", device="cpu", attn_implementation="eager")


@pytest.fixture(scope="module")
def tokenizer() -> _core.Tokenizer:
    return _core.Tokenizer(resolve("demo").tokenizer_json)


@torch.inference_mode()
def _distributions(model: torch.nn.Module, tokens: Sequence[int]) -> torch.Tensor:
    """Log softmax of what follows each token: float32 `[tokens, vocab]`."""
    return model(torch.tensor([list(tokens)])).logits[0].float().log_softmax(-1)  # type: ignore[no-any-return]


def _ask(server: Server, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.post(path, body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def _id(token: str) -> int:
    return int(token.removeprefix("token_id:"))


def _bytes(entries: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(bytes(entry["bytes"] or ()) for entry in entries)


def _streamed(chunks: Sequence[dict[str, Any]], index: int = 0, *, aligned: bool = True) -> list[dict[str, Any]]:
    """The joined entries of a chat stream's choice.

    Every chunk's are those of its own text; not `aligned`, where a chunk may end within a token, which is then told
    with the chunk that ends it.
    """
    joined: list[dict[str, Any]] = []
    shown = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["index"] == index:
                content = choice["delta"].get("content") or ""
                entries = choice["logprobs"]["content"] if choice["logprobs"] else []
                shown += content
                joined += entries
                if aligned:
                    assert bool(entries) == bool(content)
                    assert _bytes(entries).decode("utf-8", "replace") == content
                elif content:
                    assert shown.startswith(_bytes(joined).decode())
    return joined


def _assert_same(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> None:
    """The same tokens, and probabilities that differ by no more than rounding."""
    assert [(entry["token"], entry["bytes"]) for entry in one] == [(entry["token"], entry["bytes"]) for entry in other]
    for a, b in zip(one, other, strict=True):
        for key in ("logprob", "top_logprobs"):
            values, others = ([e[key]] if key == "logprob" else [t["logprob"] for t in e[key]] for e in (a, b))
            assert values == pytest.approx(others, abs=CLOSE)


def test_shapes_are_those_of_the_schema(demo: Server) -> None:
    if not SPEC.exists():
        pytest.skip(f"OpenAI's schema is not at {SPEC}: answers are not held against it")
    for extra in ({"n": 2}, {"top_logprobs": 0}, AS_IDS):
        check("CreateChatCompletionResponse", _ask(demo, "/v1/chat/completions", CHAT | {"max_tokens": 2} | extra))
    for chunk in demo.chunks("/v1/chat/completions", CHAT | {"max_tokens": 2, "n": 2}):
        check("CreateChatCompletionStreamResponse", chunk)
    for extra in ({"n": 2, "best_of": 3}, {"logprobs": 0}, AS_IDS):
        check("CreateCompletionResponse", _ask(demo, "/v1/completions", COMPLETION | {"max_tokens": 2} | extra))
    for chunk in demo.chunks("/v1/completions", COMPLETION | {"max_tokens": 2, "n": 2}):
        check_streamed_completion(chunk)


def test_chat_streamed_equals_whole(demo: Server) -> None:
    body = CHAT | {"n": 2, "max_tokens": 16}
    whole = _ask(demo, "/v1/chat/completions", body)["choices"]
    chunks = demo.chunks("/v1/chat/completions", body)
    assert whole[0]["message"]["content"] != whole[1]["message"]["content"]
    for index, choice in enumerate(whole):
        entries, text = choice["logprobs"]["content"], choice["message"]["content"]
        assert choice["logprobs"]["refusal"] is None
        assert text_of(chunks, index) == text == _bytes(entries).decode("utf-8", "replace")
        _assert_same(_streamed(chunks, index), entries)
        for entry in entries:
            assert len(entry["top_logprobs"]) == 3
            likeliest = [top["logprob"] for top in entry["top_logprobs"]]
            assert likeliest == sorted(likeliest, reverse=True)
            assert entry["logprob"] <= likeliest[0]


def test_completions_streamed_equals_whole(demo: Server) -> None:
    body = COMPLETION | {"n": 2, "echo": True}
    whole = _ask(demo, "/v1/completions", body)["choices"]
    chunks = demo.chunks("/v1/completions", body)
    for index, choice in enumerate(whole):
        mine = [c["choices"][0] for c in chunks if c["choices"][0]["index"] == index]
        told = choice["logprobs"]
        assert text_of(chunks, index) == choice["text"]
        assert choice["text"].startswith(PROMPT)
        lists = [piece["logprobs"] for piece in mine if piece["logprobs"]]
        for name in ("tokens", "text_offset"):
            assert [value for piece in lists for value in piece[name]] == told[name]
        joined = [value for piece in lists for value in piece["token_logprobs"]]
        assert joined[0] is None
        assert joined[1:] == pytest.approx(told["token_logprobs"][1:], abs=CLOSE)
        assert [t and t.keys() for piece in lists for t in piece["top_logprobs"]] == [
            t and t.keys() for t in told["top_logprobs"]
        ]
        assert told["text_offset"][0] == 0
        for token, offset in zip(told["tokens"], told["text_offset"], strict=True):
            if not token.startswith("bytes:"):
                assert choice["text"].startswith(token, offset), (token, offset)


def test_text_that_a_stop_holds_back_is_told_when_it_is_shown(demo: Server) -> None:
    question = {"role": "user", "content": "Name three rivers of Europe."}
    body = CHAT | {"messages": [question], "temperature": 0, "max_tokens": 12, "seed": None}
    free = _ask(demo, "/v1/chat/completions", body)["choices"][0]
    text, entries = free["message"]["content"], free["logprobs"]["content"]
    ends = [len(_bytes(entries[:count]).decode()) for count in range(len(entries))]
    # At the beginning, between two tokens, within one.
    within = next(end for end, following in pairwise(ends) if following > end + 3) + 2
    for begin in (0, ends[3], within):
        missed = body | {"stop": [text[begin : begin + 12] + "\x00"]}
        chunks = demo.chunks("/v1/chat/completions", missed)
        assert text_of(chunks) == text
        # Several tokens were shown at once.
        assert len([c for c in chunks if c["choices"][0]["delta"].get("content")]) < len(entries)
        _assert_same(_streamed(chunks, aligned=begin in ends), entries)

        stop = text[begin : begin + 8]
        met = body | {"stop": [stop]}
        whole = _ask(demo, "/v1/chat/completions", met)["choices"][0]
        chunks = demo.chunks("/v1/chat/completions", met)
        shown = text[: text.index(stop)]
        assert whole["message"]["content"] == text_of(chunks) == shown
        told = whole["logprobs"]["content"]
        _assert_same(told, entries[: len(told)])
        # A token that the cut goes through is told, since some of it is shown; those behind it are not.
        assert len(told) == next(count for count, end in enumerate(ends) if end >= len(shown))
        joined = [e for c in chunks for k in c["choices"] for e in (k["logprobs"] or {"content": []})["content"]]
        _assert_same(joined, told)


def test_tokens_that_are_no_whole_character(tmp_path: Path) -> None:
    # Each answer is asked for twice.
    answers = [
        {"bytes_hex": ["61", "f09f", "9088", "20", "e2", "82", "ac", "21"]},
        {"pieces": ["ST", "ST", "O", "x", " ST", "OP", " end"]},
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"answers": [answer for answer in answers for _ in range(3)]}))
    body = CHAT | {"max_tokens": 20, "stop": ["STOP"], "top_logprobs": 0}
    with serving("demo", "--model-runner", "script", "--script", str(file)) as server:
        for text, tokens in (
            ("a\U0001f408 €!", ["a", r"\xf0\x9f", r"\x90\x88", " ", r"\xe2", r"\x82", r"\xac", "!"]),
            ("STSTOx ", ["ST", "ST", "O", "x", " ST"]),
        ):
            whole = _ask(server, "/v1/chat/completions", body)["choices"][0]
            chunks = server.chunks("/v1/chat/completions", body)
            assert whole["message"]["content"] == text_of(chunks) == text
            assert [entry["token"] for entry in whole["logprobs"]["content"]] == tokens
            joined = [e for c in chunks for k in c["choices"] for e in (k["logprobs"] or {"content": []})["content"]]
            assert joined == whole["logprobs"]["content"]
            completed = _ask(
                server, "/v1/completions", {"prompt": "x", "max_tokens": 20, "stop": "STOP", "logprobs": 0}
            )
            told = completed["choices"][0]["logprobs"]
            assert told["tokens"] == [f"bytes:{t}" if t.startswith("\\x") else t for t in tokens]


def test_values_of_a_chat(demo: Server, model: torch.nn.Module) -> None:
    prompt = demo.post("/tokenize", {"messages": CHAT["messages"]}).json()["tokens"]
    for choice in _ask(demo, "/v1/chat/completions", CHAT | AS_IDS | {"n": 2})["choices"]:
        entries = choice["logprobs"]["content"]
        tokens = [_id(entry["token"]) for entry in entries]
        expected = _distributions(model, prompt + tokens)[len(prompt) - 1 : -1]
        _assert_values(expected, tokens, [entry["logprob"] for entry in entries])
        for row, entry in zip(expected, entries, strict=True):
            told = {_id(top["token"]): top["logprob"] for top in entry["top_logprobs"]}
            _assert_likeliest(row, told, 3)


@pytest.mark.parametrize("which", ["demo", "chunked"])
def test_values_of_a_prompt(which: str, request: pytest.FixtureRequest, model: torch.nn.Module) -> None:
    server: Server = request.getfixturevalue(which)
    prompt = server.post("/tokenize", {"prompt": PROMPT + "One two three four five"}).json()["tokens"]
    assert len(prompt) > 32
    body = COMPLETION | AS_IDS | {"prompt": prompt, "n": 2, "prompt_logprobs": 2, "max_tokens": 4}
    # The second time its blocks are in the prefix cache.
    for extra in ({"echo": True}, {"echo": True}, {}):
        for choice in _ask(server, "/v1/completions", body | extra)["choices"]:
            told = choice["logprobs"]
            tokens = [_id(token) for token in told["tokens"]]
            echoed = len(prompt) if extra else 0
            assert tokens[:echoed] == prompt[:echoed]
            everything = prompt + tokens[echoed:]
            expected = _distributions(model, everything)
            first = 1 if extra else 0
            rows = expected[:-1] if extra else expected[len(prompt) - 1 : -1]
            assert extra == {} or (told["token_logprobs"][0] is None and told["top_logprobs"][0] is None)
            _assert_values(rows, tokens[first:], told["token_logprobs"][first:])
            for row, token, top in zip(rows, tokens[first:], told["top_logprobs"][first:], strict=True):
                _assert_likeliest(row, {_id(key): value for key, value in top.items()}, 3, token)
            _assert_prompt(expected, prompt, choice["prompt_logprobs"], 2)


def test_values_of_a_chat_prompt(chunked: Server, model: torch.nn.Module) -> None:
    prompt = chunked.post("/tokenize", {"messages": CHAT["messages"]}).json()["tokens"]
    body = {"messages": CHAT["messages"], "prompt_logprobs": 0, "max_tokens": 1}
    answer = _ask(chunked, "/v1/chat/completions", body)
    assert answer["choices"][0]["logprobs"] is None
    _assert_prompt(_distributions(model, prompt), prompt, answer["prompt_logprobs"], 0)


def test_an_echo_alone_makes_no_token(demo: Server, model: torch.nn.Module) -> None:
    body = COMPLETION | AS_IDS | {"echo": True, "max_tokens": 0, "prompt": [PROMPT, "One two three"]}
    answer = _ask(demo, "/v1/completions", body)
    assert answer["usage"]["completion_tokens"] == 0
    assert [choice["text"] for choice in answer["choices"]] == body["prompt"]
    for choice in answer["choices"]:
        tokens = [_id(token) for token in choice["logprobs"]["tokens"]]
        rows = _distributions(model, tokens)[:-1]
        _assert_values(rows, tokens[1:], choice["logprobs"]["token_logprobs"][1:])


def test_a_hidden_special_token_has_no_bytes(demo: Server, tokenizer: _core.Tokenizer) -> None:
    (end,) = tokenizer.encode("<|im_end|>", False)
    body = CHAT | {"max_tokens": 2, "ignore_eos": True, "logit_bias": {str(end): 100}, "temperature": 0}
    choice = _ask(demo, "/v1/chat/completions", body)["choices"][0]
    assert choice["message"]["content"] == ""
    assert [(e["token"], e["bytes"]) for e in choice["logprobs"]["content"]] == [("<|im_end|>", None)] * 2
    shown = _ask(demo, "/v1/chat/completions", body | {"skip_special_tokens": False})["choices"][0]
    assert shown["message"]["content"] == "<|im_end|>" * 2
    assert _bytes(shown["logprobs"]["content"]).decode() == "<|im_end|>" * 2
    # The end of the turn is not told: it made no text.
    ended = _ask(demo, "/v1/chat/completions", body | {"ignore_eos": False})["choices"][0]
    assert ended["finish_reason"] == "stop"
    assert ended["logprobs"]["content"] == []


def _assert_values(rows: torch.Tensor, tokens: Sequence[int], told: Sequence[float]) -> None:
    wanted = rows.gather(-1, torch.tensor(tokens)[:, None]).squeeze(-1).tolist()
    assert list(told) == pytest.approx(wanted, abs=CLOSE)


def _assert_likeliest(row: torch.Tensor, told: dict[int, float], count: int, taken: int | None = None) -> None:
    """`told` are the `count` likeliest tokens, and the one taken where it is another."""
    assert len(told) in {count, count + (taken is not None)}
    assert list(told.values()) == pytest.approx(row[list(told)].tolist(), abs=CLOSE)
    least = row.topk(count).values[-1].item()
    assert all(row[token].item() > least - CLOSE for token in told if token != taken)


def _assert_prompt(
    rows: torch.Tensor, prompt: Sequence[int], told: Sequence[dict[str, Any] | None], count: int
) -> None:
    assert len(told) == len(prompt)
    assert told[0] is None
    for row, token, entries in zip(rows, prompt[1:], told[1:], strict=False):
        assert entries is not None
        if count:
            _assert_likeliest(row, {int(key): entry["logprob"] for key, entry in entries.items()}, count, token)
        own = entries[str(token)]
        assert own["logprob"] == pytest.approx(row[token].item(), abs=CLOSE)
        for key, entry in entries.items():
            value = row[int(key)].item()
            assert (row > value + CLOSE).sum().item() < entry["rank"] <= (row > value - CLOSE).sum().item() + 1
