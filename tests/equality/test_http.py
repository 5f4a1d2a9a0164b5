"""The same over HTTP, streamed and not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from equality.conftest import Case
from equality.oracle import GAP, MAX_TIES, Expected
from overt import _core
from serve.server import Server, serving, text_of


@pytest.fixture(scope="module")
def server(case: Case) -> Iterator[Server]:
    with serving(case.files.source, "--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "16") as it:
        yield it


def _compare(mode: str, case: Case, texts: list[str]) -> None:
    tokenizer = _core.Tokenizer(case.files.tokenizer_json)
    ties = 0
    for index, (expected, text) in enumerate(zip(case.expected, texts, strict=True)):
        if text == tokenizer.decode(expected.tokens, False):
            continue
        gap = _gap_at_difference(tokenizer, expected, text)
        print(f"{mode}: prompt {index} differs where the oracle's gap is {gap:.6f}")
        assert gap < GAP, f"{mode}: prompt {index}: {text!r}"
        ties += 1
    assert ties <= MAX_TIES


def _gap_at_difference(tokenizer: _core.Tokenizer, expected: Expected, text: str) -> float:
    """The oracle's gap at the first token whose text is not in `text`."""
    for at in range(len(expected.tokens)):
        so_far = tokenizer.decode(expected.tokens[: at + 1], False).rstrip("\ufffd")
        if not text.startswith(so_far):
            return expected.gaps[at]
    raise AssertionError(f"more text than was asked for: {text!r}")


def _body(case: Case, prompt: list[int]) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "max_tokens": case.count,
        "temperature": 0,
        "ignore_eos": True,
        "skip_special_tokens": False,
    }


# What stands between the engine and the client is the same for every model: a real one, and one with windows.
THROUGH = pytest.mark.parametrize("case", ["smollm2", "gemma3"], indirect=True, scope="module")


@THROUGH
def test_not_streamed(case: Case, server: Server) -> None:
    answer = server.post("/v1/completions", _body(case, []) | {"prompt": case.prompts})
    assert answer.status_code == 200, answer.text
    _compare(f"{case.name} over HTTP", case, [choice["text"] for choice in answer.json()["choices"]])


@THROUGH
def test_streamed(case: Case, server: Server) -> None:
    def one(prompt: list[int]) -> str:
        return text_of(server.chunks("/v1/completions", _body(case, prompt)))

    with ThreadPoolExecutor(16) as pool:
        _compare(f"{case.name} over SSE", case, list(pool.map(one, case.prompts)))
