"""Step arenas without torch or numpy: what the simulated and scripted runners read."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from overt import _core


@dataclass(slots=True)
class Step:
    """The rows of a step, as lists."""

    rows: int
    slots: list[int]
    """Slot of each row."""
    positions: list[int]
    """Position of each row's sampled token."""
    samples: list[int]
    """1 where the row samples."""
    new_slots: set[int] = field(default_factory=set)
    """Slots that were given to a sequence in this step."""


class Arenas:
    """Two arenas of int32 words, and how to read them."""

    def __init__(self, core: _core.Engine) -> None:
        sections = core.layout()
        self._offset = {name: offset for name, offset, _ in sections}
        self._update_width = next(shape for name, _, shape in sections if name == "slot_updates")[1]
        words = self._offset["end"]
        self.pair = (array("i", bytes(4 * words)), array("i", bytes(4 * words)))
        self._header = {name: index for index, name in enumerate(_core.HEADER)}

    def read(self, plan_id: int) -> Step:
        """The rows of a scheduled step."""
        words = self.pair[plan_id % 2]
        rows = words[self._header["rows"]]
        updates = words[self._header["slot_updates"]]

        def section(name: str, count: int, first: int = 0) -> list[int]:
            start = self._offset[name] + first
            return words[start : start + count].tolist()

        width = self._update_width
        return Step(
            rows=rows,
            slots=section("row_slot", rows),
            positions=section("seq_lens", rows),
            samples=section("sample", rows),
            new_slots=set(section("slot_updates", updates * width)[::width]),
        )
