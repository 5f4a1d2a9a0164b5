"""Text in every script: what the model makes is what the client reads, whole, streamed or echoed."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tokenizers import Tokenizer

from overt.models import resolve
from serve.server import Server, serving, text_of

PATH = "/v1/completions"
TEXTS = {
    "chinese": "北京是中华人民共和国的首都。𠮷野家",
    "japanese": "東京は日本の首都です。カタカナ、ﾊﾝｶｸ、が゙",
    "korean": "서울은 대한민국의 수도이다. \u1112\u1161\u11ab",
    "emoji": "👩‍🚀👨‍👩‍👧‍👦 👍🏽👋🏿 🇫🇷🇯🇵 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f 1️⃣ ❤️‍🔥 ☺︎",
    "arabic": "القاهرة هي عاصمة مِصْر، ﷺ ١٢٣",
    "hebrew": "יְרוּשָׁלַיִם היא בירת ישראל",
    "devanagari": "नई दिल्ली भारत की राजधानी है। क्षत्रिय",
    "thai": "กรุงเทพฯ เป็นเมืองหลวงของประเทศไทย น้ำ",
    "combining": "e\u0301 n\u0303 Z\u0351\u036b\u0343a\u0327\u0315l\u0489g\u0321o\u0322 a\u030a\u0323",
    "code": "\tif x:\r\n\t\treturn {'a': [\"\\n\", `b`]}  # \x00\x1b[0m\n\n\n        end",
    "maths": "∀ε>0 ∃δ: |x−a|<δ ⇒ |f(x)−L|<ε, ∑ᵢ𝑥ᵢ² ≤ ℵ₀, 𝔸⊗𝟙",
    "marks": "\u200fשלום\u200e abc \u202bעברית\u202c \u2067x\u2069 \u061c١\ufeff soft\u00adhyphen\u2028\u2029end",
    "mixed": "Ça coûte 5 € — «très» bon; Привет, Γειά σου, გამარჯობა, Ա, አማርኛ, ខ្មែរ, မြန်မာ, ᠮᠣᠩᠭᠣᠯ, 𓀀𐤀",
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_buffer(resolve("demo").tokenizer_json)


def _ask(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.post(PATH, body)
    assert answer.status_code == 200, answer.text
    choice: dict[str, Any] = answer.json()["choices"][0]
    return choice


def _ids(choice: dict[str, Any]) -> list[int]:
    return [int(token.removeprefix("token_id:")) for token in choice["logprobs"]["tokens"]]


def _bytes(tokens: list[str]) -> bytes:
    """The bytes that completions' spellings of tokens stand for."""
    parts = []
    for token in tokens:
        told = token.removeprefix("bytes:")
        parts.append(token.encode() if told == token else bytes.fromhex(told.replace("\\x", "")))
    return b"".join(parts)


def test_the_model_answers_in_every_script(demo: Server, tokenizer: Tokenizer) -> None:
    bodies = [
        {"prompt": text, "max_tokens": 24, "temperature": 1, "seed": index, "ignore_eos": True, "logprobs": 0}
        for index, text in enumerate(TEXTS.values())
    ]
    as_ids = {"return_tokens_as_token_ids": True}
    with ThreadPoolExecutor(len(bodies)) as pool:
        whole = list(pool.map(lambda body: _ask(demo, body | as_ids), bodies))
        streams = list(pool.map(lambda body: demo.chunks(PATH, body), bodies))
    characters = set()
    for choice, chunks in zip(whole, streams, strict=True):
        text, ids = choice["text"], _ids(choice)
        assert len(ids) == 24
        assert text_of(chunks) == text == tokenizer.decode(ids, skip_special_tokens=True)
        tokens = [token for chunk in chunks for token in (chunk["choices"][0]["logprobs"] or {"tokens": []})["tokens"]]
        made = b"".join(
            _bytes([token]) for token, id_ in zip(tokens, ids, strict=True) if id_ not in _special(tokenizer)
        )
        # Only for bytes that are no UTF-8 does the replacement character stand.
        assert text == made.decode("utf-8", "replace")
        characters |= set(text)
    assert any(ord(character) > 0xFFFF for character in characters), "the model made nothing outside the first plane"
    assert len({ord(character) >> 8 for character in characters}) > 8, "the model made few scripts"


def _special(tokenizer: Tokenizer) -> set[int]:
    return {id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special}


@pytest.mark.parametrize("name", TEXTS)
def test_a_prompt_comes_back(demo: Server, tokenizer: Tokenizer, name: str) -> None:
    text = TEXTS[name]
    ids = demo.post("/tokenize", {"prompt": text}).json()["tokens"]
    assert ids == tokenizer.encode(text).ids
    assert demo.post("/detokenize", {"tokens": ids}).json()["prompt"] == text
    body = {"prompt": text, "echo": True, "max_tokens": 0, "logprobs": 0}
    for prompt in (text, ids):
        echoed = _ask(demo, body | {"prompt": prompt})
        assert echoed["text"] == text
        assert _bytes(echoed["logprobs"]["tokens"]) == text.encode()
        for token, offset in zip(echoed["logprobs"]["tokens"], echoed["logprobs"]["text_offset"], strict=True):
            assert token.startswith("bytes:") or text.startswith(token, offset), (token, offset)
    message = {"role": "user", "content": text}
    rendered = demo.post("/tokenize", {"messages": [message]}).json()["tokens"]
    assert text in tokenizer.decode(rendered, skip_special_tokens=False)


SIZES = (1, 2, 3, 5)
"""Bytes of a token."""


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Answers with every text in tokens of every size, each twice, in this order."""
    answers = []
    for text in TEXTS.values():
        raw = text.encode()
        for size in SIZES:
            pieces = [raw[at : at + size].hex() for at in range(0, len(raw), size)]
            answers += [{"bytes_hex": pieces}] * 2
    file = tmp_path_factory.mktemp("scripts") / "script.json"
    file.write_text(json.dumps({"answers": answers}))
    with serving("demo", "--model-runner", "script", "--script", str(file)) as server:
        yield server


def test_tokens_that_cut_characters(scripted: Server) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 400}
    for name, text in TEXTS.items():
        for size in SIZES:
            answer = scripted.post("/v1/chat/completions", body)
            assert answer.status_code == 200, answer.text
            assert answer.json()["choices"][0]["message"]["content"] == text, (name, size)
            chunks = scripted.chunks("/v1/chat/completions", body)
            assert text_of(chunks) == text, (name, size)
            # Every piece is whole characters by itself, and no character waits for the next one.
            pieces = [piece for chunk in chunks if (piece := text_of([chunk]))]
            assert not any("\ufffd" in piece for piece in pieces)
            if size == 1:
                assert pieces == list(text)
