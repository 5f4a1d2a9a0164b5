"""Ids and offsets as the `tokenizers` package has them: whole, by cached pieces, and without special tokens."""

import random
from itertools import accumulate

import pytest
from tokenizers import Encoding
from tokenizers import Tokenizer as Theirs

from overt._core import Tokenizer as Ours
from text.samples import texts
from text.vocabularies import NAMES, tokenizer_json

COUNT = 5000


class Case:
    """One vocabulary, read by both, and the texts."""

    def __init__(self, name: str) -> None:
        data = tokenizer_json(name)
        self.name = name
        self.ours = Ours(data)
        self.theirs = Theirs.from_str(data.decode())
        self.theirs.no_truncation()
        self.theirs.no_padding()
        added = self.theirs.get_added_tokens_decoder()
        self.specials = {token.content: number for number, token in added.items() if token.special}
        self.texts = texts([token.content for _, token in sorted(added.items())], COUNT)

    def encodings(self, add_special_tokens: bool) -> list[Encoding]:
        return self.theirs.encode_batch(self.texts, add_special_tokens=add_special_tokens)

    def comes_back(self, ids: list[int], text: str) -> bool:
        """Whether `ids` decode to `text`, as far as the vocabulary can: MiniLM's loses spaces and case."""
        if self.name == "gemma-3":
            text = text.replace("▁", " ")
        return self.name == "minilm" or self.ours.decode(ids, skip_special_tokens=False) == text


@pytest.fixture(scope="module", params=NAMES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_ids(case: Case) -> None:
    for text, theirs in zip(case.texts, case.encodings(False), strict=True):
        assert case.ours.encode(text, False) == theirs.ids, repr(text)
        assert case.ours.encode_cached(text) == theirs.ids, repr(text)
        assert case.ours.encode_plain(text, []) == theirs.ids, repr(text)


def test_a_conversation_that_grows(case: Case) -> None:
    whole = "".join(case.texts[:400])
    for end in range(0, len(whole), 1999):
        assert case.ours.encode_cached(whole[:end]) == case.theirs.encode(whole[:end], add_special_tokens=False).ids


def test_offsets(case: Case) -> None:
    for text, theirs in zip(case.texts, case.encodings(True), strict=True):
        ids, offsets = case.ours.encode_offsets(text)
        assert ids == theirs.ids, repr(text)
        assert offsets == _bytes(text, theirs), repr(text)


def _bytes(text: str, encoding: Encoding) -> list[tuple[int, int]]:
    """The ranges in bytes; those of tokens that are not the text's are empty, at 0 or at the end."""
    places = [0, *accumulate(len(char.encode()) for char in text)]
    own = encoding.special_tokens_mask.index(0) if 0 in encoding.special_tokens_mask else len(encoding.ids)
    return [
        (places[start], places[end]) if not added else ((0, 0) if at < own else (places[-1], places[-1]))
        for at, ((start, end), added) in enumerate(zip(encoding.offsets, encoding.special_tokens_mask, strict=True))
    ]


def test_plain_text_has_no_special_tokens(case: Case) -> None:
    case.theirs.encode_special_tokens = True
    try:
        encodings = case.encodings(False)
    finally:
        case.theirs.encode_special_tokens = False
    unknown = case.theirs.token_to_id("[UNK]")
    special = set(case.specials.values()) - {unknown}
    for text, theirs in zip(case.texts, encodings, strict=True):
        ids = case.ours.encode_plain(text, [(0, len(text.encode()))])
        assert ids == theirs.ids, repr(text)
        assert not special & set(ids), repr(text)
        assert case.comes_back(ids, text), repr(text)


def test_clients_between_special_tokens(case: Case) -> None:
    draw = random.Random(7)
    marks = sorted(case.specials)[:3]
    special = set(case.specials.values()) - {case.theirs.token_to_id("[UNK]")}
    for start in range(0, 1000, 4):
        prompt, ranges, expected = "", [], []
        for text in case.texts[start : start + 4]:
            mark = draw.choice(marks)
            prompt += f"{mark}\n"
            expected.append(case.specials[mark])
            ranges.append((len(prompt.encode()), len((prompt + text).encode())))
            prompt += f"{text}\n"
        draw.shuffle(ranges)
        ids = case.ours.encode_plain(prompt, ranges)
        assert [number for number in ids if number in special] == expected, repr(prompt)
        assert case.comes_back(ids, prompt), repr(prompt)
