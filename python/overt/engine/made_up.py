"""Log probabilities of tokens that no model chose: for the simulated and scripted runners, without torch or numpy.

A token's own is -0.25 and it is the likeliest; the j-th alternative is the token j ids further on, with -0.25 - j.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

_HEADER_WORDS: Final = 8
LOGPROB: Final = -0.25


def logprobs(edits: bytes | None, tokens: array[int], vocab_size: int) -> tuple[array[int] | None, array[int] | None]:
    """What `Engine.decide` wants of a step: the tables of its tokens and of its prompt tokens, None where not asked."""
    if edits is None:
        return None, None
    words = array("i", edits)
    n_bias, n_penalty, n_rows, n_ids, n_prompt, prompt_top, n_logprobs, top = words[:_HEADER_WORDS]
    prompt = _HEADER_WORDS + 3 * (n_bias + n_penalty) + 2 * n_rows + 1 + n_ids
    targets = words[prompt + n_prompt : prompt + 2 * n_prompt]
    rows = words[prompt + 2 * n_prompt :][:n_logprobs]
    chosen = [tokens[row] for row in rows]
    return (
        _table(chosen, top, vocab_size) if n_logprobs else None,
        _table(targets.tolist(), prompt_top, vocab_size) if n_prompt else None,
    )


def _table(tokens: list[int], top: int, vocab_size: int) -> array[int]:
    table = array("i")
    bits = [_bits(LOGPROB - place) for place in range(max(top, 1))]
    for token in tokens:
        known = range(min(top, vocab_size))
        table.extend((bits[0], 1))
        table.extend(array("i", [(token + place) % vocab_size if place in known else -1 for place in range(top)]))
        table.extend(array("i", bits[:top]))
    return table


def _bits(value: float) -> int:
    bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits
