"""The scripted runner: gives the answers a file lists, and fails when the file says so. For tests of everything else.

The file is JSON:

    {"answers": [{"pieces": ["Hel", "lo"], "end": "eos"}, {"tokens": [5, 6], "end": "nan"}],
     "special_pieces": ["<tool_call>"], "raise_at": [3], "stall_at": 7, "stall_s": 2.0, "step_ms": 1.0}

`answers`: the i-th request to run gets answer i (modulo their number); a piece is one token, whether the vocabulary
had it or not. `bytes_hex` instead of `pieces` gives tokens by their bytes. `end` is what comes after the last token:
`eos`, `nan` (logits that are not finite) or `repeat` (from the start). `raise_at`: steps, counted from 0, that raise.
"""

from __future__ import annotations

import json
import time
from array import array
from typing import Any

from overt import _core
from overt.engine.made_up import logprobs
from overt.engine.words import Arenas


class ScriptedError(RuntimeError):
    """The script says that this step raises."""


def byte_letters() -> dict[int, str]:
    """The letter that byte-level vocabularies write for each byte (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in letters)
    return letters | {byte: chr(256 + index) for index, byte in enumerate(others)}


def extend_tokenizer(tokenizer_json: bytes, script: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Adds every piece to a byte-level vocabulary as a token of its own.

    Returns the new tokenizer.json and the script with `tokens` in place of `pieces` and `bytes_hex`.
    """
    tokenizer = json.loads(tokenizer_json)
    letters = byte_letters()
    added: list[dict[str, Any]] = tokenizer["added_tokens"]
    ids: dict[str, int] = dict(tokenizer["model"]["vocab"]) | {token["content"]: token["id"] for token in added}
    special = set(script.get("special_pieces", ()))

    def token(piece: bytes) -> int:
        text = piece.decode("utf-8", "replace")
        spelling = text if text in special else "".join(letters[byte] for byte in piece)
        if spelling not in ids:
            ids[spelling] = max(ids.values()) + 1
            added.append(
                {
                    "id": ids[spelling],
                    "content": spelling,
                    "single_word": False,
                    "lstrip": False,
                    "rstrip": False,
                    "normalized": False,
                    "special": text in special,
                }
            )
        return ids[spelling]

    answers = []
    for answer in script["answers"]:
        pieces = [piece.encode() for piece in answer.get("pieces", ())]
        pieces += [bytes.fromhex(piece) for piece in answer.get("bytes_hex", ())]
        tokens = [token(piece) for piece in pieces] or answer.get("tokens", [])
        answers.append({"tokens": tokens, "end": answer.get("end", "eos")})
    return json.dumps(tokenizer, ensure_ascii=False).encode(), script | {"answers": answers}


class ScriptRunner:
    """Gives the script's answers."""

    def __init__(self, core: _core.Engine, script: dict[str, Any], *, eos: int, vocab_size: int) -> None:
        self._core = core
        self._answers: list[dict[str, Any]] = script["answers"]
        self._raise_at = set(script.get("raise_at", ()))
        self._stall_at = script.get("stall_at")
        self._stall_s = float(script.get("stall_s", 0))
        self._step_s = float(script.get("step_ms", 0)) / 1000
        self._eos = eos
        self._vocab_size = vocab_size
        self._arenas = Arenas(core)
        self._steps = 0
        self._numbers: dict[int, int] = {}
        self._slots: dict[int, tuple[int, int]] = {}
        self._tokens = [array("i"), array("i")]
        self._edits: list[bytes | None] = [None, None]

    @property
    def buffers(self) -> tuple[array[int], array[int]]:
        """The two arenas."""
        return self._arenas.pair

    def launch(self, plan_id: int) -> None:
        """Looks up the step's tokens."""
        number = self._steps
        self._steps += 1
        if number in self._raise_at:
            raise ScriptedError(f"step {number} raises, as scripted")
        if number == self._stall_at:
            time.sleep(self._stall_s)
        time.sleep(self._step_s)
        step = self._arenas.read(plan_id)
        tokens = array("i")
        for row, (slot, end) in enumerate(zip(step.slots, step.positions, strict=True)):
            if slot in step.new_slots:
                request, _, prompt, _ = self._core.row(plan_id, row)
                answer = self._numbers.setdefault(request, len(self._numbers))
                self._slots[slot] = (answer, len(prompt))
            answer, begin = self._slots[slot]
            tokens.append(self._token(self._answers[answer % len(self._answers)], end - begin))
        self._tokens[plan_id % 2] = tokens

    def _token(self, answer: dict[str, Any], index: int) -> int:
        tokens: list[int] = answer["tokens"]
        if 0 <= index < len(tokens):
            return tokens[index]
        if answer["end"] == "nan":
            return -1
        if answer["end"] == "repeat" and tokens:
            return tokens[index % len(tokens)]
        return self._eos

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        """The tokens are chosen already."""
        self._edits[plan_id % 2] = edits

    def tokens(self, plan_id: int) -> array[int]:
        """The step's tokens."""
        return self._tokens[plan_id % 2]

    def logprobs(self, plan_id: int) -> tuple[array[int] | None, array[int] | None]:
        """Made-up log probabilities (see `made_up`)."""
        return logprobs(self._edits[plan_id % 2], self._tokens[plan_id % 2], self._vocab_size)

    def reset(self) -> None:
        """Slots are given anew after a failed step."""
        self._slots.clear()
