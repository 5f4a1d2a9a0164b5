"""A seed fixes the text: alone, in company, streamed, as one of many choices, and after a preemption."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from serve.server import Server, serving, text_of

PATH = "/v1/chat/completions"
QUESTIONS = ("Tell me a story.", "Invent a word.", "What do you dream of?")
ASKED: dict[str, Any] = {"temperature": 1, "max_tokens": 24, "ignore_eos": True}


def _body(question: str, seed: int | None, **extra: Any) -> dict[str, Any]:
    return ASKED | {"messages": [{"role": "user", "content": question}], "seed": seed} | extra


def _texts(server: Server, body: dict[str, Any]) -> list[str]:
    answer = server.post(PATH, body)
    assert answer.status_code == 200, answer.text
    return [choice["message"]["content"] for choice in answer.json()["choices"]]


def _company(rng: random.Random) -> dict[str, Any]:
    """Some other request: with a seed or none, greedy or not, of any length."""
    return _body(
        " ".join(rng.choices(QUESTIONS, k=rng.randint(1, 3))),
        rng.choice([None, rng.randrange(2**40)]),
        temperature=rng.choice([0, 0.7, 1, 1.5]),
        top_p=rng.choice([1, 0.9]),
        max_tokens=rng.randint(6, 20),
    )


def _in_company(server: Server, bodies: list[dict[str, Any]], others: int) -> list[list[str]]:
    rng = random.Random(1)
    with ThreadPoolExecutor(others + len(bodies)) as pool:
        company = [pool.submit(_texts, server, _company(rng)) for _ in range(others)]
        texts = list(pool.map(lambda body: _texts(server, body), bodies))
        for other in company:
            other.result()
    return texts


@pytest.fixture(scope="module")
def alone(demo: Server) -> list[str]:
    """What each question's seed says to nobody else."""
    return [_texts(demo, _body(question, 7 + index))[0] for index, question in enumerate(QUESTIONS)]


@pytest.fixture(scope="module")
def crowded() -> Iterator[Server]:
    """A server with room for the KV of about three of these requests, which lets in more."""
    flags = ("--max-model-len", "128", "--max-num-seqs", "8", "--num-gpu-blocks-override", "12")
    with serving("demo", *flags, "--no-enable-prefix-caching") as server:
        yield server


def test_again_and_with_another_seed(demo: Server, alone: list[str]) -> None:
    assert len(set(alone)) == len(QUESTIONS)
    assert _texts(demo, _body(QUESTIONS[0], 7)) == [alone[0]]
    others = {_texts(demo, _body(QUESTIONS[0], seed, max_tokens=12))[0] for seed in (8, -7, 2**62)}
    assert len({alone[0][: min(map(len, others))], *others}) == 4


def test_without_a_seed_texts_differ(demo: Server) -> None:
    body = _body(QUESTIONS[0], None, max_tokens=8)
    assert _texts(demo, body) != _texts(demo, body)


def test_streamed(demo: Server, alone: list[str]) -> None:
    assert text_of(demo.chunks(PATH, _body(QUESTIONS[1], 8))) == alone[1]


def test_in_a_batch_of_16_others(demo: Server, alone: list[str]) -> None:
    bodies = [_body(question, 7 + index) for index, question in enumerate(QUESTIONS)]
    assert _in_company(demo, bodies, 16) == [[text] for text in alone]


def test_choices_alone_and_in_company(demo: Server, alone: list[str]) -> None:
    body = _body(QUESTIONS[0], 7, n=4, max_tokens=16)
    choices = _texts(demo, body)
    assert len(set(choices)) == 4
    assert alone[0].startswith(choices[0])
    streamed = demo.chunks(PATH, body)
    assert [text_of(streamed, index) for index in range(4)] == choices
    assert _in_company(demo, [body], 8) == [choices]
    # Fewer choices are the first of them.
    assert _texts(demo, body | {"n": 2}) == choices[:2]


def test_after_preemption(crowded: Server, alone: list[str]) -> None:
    bodies = [_body(question, 7 + index) for index, question in enumerate(QUESTIONS)]
    choices = _body(QUESTIONS[0], 7, n=2)
    before = crowded.metrics()["overt:preemptions_total"]
    with ThreadPoolExecutor(len(bodies) + 1) as pool:
        both = pool.submit(_texts, crowded, choices)
        texts = [text for (text,) in pool.map(lambda body: _texts(crowded, body), bodies)]
    assert crowded.metrics()["overt:preemptions_total"] > before, "nothing was preempted: the test shows nothing"
    assert texts == alone
    assert both.result() == _texts(crowded, choices)
    assert both.result()[0] == alone[0]
