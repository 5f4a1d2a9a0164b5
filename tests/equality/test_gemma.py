"""Gemma-3-270m: windows and a vocabulary of 262,144 tokens, with real weights."""

import os
from contextlib import closing

import pytest

from equality.conftest import LONG, QUESTIONS, Case, make_case
from equality.harness import Harness
from equality.oracle import compare
from equality.test_modes import (  # noqa: F401 - tests that run here with the case of this file
    test_16_together_with_staggered_arrival,
    test_a_pool_so_small_that_sequences_are_preempted,
    test_a_warm_prefix_cache,
    test_alone,
    test_overlapped_steps,
    test_prefill_budget_of_32,
)
from overt.models import ModelError

NAME = "gemma-3-270m"


def _case(prompts: int, count: int) -> Case:
    try:
        return make_case(NAME, NAME, count, QUESTIONS[:prompts])
    except ModelError as error:
        if "not installed" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def case() -> Case:
    """Five prompts of 32 tokens each: minutes on two cores."""
    if LONG not in os.environ:
        pytest.skip(f"set {LONG}=1 to run {NAME} in every mode")
    return _case(5, 32)


def test_a_few_tokens_cold_chunked_together_and_warm() -> None:
    case = _case(2, 8)
    with closing(Harness(case.model, case.files, max_num_batched_tokens=16)) as server:
        compare(f"{NAME} alone", case.expected, server.generate(case.prompts, case.count, together=False))
        assert server.stats()["prefix_hit_tokens"] == 0
        compare(f"{NAME} together", case.expected, server.generate(case.prompts, case.count))
        assert server.stats()["prefix_hit_tokens"] > 0
        assert server.recorder.largest_step <= 16
