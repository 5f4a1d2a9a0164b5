"""Every way a sequence can be run gives the tokens of generate()."""

from contextlib import closing

from equality.conftest import Case
from equality.harness import Harness
from equality.oracle import compare
from overt.engine.config import BLOCK_SIZE


def test_alone(case: Case) -> None:
    with closing(Harness(case.model, case.files)) as server:
        compare(f"{case.name} alone", case.expected, server.generate(case.prompts, case.count, together=False))


def test_16_together_with_staggered_arrival(case: Case) -> None:
    with closing(Harness(case.model, case.files)) as server:
        got = server.generate(case.prompts, case.count, stagger_s=case.count / 12_000)
        compare(f"{case.name} together", case.expected, got)
        assert server.recorder.most_rows == min(16, len(case.prompts))


def test_overlapped_steps(case: Case) -> None:
    with closing(Harness(case.model, case.files, overlap=True)) as server:
        got = server.generate(case.prompts, case.count, stagger_s=0.01)
        compare(f"{case.name} overlapped", case.expected, got)


def test_prefill_budget_of_32(case: Case) -> None:
    with closing(Harness(case.model, case.files, max_num_batched_tokens=32)) as server:
        compare(f"{case.name} budget 32", case.expected, server.generate(case.prompts, case.count))
        assert server.recorder.largest_step <= 32


def test_a_pool_so_small_that_sequences_are_preempted(case: Case) -> None:
    blocks = [-(-(len(prompt) + case.count) // BLOCK_SIZE) for prompt in case.prompts]
    num_blocks = min(3 * max(blocks), sum(blocks) // 2) + 2
    with closing(Harness(case.model, case.files, num_blocks=num_blocks, prefix_cache=False)) as server:
        compare(f"{case.name} preempted", case.expected, server.generate(case.prompts, case.count))
        preemptions = server.stats()["preemptions"]
        print(f"{case.name}: {preemptions} preemptions")
        assert preemptions > 0


def test_a_warm_prefix_cache(case: Case) -> None:
    with closing(Harness(case.model, case.files)) as server:
        server.generate(case.prompts, 1)
        before = server.stats()["prefix_hit_tokens"]
        compare(f"{case.name} warm", case.expected, server.generate(case.prompts, case.count))
        # Every full block but what holds a prompt's last token, which is computed again for its logits.
        expected = sum((len(prompt) - 1) // BLOCK_SIZE * BLOCK_SIZE for prompt in case.prompts)
        assert server.stats()["prefix_hit_tokens"] - before == expected
