"""Tokens that no model chose: for the simulated and scripted runners, without torch or numpy.

They are held to what a step asks as far as it leaves a row no choice: to the end of a thinking, to a grammar. A token's
own is -0.25 and it is the likeliest; the j-th alternative is the token j ids further on, with -0.25 - j.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

_HEADER_WORDS: Final = 10
LOGPROB: Final = -0.25
NOTHING_ALLOWED: Final = -2
"""As the sampler's."""


def hold(edits: bytes | None, tokens: array[int]) -> None:
    """Puts another token in the place of each that a grammar does not allow: the first that it does, NOTHING_ALLOWED
    where there is none. A row that may make one token alone gets that one.
    """
    if edits is None:
        return
    words = array("i", edits)
    n_bias, n_penalty, n_rows, n_ids, n_prompt, _, n_logprobs, _, n_masks, width = words[:_HEADER_WORDS]
    if not n_masks and not n_ids:
        return
    at = _HEADER_WORDS + 3 * (n_bias + n_penalty)
    rows, starts = words[at : at + n_rows], words[at + n_rows : at + 2 * n_rows + 1]
    at += 2 * n_rows + 1
    for row, start, end in zip(rows, starts, starts[1:], strict=False):
        if end - start == 1:
            tokens[row] = words[at + start]
    at += n_ids + 2 * n_prompt + n_logprobs
    masks = at + n_masks
    for place, row in enumerate(words[at:masks]):
        mask = words[masks + place * width : masks + (place + 1) * width]
        if not _allows(mask, tokens[row]):
            found = next((word for word, bits in enumerate(mask) if bits), None)
            tokens[row] = NOTHING_ALLOWED if found is None else 32 * found + _lowest(mask[found])


def _allows(mask: array[int], token: int) -> bool:
    return 0 <= token < 32 * len(mask) and bool(mask[token // 32] >> token % 32 & 1)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def logprobs(edits: bytes | None, tokens: array[int], vocab_size: int) -> tuple[array[int] | None, array[int] | None]:
    """What `Engine.decide` wants of a step: the tables of its tokens and of its prompt tokens, None where not asked."""
    if edits is None:
        return None, None
    words = array("i", edits)
    n_bias, n_penalty, n_rows, n_ids, n_prompt, prompt_top, n_logprobs, top, _, _ = words[:_HEADER_WORDS]
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
