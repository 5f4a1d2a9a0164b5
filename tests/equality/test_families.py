"""The same modes over a tiny random model of every other family, however its checkpoint is stored."""

from contextlib import closing
from pathlib import Path

import pytest
import torch

from equality.conftest import Case, make_case
from equality.harness import Harness
from equality.oracle import compare
from equality.test_modes import (  # noqa: F401 - tests that run here with the cases of this file
    test_16_together_with_staggered_arrival,
    test_a_pool_so_small_that_sequences_are_preempted,
    test_a_warm_prefix_cache,
    test_alone,
    test_overlapped_steps,
    test_prefill_budget_of_32,
)
from models.tiny import FAMILIES, make

COUNT = 16
"""Tokens a prompt."""

STORED = {
    "llama-tied": {"kind": "llama", "tied": True},
    "qwen3-untied": {"kind": "qwen3", "tied": False},
    "llama-bfloat16": {"kind": "llama", "dtype": torch.bfloat16},
    "llama-float16": {"kind": "llama", "dtype": torch.float16},
}
"""Checkpoints of families that run in `test_modes`, stored otherwise."""

KINDS = sorted(FAMILIES.keys() - {"llama", "qwen3", "mistral", "gemma3"})


@pytest.fixture(scope="module", params=[*KINDS, *STORED])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A family's model."""
    name: str = request.param
    stored = STORED.get(name, {"kind": name})
    return make_case(name, str(make(folder=tmp_path_factory.mktemp(name), **stored)), COUNT)


def test_decode_steps_can_be_captured(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    with closing(Harness(case.model, case.files)) as server:
        server.generate(case.prompts[:2], 4)
    assert "runs without graphs" not in caplog.text


def test_experts_that_wait_for_the_device_run_without_graphs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = make_case("qwen3-moe", str(make("qwen3-moe", tmp_path)), 4)
    # One expert after the other, those that some token chose: how many is only known on the device.
    case.model.set_experts_implementation("eager")  # type: ignore[operator]
    with closing(Harness(case.model, case.files)) as server:
        compare("experts one by one", case.expected, server.generate(case.prompts, case.count))
    assert "Qwen3MoeForCausalLM runs without graphs" in caplog.text
