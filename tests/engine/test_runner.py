"""The runner as a whole: its greedy tokens are transformers' own, whatever the schedule."""

import random

import pytest
import torch

from engine.drive import CONFIGS, VOCAB, drive, generate, make_runner, tiny_model
from engine.pack import Packer, Sequence, make_layout, param_row
from overt.engine.arena import HEADER, PARAM_COLUMNS
from overt.engine.runner import batch_buckets


def packer(**changes: int) -> Packer:
    limits = {"max_rows": 6, "max_tokens": 48, "max_blocks": 16, "num_blocks": 80, "chunk": 32}
    return Packer(**(limits | changes))


def random_sequences(seed: int, lengths: list[tuple[int, int, int]]) -> list[Sequence]:
    """(prompt length, new tokens, arrival) each."""
    rng = random.Random(seed)
    return [
        Sequence([rng.randrange(VOCAB) for _ in range(prompt)], new, arrives=arrives)
        for prompt, new, arrives in lengths
    ]


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_greedy_tokens_are_those_of_generate(name: str, overlap: bool) -> None:
    model = tiny_model(name)
    # Chunks of 32, arrivals while others decode, more sequences than rows, contexts of several buckets.
    shapes = [(70, 12, 0), (1, 20, 0), (16, 9, 1), (33, 30, 2), (100, 8, 3), (5, 25, 3), (17, 10, 4), (40, 6, 9)]
    sequences = random_sequences(3, shapes)
    steps = packer()
    made = drive(make_runner(model, steps), steps, sequences, overlap=overlap)
    expected = [generate(model, sequence.prompt, sequence.max_new) for sequence in sequences]
    assert made == expected


def test_a_long_context_beside_short_ones() -> None:
    model = tiny_model("llama")
    steps = packer(max_blocks=32, num_blocks=120)
    sequences = random_sequences(5, [(400, 40, 0), (4, 30, 0), (9, 30, 0), (2, 30, 1)])
    made = drive(make_runner(model, steps), steps, sequences)
    assert made == [generate(model, sequence.prompt, sequence.max_new) for sequence in sequences]


def test_a_shared_prefix_is_read_from_the_cache() -> None:
    model = tiny_model("gemma3")
    steps = packer()
    runner = make_runner(model, steps)
    (first,) = random_sequences(8, [(48, 2, 0)])
    drive(runner, steps, [first])
    second = Sequence([*first.prompt[:32], 7, 8, 9, 10], 10)
    # Blocks as a prefix cache would hand them out: the first two hold the first sequence's tokens.
    second.blocks = first.blocks[:2]
    second.computed = 32
    for block in second.blocks:
        steps.free.remove(block)
    assert drive(runner, steps, [second]) == [generate(model, second.prompt, 10)]


def test_sampled_text_does_not_depend_on_the_batch() -> None:
    model = tiny_model("qwen3")

    def texts(schedule: list[int], chunk: int) -> list[list[int]]:
        sequences = random_sequences(4, [(20 + 7 * i, 24, schedule[i]) for i in range(4)])
        for index, sequence in enumerate(sequences):
            sequence.params = param_row(
                seed=index // 2, choice=index, temperature=0.5 + 0.4 * index, top_p=(1.0, 0.9)[index % 2]
            )
        steps = packer(chunk=chunk)
        return drive(make_runner(model, steps), steps, sequences, overlap=chunk > 20)

    together = texts([0, 0, 0, 0], 32)
    assert together == texts([0, 40, 80, 120], 13)
    assert len({tuple(text) for text in together}) == 4


def test_tokens_of_a_broken_row_are_minus_one_and_leave_nothing_behind() -> None:
    model = tiny_model("llama")
    steps = packer()
    runner = make_runner(model, steps)
    good, bad, later = random_sequences(6, [(20, 12, 0), (20, 3, 0), (25, 9, 4)])
    bad.prompt[4] = VOCAB - 1
    with torch.no_grad():
        model.model.embed_tokens.weight[VOCAB - 1] = torch.nan
    made = drive(runner, steps, [good, bad])
    assert made[1][0] == -1
    assert made[0] == generate(model, good.prompt, 12)
    # The broken row's blocks are next to be given out.
    steps.free.sort(key=lambda block: block in bad.blocks)
    assert drive(runner, steps, [later]) == [generate(model, later.prompt, 9)]


def test_a_failed_step_can_be_recovered_from() -> None:
    model = tiny_model("llama")
    steps = packer()
    runner = make_runner(model, steps)
    (sequence,) = random_sequences(9, [(12, 4, 0)])
    steps.admit(sequence)
    steps.pack(0, runner.arenas[0])
    broken = model.model.layers[1].mlp.forward
    model.model.layers[1].mlp.forward = None
    with pytest.raises(TypeError):
        runner.launch(0)
    model.model.layers[1].mlp.forward = broken
    runner.reset()
    with pytest.raises(RuntimeError, match="was not launched"):
        runner.tokens(0)
    steps = packer()
    (again,) = random_sequences(9, [(12, 4, 0)])
    assert drive(runner, steps, [again]) == [generate(model, again.prompt, 4)]


@pytest.mark.parametrize("name", CONFIGS)
def test_decode_steps_can_be_captured(name: str, caplog: pytest.LogCaptureFixture) -> None:
    steps = packer()
    runner = make_runner(tiny_model(name), steps)
    runner.warm_up()
    drive(runner, steps, random_sequences(1, [(20, 8, 0), (40, 8, 0), (9, 8, 2)]))
    assert not caplog.records


def test_a_model_that_cannot_be_captured_runs_without_graphs(caplog: pytest.LogCaptureFixture) -> None:
    model = tiny_model("llama")
    forward = model.model.norm.forward
    model.model.norm.forward = lambda hidden: forward(hidden) if hidden.sum().item() else hidden
    steps = packer()
    runner = make_runner(model, steps)
    runner.warm_up()
    assert "without graphs: Tensor.item" in caplog.text
    (sequence,) = random_sequences(1, [(20, 8, 0)])
    assert drive(runner, steps, [sequence]) == [generate(model, sequence.prompt, 8)]


def test_batches_are_rounded_up() -> None:
    assert batch_buckets(1) == [1]
    assert batch_buckets(6) == [1, 2, 4, 6]
    assert batch_buckets(257) == [1, 2, 4, *range(8, 65, 8), *range(96, 257, 32), 257]


def test_the_arena_is_the_cores() -> None:
    core = pytest.importorskip("overt._core")
    assert core.HEADER == HEADER
    assert core.PARAM_COLUMNS == PARAM_COLUMNS
    assert core.arena_layout(5, 40, 7) == make_layout(5, 40, 7)


def test_graphs_change_nothing() -> None:
    model = tiny_model("mistral")
    results = []
    for graphs in (True, False):
        steps = packer()
        runner = make_runner(model, steps, graphs=graphs)
        runner.warm_up()
        results.append(drive(runner, steps, random_sequences(2, [(30, 12, 0), (9, 12, 1), (50, 12, 2)])))
    assert results[0] == results[1]
