"""The simulated runner: a story instead of a model, at a pace of one's choosing. Needs neither torch nor weights.

It measures everything but the model: every row reads the same story, `step_ms` a token, of which `gil_ms` are
spent in bytecode, as modelling code does.
"""

from __future__ import annotations

import time
from array import array

from overt import _core
from overt.engine.made_up import hold, logprobs
from overt.engine.words import Arenas

STORY = (
    "Once upon a time a lighthouse keeper counted ships instead of sheep. Every evening she wrote their names "
    "into a thick blue book: the Merry Walrus, the Second Thought, the Patience of Saint Gall. One night a ship "
    "without a name came by. She waved her lamp and asked who they were. \u201cWe are still deciding,\u201d said the "
    "captain, \u201cand would be glad of help.\u201d So she gave them the name of her cat, \U0001f408 Zo\u00eb, and "
    "they sailed on, happier than before. In the morning the sea was flat as a table, and the book had one line more. "
)


class SimRunner:
    """Answers every request with the story, again and again until max_tokens."""

    def __init__(self, core: _core.Engine, tokenizer: _core.Tokenizer, *, step_ms: float, gil_ms: float) -> None:
        self._core = core
        self._story = tokenizer.encode(STORY, False)
        self._vocab_size = tokenizer.vocab_size
        self._step_s = step_ms / 1000
        self._gil_s = gil_ms / 1000
        self._arenas = Arenas(core)
        self._prompt_len: dict[int, int] = {}
        self._tokens = [array("i"), array("i")]
        self._edits: list[bytes | None] = [None, None]
        self._started = 0.0

    @property
    def buffers(self) -> tuple[array[int], array[int]]:
        """The two arenas."""
        return self._arenas.pair

    def launch(self, plan_id: int) -> None:
        """Reads the step's rows and notes when it began."""
        self._started = time.monotonic()
        step = self._arenas.read(plan_id)
        for row, slot in enumerate(step.slots):
            if slot in step.new_slots:
                _, _, prompt, _ = self._core.row(plan_id, row)
                self._prompt_len[slot] = len(prompt)
        story, begin = self._story, self._prompt_len
        length = len(story)
        self._tokens[plan_id % 2] = array(
            "i",
            [story[(end - begin[slot]) % length] for slot, end in zip(step.slots, step.positions, strict=True)],
        )

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        """The story is chosen already, and only held to what the step allows."""
        self._edits[plan_id % 2] = edits
        hold(edits, self._tokens[plan_id % 2])

    def tokens(self, plan_id: int) -> array[int]:
        """Waits until the step's time is over."""
        self._spin(self._started + self._gil_s)
        rest = self._started + self._step_s - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        return self._tokens[plan_id % 2]

    def logprobs(self, plan_id: int) -> tuple[array[int] | None, array[int] | None]:
        """Made-up log probabilities (see `made_up`)."""
        return logprobs(self._edits[plan_id % 2], self._tokens[plan_id % 2], self._vocab_size)

    def reset(self) -> None:
        """Nothing is kept that a failed step could break."""

    @staticmethod
    def _spin(until: float) -> None:
        while time.monotonic() < until:
            sum(range(100))
