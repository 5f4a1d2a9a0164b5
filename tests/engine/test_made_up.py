"""What the simulated and scripted runners make of a step's edits."""

from array import array

import pytest

from overt.engine.made_up import NOTHING_ALLOWED, hold


def edits(
    *,
    allowed: dict[int, list[int]] | None = None,
    masks: dict[int, set[int]] | None = None,
    logprobs: tuple[int, ...] = (),
) -> bytes:
    """A step's edits with two biases and a penalty that are nobody's business here."""
    allowed, masks, width = allowed or {}, masks or {}, 3
    ids = [token for row in allowed.values() for token in row]
    starts = [sum(len(row) for row in list(allowed.values())[:place]) for place in range(len(allowed) + 1)]
    header = [2, 1, len(allowed), len(ids), 1, 0, len(logprobs), 0, len(masks), width]
    words = array("i", [*header, 0, 1, 7, 8, 0, 0, 0, 9, 1, *allowed, *starts, *ids, 5, 5, *logprobs, *masks])
    for tokens in masks.values():
        bits = [sum(1 << token % 32 for token in tokens if token // 32 == word) for word in range(width)]
        words.extend(word - (1 << 32) if word >> 31 else word for word in bits)
    return words.tobytes()


@pytest.mark.parametrize(
    ("allows", "token", "held"),
    [
        ({4, 40}, 40, 40),
        ({4, 40}, 5, 4),
        ({31}, 0, 31),
        ({63, 95}, 31, 63),
        ({1}, 96, 1),
        (set(), 7, NOTHING_ALLOWED),
    ],
)
def test_a_token_that_a_grammar_does_not_allow_gives_way(allows: set[int], token: int, held: int) -> None:
    tokens = array("i", [7, token, 7])
    hold(edits(masks={1: allows}, logprobs=(0, 1, 2)), tokens)
    assert tokens.tolist() == [7, held, 7]


def test_rows_are_held_each_by_its_own() -> None:
    tokens = array("i", [7, 7, 7, 7])
    hold(edits(allowed={0: [3], 2: [3, 9]}, masks={1: {8}, 3: {7, 2}}), tokens)
    assert tokens.tolist() == [3, 8, 7, 7]


def test_what_holds_nothing_changes_nothing() -> None:
    for data in (None, edits(), edits(logprobs=(0,))):
        tokens = array("i", [7, 8])
        hold(data, tokens)
        assert tokens.tolist() == [7, 8]
