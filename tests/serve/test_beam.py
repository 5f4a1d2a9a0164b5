"""Beam search over HTTP gives the texts of transformers' generate()."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from overt import _core
from overt.models import load, resolve
from serve.server import Server

MAX_TOKENS = 8
PROMPTS = ("The capital of France is", "Yes or no? I say", "Roses are red,")
WIDTHS = (1, 2, 4)
PENALTIES = (0, 1, 2)
ENDS = (".", ",", " and")
"""Tokens that end a text, so that texts of many lengths are compared."""


class Oracle:
    """generate() with the weights of the demo model."""

    def __init__(self) -> None:
        files = resolve("demo")
        self.model: Any = load(files, dtype="float32", device="cpu", attn_implementation="eager")
        self.tokenizer = _core.Tokenizer(files.tokenizer_json)
        self.ends = [token for text in ENDS for token in self.tokenizer.encode(text, False)]
        assert len(self.ends) == len(ENDS)

    @torch.inference_mode()
    def texts(self, prompt: str, width: int, length_penalty: float) -> list[str]:
        """The best texts, the best first, without the token that ended them."""
        ids = torch.tensor([self.tokenizer.encode(prompt, False)])
        found = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_beams=width,
            num_return_sequences=width,
            do_sample=False,
            early_stopping=False,
            length_penalty=length_penalty,
            max_new_tokens=MAX_TOKENS,
            eos_token_id=[2, *self.ends],
            pad_token_id=0,
        )
        return [self._text(tokens) for tokens in found[:, ids.shape[1] :].tolist()]

    def _text(self, tokens: list[int]) -> str:
        end = next((at for at, token in enumerate(tokens) if token in (2, *self.ends)), len(tokens))
        return self.tokenizer.decode(tokens[:end], True)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


def _search(server: Server, oracle: Oracle, prompt: str, width: int, length_penalty: float) -> list[str]:
    body = {
        "prompt": prompt,
        "max_tokens": MAX_TOKENS,
        "use_beam_search": True,
        "n": width,
        "length_penalty": length_penalty,
        "stop_token_ids": oracle.ends,
    }
    answer = server.post("/v1/completions", body)
    assert answer.status_code == 200, answer.text
    choices = answer.json()["choices"]
    assert [choice["index"] for choice in choices] == list(range(width))
    assert {choice["finish_reason"] for choice in choices} <= {"stop", "length"}
    return [choice["text"] for choice in choices]


@pytest.mark.parametrize("width", WIDTHS)
def test_texts_are_those_of_generate(demo: Server, oracle: Oracle, width: int) -> None:
    cases = [(prompt, width, penalty) for prompt in PROMPTS for penalty in (PENALTIES if width > 1 else (1,))]
    other = {"messages": [{"role": "user", "content": "Count to ten."}], "max_tokens": 20, "n": 3, "temperature": 1}
    with ThreadPoolExecutor(len(cases) + 2) as pool:
        # In company of requests that sample, and of each other.
        company = [pool.submit(demo.post, "/v1/chat/completions", other) for _ in range(2)]
        found = list(pool.map(lambda case: _search(demo, oracle, *case), cases))
        for answer in company:
            assert answer.result().status_code == 200
    for case, texts in zip(cases, found, strict=True):
        assert texts == oracle.texts(*case), case
    assert demo.wait_idle()["overt:kv_blocks_used"] == 0


def test_a_search_alone_in_a_chat(demo: Server, oracle: Oracle) -> None:
    messages = [{"role": "user", "content": "Say yes."}]
    body = {
        "messages": messages,
        "max_tokens": MAX_TOKENS,
        "use_beam_search": True,
        "n": 2,
        "logprobs": True,
        "stop_token_ids": oracle.ends,
    }
    answer = demo.post("/v1/chat/completions", body)
    assert answer.status_code == 200, answer.text
    prompt = oracle.tokenizer.decode(demo.post("/tokenize", {"messages": messages}).json()["tokens"], False)
    assert [choice["message"]["content"] for choice in answer.json()["choices"]] == oracle.texts(prompt, 2, 1)
    for choice in answer.json()["choices"]:
        told = choice["logprobs"]["content"]
        assert b"".join(bytes(entry["bytes"]) for entry in told).decode() == choice["message"]["content"]
    assert demo.wait_idle()["overt:kv_blocks_used"] == 0


def test_the_penalty_decides_between_short_and_long(oracle: Oracle) -> None:
    """What is compared above differs: else the penalty could be ignored and nobody would notice."""
    assert any(oracle.texts(prompt, 4, 0) != oracle.texts(prompt, 4, 2) for prompt in PROMPTS)
