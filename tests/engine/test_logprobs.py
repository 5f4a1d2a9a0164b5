"""Edits and log probabilities through the runner, against the model's own eager logits and the plain reference."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Gemma2Config, GraniteConfig

from engine.drive import CONFIGS, SHAPE, VOCAB, drive, make_runner, random_model, tiny_model
from engine.pack import Packer, RowEdits, Sequence, edit_bytes, param_row
from engine.reference import Row, distribution, token
from overt.engine.arena import Words
from overt.engine.logprobs import Mode, PromptHead, describe
from overt.engine.runner import ATTENTION, ModelRunner

HEADS: dict[str, Any] = {
    "llama": CONFIGS["llama"],
    "softcap": Gemma2Config(**SHAPE, final_logit_softcapping=3.0, attn_logit_softcapping=None, sliding_window=9),
    "scaling": GraniteConfig(**SHAPE, logits_scaling=0.25),
}


def packer(**changes: int) -> Packer:
    limits = {"max_rows": 6, "max_tokens": 48, "max_blocks": 16, "num_blocks": 80, "chunk": 32}
    return Packer(**(limits | changes))


def eager_logits(model: Any, ids: list[int]) -> torch.Tensor:
    """Logits `[tokens, vocab]` of a whole sequence by the model's own attention."""
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()
    finally:
        model.set_attn_implementation(ATTENTION)


def check_told(told: Words, top: int, logs: np.ndarray, token: int) -> None:
    """One row of log probabilities against all tokens' `logs`."""
    likeliest = np.argsort(-logs, kind="stable")
    assert told.shape == (2 + 2 * top,)
    ids, floats = told[2 : 2 + top], told.view(np.float32)
    assert floats[0] == pytest.approx(logs[token], abs=2e-4)
    assert told[1] == 1 + (logs > logs[token]).sum()
    possible = min(top, int((logs > -np.inf).sum()))
    assert ids[:possible].tolist() == likeliest[:possible].tolist()
    assert ids[possible:].tolist() == [-1] * (top - possible)
    np.testing.assert_allclose(floats[2 + top :][:possible], logs[ids[:possible]], atol=2e-4)
    assert (floats[2 + top + possible :] == -np.inf).all()


class Asked:
    """Edits as a scheduler would write them, and what the runner tells of the tokens."""

    def __init__(self, runner: ModelRunner, steps: Packer, wishes: dict[int, tuple[Row, RowEdits]], top: int) -> None:
        """`wishes` by id of the sequence; penalties count what was made so far."""
        self._runner, self._steps, self._wishes, self._top = runner, steps, wishes, top
        self.told: dict[int, list[Words]] = {}
        self._asked: dict[int, list[int]] = {}

    def of(self, sequence: Sequence) -> RowEdits:
        row, edits = self._wishes[id(sequence)]
        counts: dict[int, int] = {}
        if any(name.endswith("penalty") for name in row):
            counts = dict.fromkeys(sequence.prompt, 0) | Counter(sequence.made)
        return RowEdits(bias=edits.bias, counts=counts, allowed=edits.allowed, logprobs=edits.logprobs)

    def edits(self, plan: int) -> bytes | None:
        rows = {at: self.of(sequence) for at, (sequence, sampled) in enumerate(self._steps.rows[plan]) if sampled}
        self._asked[plan] = [at for at, edits in rows.items() if edits.logprobs]
        return edit_bytes(rows, logprob_top=self._top) if rows else None

    def read(self, plan: int) -> None:
        sampled, prompt = self._runner.logprobs(plan)
        assert prompt is None
        asked = self._asked.pop(plan)
        if sampled is None:
            assert not asked
            return
        for at, told in zip(asked, sampled, strict=True):
            self.told.setdefault(id(self._steps.rows[plan][at][0]), []).append(told.copy())


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("mode", ["raw_logprobs", "processed_logprobs"])
def test_edited_rows_and_their_log_probabilities(mode: Mode, overlap: bool) -> None:
    model = tiny_model("qwen3")
    penalties: Row = {"repetition_penalty": 1.3, "frequency_penalty": 0.5, "presence_penalty": 0.2}
    wishes: list[tuple[Row, RowEdits]] = [
        ({"greedy": True}, RowEdits(logprobs=True)),
        ({"greedy": True} | penalties, RowEdits(logprobs=True)),
        ({"temperature": 0.8, "seed": 3}, RowEdits(bias={5: 2.0, 9: -math.inf}, logprobs=True)),
        ({"top_k": 3, "seed": 4} | penalties, RowEdits(logprobs=True)),
        ({"top_p": 0.9, "typical_p": 0.9, "seed": 5}, RowEdits(allowed=list(range(40)), logprobs=True)),
        ({"temperature": 1.2, "seed": 6}, RowEdits()),
    ]
    generator = np.random.default_rng(0)
    sequences = [
        Sequence(generator.integers(0, VOCAB, 9 + 11 * at).tolist(), 10, params=param_row(**row), arrives=at)
        for at, (row, _) in enumerate(wishes)
    ]
    steps = packer()
    runner = make_runner(model, steps, logprobs_mode=mode)
    runner.warm_up()
    asked = Asked(runner, steps, {id(one): wish for one, wish in zip(sequences, wishes, strict=True)}, top=7)
    made = drive(runner, steps, sequences, overlap=overlap, edits=asked.edits, told=asked.read)
    for sequence, (row, edits), tokens in zip(sequences, wishes, made, strict=True):
        logits = eager_logits(model, sequence.prompt + tokens)
        told = asked.told.get(id(sequence), [])
        assert len(told) == (len(tokens) if edits.logprobs else 0)
        for count, drawn in enumerate(tokens):
            at = len(sequence.prompt) + count
            sequence.made = tokens[:count]
            own = asked.of(sequence)
            assert drawn == token(logits[at - 1], row, at, own)
            if told:
                plain: tuple[Row, RowEdits] = ({"greedy": True}, RowEdits())
                logs = distribution(logits[at - 1], *((row, own) if mode == "processed_logprobs" else plain))
                check_told(told[count], 7, logs, drawn)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize(
    ("chunk", "tokens"), [(1, 48), (32, 48), (200, 220)], ids=["single tokens", "chunked", "whole"]
)
@pytest.mark.parametrize("name", HEADS)
def test_prompt_log_probabilities(name: str, chunk: int, tokens: int, overlap: bool) -> None:
    model = random_model(HEADS[name])
    # With chunks of one token all steps look like decode steps.
    lengths = [33, 170, 12, 2]
    generator = np.random.default_rng(1)
    sequences = [
        Sequence(generator.integers(0, VOCAB, length).tolist(), 4, arrives=5 * at, prompt_logprobs=length != 12)
        for at, length in enumerate(lengths)
    ]
    steps = packer(chunk=chunk, max_tokens=tokens)
    runner = make_runner(model, steps)
    runner.warm_up()
    top = 5
    found: dict[int, list[tuple[int, Words]]] = {id(sequence): [] for sequence in sequences}
    wanted: dict[int, list[tuple[Sequence, int]]] = {}

    def edits(plan: int) -> bytes | None:
        entries = []
        wanted[plan] = []
        for (sequence, _), (first, start, count) in zip(steps.rows[plan], steps.spans[plan], strict=True):
            for offset in range(count):
                if sequence.prompt_logprobs and start + offset + 1 < len(sequence.prompt):
                    entries.append((first + offset, sequence.prompt[start + offset + 1]))
                    wanted[plan].append((sequence, start + offset + 1))
        return edit_bytes({}, prompt=entries, prompt_top=top) if entries else None

    def told(plan: int) -> None:
        sampled, prompt = runner.logprobs(plan)
        assert sampled is None
        assert (prompt is None) == (not wanted[plan])
        for (sequence, at), row in zip(wanted.pop(plan), [] if prompt is None else prompt, strict=True):
            found[id(sequence)].append((at, row.copy()))

    made = drive(runner, steps, sequences, overlap=overlap, edits=edits, told=told)
    for sequence, new in zip(sequences, made, strict=True):
        logits = eager_logits(model, sequence.prompt + new)
        assert new == logits[len(sequence.prompt) - 1 : -1].argmax(-1).tolist()
        rows = found[id(sequence)]
        assert [at for at, _ in rows] == (list(range(1, len(sequence.prompt))) if sequence.prompt_logprobs else [])
        logs = logits.log_softmax(-1).double().numpy()
        for at, row in rows:
            check_told(row, top, logs[at - 1], sequence.prompt[at])


def test_prompt_log_probabilities_must_be_announced() -> None:
    steps = packer()
    runner = make_runner(tiny_model("llama"), steps)
    with pytest.raises(RuntimeError, match="unannounced"):
        drive(runner, steps, [Sequence([1, 2, 3], 1)], edits=lambda plan: edit_bytes({}, prompt=[(0, 2)]))


def test_a_model_without_a_base_says_so() -> None:
    model = tiny_model("llama")
    assert make_runner(model, packer()).tells_prompt_logprobs
    head = PromptHead(torch.nn.Linear(2, 2))
    assert not head.usable
    with pytest.raises(RuntimeError, match="Linear tells no log probabilities"), head.listening():
        pass


@pytest.mark.parametrize("mode", ["raw_logprobs", "processed_logprobs"])
def test_a_broken_row_tells_nothing_and_disturbs_nobody(mode: Mode) -> None:
    model = tiny_model("llama")
    with torch.no_grad():
        model.model.embed_tokens.weight[VOCAB - 1] = torch.nan
    row: Row = {"top_p": 0.9, "seed": 1}
    prompts = [[5, 6, 7], [5, VOCAB - 1, 7], [8, 9]]
    results = []
    for chosen in ([0, 1, 2], [0], [2]):
        steps = packer()
        runner = make_runner(model, steps, logprobs_mode=mode)
        sequences = [Sequence(prompts[at], 1, params=param_row(**row)) for at in chosen]
        wishes = {id(one): (row, RowEdits(bias={3: 1.0}, logprobs=True)) for one in sequences}
        asked = Asked(runner, steps, wishes, top=4)
        made = drive(runner, steps, sequences, edits=asked.edits, told=asked.read)
        results.append([(new, asked.told[id(one)][0]) for one, new in zip(sequences, made, strict=True)])
    together, first, last = results
    assert together[1][0] == [-1]
    told = together[1][1]
    assert math.isnan(told.view(np.float32)[0])
    assert told[1:6].tolist() == [0, -1, -1, -1, -1]
    for mine, alone in ((together[0], first[0]), (together[2], last[0])):
        assert mine[0] == alone[0]
        assert mine[1][:6].tolist()[1:] == alone[1][:6].tolist()[1:]
        np.testing.assert_allclose(mine[1].view(np.float32)[[0, 6]], alone[1].view(np.float32)[[0, 6]], atol=1e-4)


def test_a_banned_vocabulary_is_told_by_minus_two() -> None:
    model = tiny_model("llama")
    steps = packer()
    runner = make_runner(model, steps)
    sequences = [Sequence([1, 2, 3], 2), Sequence([4, 5], 2)]
    nothing = RowEdits(allowed=[7], bias={7: -math.inf}, logprobs=True)
    wishes: dict[int, tuple[Row, RowEdits]] = {
        id(sequences[0]): ({}, nothing),
        id(sequences[1]): ({}, RowEdits()),
    }
    asked = Asked(runner, steps, wishes, top=0)
    made = drive(runner, steps, sequences, edits=asked.edits, told=asked.read)
    assert made[0] == [-2, -2]
    assert made[1] == drive(make_runner(model, packer()), packer(), [again := Sequence([4, 5], 2)])[0] == again.made


def test_half_precision_logits_are_edited_in_single() -> None:
    model = tiny_model("llama").bfloat16()
    prompt = [4, 5, 6]

    def run(edits: RowEdits) -> tuple[int, Words]:
        steps = packer()
        runner = make_runner(model, steps)
        sequence = Sequence(prompt, 1)
        asked = Asked(runner, steps, {id(sequence): ({}, edits)}, top=VOCAB)
        ((token,),) = drive(runner, steps, [sequence], edits=asked.edits, told=asked.read)
        return token, asked.told[id(sequence)][0]

    best, told = run(RowEdits(logprobs=True))
    ids, logs = told[2 : 2 + VOCAB].tolist(), told.view(np.float32)[2 + VOCAB :].tolist()
    # A later token is lifted above the best by less than bfloat16 can tell.
    other = next(at for at, token in enumerate(ids) if token > best)
    gap = logs[0] - logs[other]
    assert run(RowEdits(bias={ids[other]: gap + 1e-4}, logprobs=True))[0] == ids[other]
    assert run(RowEdits(bias={ids[other]: gap - 1e-4}, logprobs=True))[0] == best


def test_descriptions() -> None:
    torch.manual_seed(2)
    logits = torch.randn(5, 7)
    logits[3, 2:] = -math.inf
    logits[4] = math.nan
    tokens = torch.tensor([3, 0, -2, 1, -1])
    for top in (0, 3, 9):
        told = describe(logits, tokens, top).numpy()
        for at in (0, 1, 3):
            check_told(told[at], top, logits[at].log_softmax(-1).double().numpy(), int(tokens[at]))
        for at in (2, 4):
            assert math.isnan(told[at].view(np.float32)[0])
            assert told[at][1] == 0
    assert describe(logits, tokens, 3)[4, 2:5].tolist() == [-1, -1, -1]
