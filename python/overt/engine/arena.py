"""The step arena: one int32 tensor that the scheduler fills and the runner reads."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from overt import _core

HEADER: Final = _core.HEADER
"""Names of the header's words, in the scheduler's order."""

FLAG_ALL_GREEDY: Final = _core.FLAG_ALL_GREEDY
"""Bit of the header's flags: every row of the step is greedy."""

PARAM_COLUMNS: Final = _core.PARAM_COLUMNS
"""Columns of a slot's parameters, in the scheduler's order; `*_f32` are float bits in an int32."""

Sections = list[tuple[str, int, tuple[int, ...]]]
Words = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Header:
    """The counts of a step."""

    plan: int
    rows: int
    tokens: int
    decode_rows: int
    slot_updates: int
    max_seq_len: int
    max_query_len: int
    samples: int
    flags: int


def arena_words(layout: Sections) -> int:
    """Length of an arena in int32 words."""
    return max(offset + (0 if name == "end" else _size(shape)) for name, offset, shape in layout)


def tensor_views(arena: torch.Tensor, layout: Sections) -> dict[str, torch.Tensor]:
    """Each section of `arena` (int32, `arena_words` long) by name, without copying."""
    return {name: arena[offset : offset + _size(shape)].view(shape) for name, offset, shape in layout if name != "end"}


def word_views(arena: torch.Tensor, layout: Sections) -> dict[str, Words]:
    """The same for a host arena, as numpy arrays over its memory."""
    return {name: view.numpy() for name, view in tensor_views(arena, layout).items()}


def read_header(words: dict[str, Words]) -> Header:
    """The header of a filled host arena."""
    return Header(*words["header"][: len(HEADER)].tolist())


def pad_rows(words: dict[str, Words], rows: int, bucket: int) -> None:
    """Fills rows `rows..bucket` of a decode-only step: one token at position 0 of the dummy block 0."""
    if rows == bucket:
        return
    pad = slice(rows, bucket)
    for name in ("input_ids", "positions", "slot_mapping", "row_slot", "sample"):
        words[name][pad] = 0
    words["seq_lens"][pad] = 1
    words["block_tables"][pad] = 0


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
