"""A small scheduler in Python: packs sequences into step arenas, with random block tables."""

import random
from dataclasses import dataclass, field

import numpy as np
import torch

from overt._core import FLAG_PROMPT_LOGPROBS
from overt.engine.arena import FLAG_ALL_GREEDY, HEADER, PARAM_COLUMNS, Sections, word_views
from overt.engine.config import BLOCK_SIZE


def make_layout(max_rows: int, max_tokens: int, max_blocks: int) -> Sections:
    """A layout like the core's, in the same order."""
    shapes: list[tuple[str, tuple[int, ...]]] = [
        ("header", (32,)),
        ("input_ids", (max_tokens,)),
        ("positions", (max_tokens,)),
        ("slot_mapping", (max_tokens,)),
        ("query_start", (max_rows + 1,)),
        ("seq_lens", (max_rows,)),
        ("row_slot", (max_rows,)),
        ("sample", (max_rows,)),
        ("block_tables", (max_rows, max_blocks)),
        ("slot_updates", (max_rows, 1 + len(PARAM_COLUMNS))),
    ]
    layout: Sections = []
    offset = 0
    for name, shape in shapes:
        layout.append((name, offset, shape))
        # Sections begin on cache lines of 16 words.
        offset += -(-int(np.prod(shape)) // 16) * 16
    return [*layout, ("end", offset, ())]


def param_row(
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    top_k: int = 0,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    repetition_penalty: float = 1.0,
    frequency_penalty: float = 0.0,
    presence_penalty: float = 0.0,
    seed: int = 0,
    choice: int = 0,
    greedy: bool = False,
) -> list[int]:
    """One row of the parameter table."""
    low, high = np.array([seed & 0xFFFFFFFF, seed >> 32], dtype=np.uint32).view(np.int32).tolist()
    values: dict[str, float] = {
        "temperature_f32": temperature,
        "top_p_f32": top_p,
        "top_k": top_k,
        "min_p_f32": min_p,
        "typical_p_f32": typical_p,
        "repetition_penalty_f32": repetition_penalty,
        "frequency_penalty_f32": frequency_penalty,
        "presence_penalty_f32": presence_penalty,
        "seed_lo": low,
        "seed_hi": high,
        "choice": choice,
        "greedy": int(greedy),
    }
    return [
        np.float32(values[name]).view(np.int32).item() if name.endswith("_f32") else int(values[name])
        for name in PARAM_COLUMNS
    ]


@dataclass
class RowEdits:
    """Edits of one row, as a request asks for them."""

    bias: dict[int, float] = field(default_factory=dict)
    """Added to logits; -inf bans."""
    counts: dict[int, int] = field(default_factory=dict)
    """Times that tokens of prompt and output were made."""
    allowed: list[int] | None = None
    masked: list[int] | None = None
    """Tokens that a grammar allows."""
    mask_words: int = 13
    logprobs: bool = False


def edit_bytes(
    rows: dict[int, RowEdits], *, logprob_top: int = 0, prompt: list[tuple[int, int]] | None = None, prompt_top: int = 0
) -> bytes:
    """A step's edits as the core writes them; `prompt` is (position among the packed tokens, target) each."""
    bias = [(row, token, value) for row, edits in rows.items() for token, value in edits.bias.items()]
    counts = [(row, token, count) for row, edits in rows.items() for token, count in edits.counts.items()]
    allowed = [(row, edits.allowed) for row, edits in rows.items() if edits.allowed is not None]
    starts = np.cumsum([0] + [len(ids) for _, ids in allowed])
    asked = [row for row, edits in rows.items() if edits.logprobs]
    prompt = prompt or []
    ids = [token for _, some in allowed for token in some]
    masks = [(row, mask_of(edits.masked, edits.mask_words)) for row, edits in rows.items() if edits.masked is not None]
    width = len(masks[0][1]) if masks else 0
    parts: list[list[float] | list[int]] = [
        [
            *(len(bias), len(counts), len(allowed), len(ids), len(prompt), prompt_top, len(asked), logprob_top),
            *(len(masks), width),
        ],
        [row for row, _, _ in bias],
        [token for _, token, _ in bias],
        np.array([value for _, _, value in bias], dtype=np.float32).view(np.int32).tolist(),
        *([entry[column] for entry in counts] for column in range(3)),
        [row for row, _ in allowed],
        starts.tolist(),
        ids,
        *([entry[column] for entry in prompt] for column in range(2)),
        asked,
        [row for row, _ in masks],
        [word for _, mask in masks for word in mask],
    ]
    return b"".join(np.array(part, dtype="<i4").tobytes() for part in parts)


def mask_of(tokens: list[int], words: int) -> list[int]:
    """A mask of `words` int32 words that allows these tokens."""
    mask = np.zeros(words, dtype=np.uint32)
    for token in tokens:
        mask[token // 32] |= np.uint32(1 << (token % 32))
    return mask.view(np.int32).tolist()  # type: ignore[no-any-return]


@dataclass
class Sequence:
    """One running sequence."""

    prompt: list[int]
    max_new: int
    params: list[int] = field(default_factory=lambda: param_row(greedy=True))
    arrives: int = 0
    prompt_logprobs: bool = False
    slot: int = -1
    blocks: list[int] = field(default_factory=list)
    computed: int = 0
    made: list[int] = field(default_factory=list)
    in_flight: int = 0
    """Tokens that were sampled on the device and are not known here yet."""

    def ids(self) -> list[int]:
        """Known tokens, and -1 for those that only the device knows."""
        return self.prompt + self.made + [-1] * self.in_flight

    @property
    def done(self) -> bool:
        """All tokens are made or on their way."""
        return len(self.made) + self.in_flight >= self.max_new


class Packer:
    """Packs steps: decode rows first, then prompt chunks within the token budget."""

    def __init__(
        self, *, max_rows: int, max_tokens: int, max_blocks: int, num_blocks: int, chunk: int, seed: int = 0
    ) -> None:
        self.layout = make_layout(max_rows, max_tokens, max_blocks)
        self.limits = (max_rows, max_tokens, max_blocks)
        self.num_blocks = num_blocks
        self.chunk = chunk
        self.free = list(range(1, num_blocks))
        random.Random(seed).shuffle(self.free)
        self.free_slots = list(range(max_rows))
        self.running: list[Sequence] = []
        self.rows: dict[int, list[tuple[Sequence, bool]]] = {}
        self.spans: dict[int, list[tuple[int, int, int]]] = {}
        """Of each row: its first token among the step's packed tokens, that one's position, and their number."""

    def admit(self, sequence: Sequence) -> None:
        """Gives the sequence a slot."""
        sequence.slot = self.free_slots.pop()
        self.running.append(sequence)

    def pack(self, plan: int, arena: torch.Tensor) -> bool:
        """Fills `arena` with the next step. False when there is nothing to run."""
        words = word_views(arena, self.layout)
        decode, prefill = [], []
        budget = self.limits[1]
        for sequence in self.running:
            left = len(sequence.ids()) - sequence.computed
            if left <= 0 or (sequence.done and sequence.computed >= len(sequence.prompt)):
                continue
            if left == 1 and budget:
                decode.append((sequence, 1))
                budget -= 1
        for sequence in self.running:
            left = len(sequence.ids()) - sequence.computed
            if left > 1 and budget:
                count = min(left, self.chunk, budget)
                prefill.append((sequence, count))
                budget -= count
        # A chunk of one token is a decode row like any other.
        decode += [item for item in prefill if item[1] == 1]
        rows = decode + [item for item in prefill if item[1] > 1]
        if not rows:
            return False
        at = updates = 0
        self.rows[plan], self.spans[plan] = [], []
        longest = samples = 0
        for row, (sequence, count) in enumerate(rows):
            start, end = sequence.computed, sequence.computed + count
            while len(sequence.blocks) * BLOCK_SIZE < end:
                sequence.blocks.append(self.free.pop())
            if start == 0:
                words["slot_updates"][updates] = [sequence.slot, *sequence.params]
                updates += 1
            positions = np.arange(start, end)
            tokens = slice(at, at + count)
            words["input_ids"][tokens] = sequence.ids()[start:end]
            words["positions"][tokens] = positions
            words["slot_mapping"][tokens] = (
                np.array(sequence.blocks)[positions // BLOCK_SIZE] * BLOCK_SIZE + positions % BLOCK_SIZE
            )
            words["query_start"][row : row + 2] = [at, at + count]
            words["seq_lens"][row] = end
            words["row_slot"][row] = sequence.slot
            samples_now = end == len(sequence.ids())
            words["sample"][row] = samples_now
            words["block_tables"][row, : len(sequence.blocks)] = sequence.blocks
            sequence.computed = end
            sequence.in_flight += samples_now
            samples += samples_now
            longest = max(longest, end)
            self.spans[plan].append((at, start, count))
            at += count
            self.rows[plan].append((sequence, samples_now))
        greedy = PARAM_COLUMNS.index("greedy")
        flags = FLAG_ALL_GREEDY if all(sequence.params[greedy] for sequence, _ in rows) else 0
        if any(sequence.prompt_logprobs for sequence, _ in rows):
            flags |= FLAG_PROMPT_LOGPROBS
        header = {
            "plan": plan,
            "rows": len(rows),
            "tokens": at,
            "decode_rows": len(decode),
            "slot_updates": updates,
            "max_seq_len": longest,
            "max_query_len": max(count for _, count in rows),
            "samples": samples,
            "flags": flags,
        }
        words["header"][: len(HEADER)] = [header[name] for name in HEADER]
        return True

    def apply(self, plan: int, tokens: list[int]) -> None:
        """Takes a step's tokens; sequences that are complete free their blocks and slots."""
        for (sequence, sampled), token in zip(self.rows.pop(plan), tokens, strict=True):
            if not sampled:
                assert token == 0
                continue
            sequence.in_flight -= 1
            sequence.made.append(token)
            if len(sequence.made) == sequence.max_new:
                self.running.remove(sequence)
                self.free += sequence.blocks
                self.free_slots.append(sequence.slot)
