"""The scripted runner: gives the answers a file lists, and fails when the file says so. For tests of everything else.

The file is JSON:

    {"answers": [{"pieces": ["Hel", "lo"], "end": "eos"}, {"tokens": [5, 6], "end": "nan"},
                 {"prompt": "<two>", "choices": [{"pieces": ["a"]}, {"pieces": ["b"]}]}],
     "special_pieces": ["<tool_call>"], "raise_at": [3], "stall_at": 7, "stall_s": 2.0, "step_ms": 1.0, "load_s": 1.0}

`answers`: the i-th request to run gets answer i (modulo their number); a piece is one token, whether the vocabulary
had it or not. `bytes_hex` instead of `pieces` gives tokens by their bytes. `end` is what comes after the last token:
`eos`, `nan` (logits that are not finite), `raise` (the step raises) or `repeat` (from the start). `choices` instead of
tokens: choice i of the request gets answer i of it (modulo their number). An answer with `prompt` is given to the
requests whose prompt holds that text, which becomes a token of its own, and to no others; such requests do not count
where answers go by number. `raise_at`: steps, counted from 0, that raise. `load_s`: seconds until it is ready.
"""

from __future__ import annotations

import json
import time
from array import array
from typing import Any

from overt import _core
from overt.engine.made_up import hold, logprobs
from overt.engine.words import Arenas

Choices = list[dict[str, Any]]
"""An answer: of each choice the `tokens`, and their `end`."""


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

    Returns the new tokenizer.json and the script with `tokens` in place of `pieces` and `bytes_hex`, and an id in
    place of `prompt`.
    """
    tokenizer = json.loads(tokenizer_json)
    letters = byte_letters()
    added: list[dict[str, Any]] = tokenizer["added_tokens"]
    ids: dict[str, int] = dict(tokenizer["model"]["vocab"]) | {token["content"]: token["id"] for token in added}
    special = set(script.get("special_pieces", ()))

    def token(piece: bytes) -> int:
        text = piece.decode("utf-8", "replace")
        return spelled(text if text in special else "".join(letters[byte] for byte in piece))

    def spelled(spelling: str) -> int:
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
                    "special": spelling in special,
                }
            )
        return ids[spelling]

    def choice(answer: dict[str, Any]) -> dict[str, Any]:
        pieces = [piece.encode() for piece in answer.get("pieces", ())]
        pieces += [bytes.fromhex(piece) for piece in answer.get("bytes_hex", ())]
        tokens = [token(piece) for piece in pieces] or answer.get("tokens", [])
        return {"tokens": tokens, "end": answer.get("end", "eos")}

    answers = []
    for answer in script["answers"]:
        asked_by = {"prompt": spelled(answer["prompt"])} if "prompt" in answer else {}
        answers.append(asked_by | {"choices": [choice(one) for one in answer.get("choices", [answer])]})
    return json.dumps(tokenizer, ensure_ascii=False).encode(), script | {"answers": answers}


class ScriptRunner:
    """Gives the answers of a script as `extend_tokenizer` returns it."""

    def __init__(self, core: _core.Engine, script: dict[str, Any], *, eos: int, vocab_size: int) -> None:
        time.sleep(float(script.get("load_s", 0)))
        self._core = core
        answers: list[dict[str, Any]] = script["answers"]
        self._by_number: list[Choices] = [answer["choices"] for answer in answers if "prompt" not in answer]
        self._by_prompt: dict[int, Choices] = {
            answer["prompt"]: answer["choices"] for answer in answers if "prompt" in answer
        }
        self._raise_at = set(script.get("raise_at", ()))
        self._stall_at = script.get("stall_at")
        self._stall_s = float(script.get("stall_s", 0))
        self._step_s = float(script.get("step_ms", 0)) / 1000
        self._eos = eos
        self._vocab_size = vocab_size
        self._arenas = Arenas(core)
        self._steps = 0
        self._numbers: dict[int, int] = {}
        self._slots: dict[int, tuple[dict[str, Any], int]] = {}
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
                request, choice, prompt, _ = self._core.row(plan_id, row)
                choices = self._choices(request, prompt)
                self._slots[slot] = (choices[choice % len(choices)], len(prompt))
            answer, begin = self._slots[slot]
            tokens.append(self._token(answer, end - begin))
        self._tokens[plan_id % 2] = tokens

    def _choices(self, request: int, prompt: list[int]) -> Choices:
        for token in prompt:
            if token in self._by_prompt:
                return self._by_prompt[token]
        if not self._by_number:
            raise ScriptedError("no answer of the script is for this prompt, and none goes by number")
        number = self._numbers.setdefault(request, len(self._numbers))
        return self._by_number[number % len(self._by_number)]

    def _token(self, answer: dict[str, Any], index: int) -> int:
        tokens: list[int] = answer["tokens"]
        if 0 <= index < len(tokens):
            return tokens[index]
        if index >= len(tokens) and answer["end"] == "raise":
            raise ScriptedError("the answer ends with a step that raises, as scripted")
        if answer["end"] == "nan":
            return -1
        if answer["end"] == "repeat" and tokens:
            return tokens[index % len(tokens)]
        return self._eos

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        """The tokens are chosen already, and only held to what the step allows."""
        self._edits[plan_id % 2] = edits
        hold(edits, self._tokens[plan_id % 2])

    def tokens(self, plan_id: int) -> array[int]:
        """The step's tokens."""
        return self._tokens[plan_id % 2]

    def logprobs(self, plan_id: int) -> tuple[array[int] | None, array[int] | None]:
        """Made-up log probabilities (see `made_up`)."""
        return logprobs(self._edits[plan_id % 2], self._tokens[plan_id % 2], self._vocab_size)

    def reset(self) -> None:
        """Slots are given anew after a failed step."""
        self._slots.clear()
