"""The emulated capture: what a CUDA graph could not replay must not pass."""

from collections.abc import Callable

import pytest
import torch

from overt.engine.graph import GraphError, capture

STATIC = torch.arange(6, dtype=torch.float32)
INDEX = torch.tensor([0, 2])


def check(step: Callable[[], torch.Tensor]) -> torch.Tensor:
    return capture(step, device="cpu", static=[STATIC, INDEX]).replay()


def test_a_step_over_static_buffers_passes() -> None:
    scratch: list[torch.Tensor] = []

    def step() -> torch.Tensor:
        made = torch.arange(6).float() + torch.zeros_like(STATIC)
        scratch.append(STATIC[INDEX])
        return (STATIC.view(2, 3) @ made.view(3, 2)).to(STATIC.device).to(torch.float64)

    graph = capture(step, device="cpu", static=[STATIC, INDEX])
    assert len(scratch) == 1
    first = graph.replay()
    assert torch.equal(first, graph.replay())
    assert first.dtype == torch.float64


def test_a_replay_reads_the_buffers_anew() -> None:
    buffer = torch.zeros(3)
    graph = capture(lambda: buffer + 1, device="cpu", static=[buffer])
    buffer.fill_(4)
    assert graph.replay().tolist() == [5, 5, 5]


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (lambda: STATIC * STATIC[0].item(), "item"),
        (lambda: STATIC if STATIC.sum() > 3 else -STATIC, "bool"),
        (lambda: STATIC[: int(STATIC[1])], "int"),
        (lambda: STATIC[: INDEX[1]], "index|_local_scalar_dense"),
        (lambda: STATIC.nonzero(), "nonzero"),
        (lambda: torch.where(STATIC > 2)[0], "nonzero"),
        (lambda: STATIC[STATIC > 2], "index"),
        (lambda: STATIC.masked_select(STATIC > 2), "masked_select"),
        (lambda: STATIC.unique(), "unique"),
        (lambda: torch.repeat_interleave(INDEX), "repeat_interleave"),
        (lambda: STATIC.cpu(), "cpu"),
        (lambda: STATIC.to("cpu"), "cpu"),
        (lambda: STATIC.to(device="cpu"), "cpu"),
        (lambda: torch.from_numpy(STATIC.numpy() + 1), "numpy"),
        (lambda: STATIC * len(STATIC.tolist()), "tolist"),
        (lambda: STATIC + torch.tensor(2.0), "lift_fresh"),
        (lambda: STATIC * torch.equal(STATIC, STATIC), "equal"),
    ],
)
def test_waiting_for_the_device_is_refused(step: Callable[[], torch.Tensor], named: str) -> None:
    with pytest.raises(GraphError, match=named):
        check(step)


@pytest.mark.parametrize(
    ("read", "named"),
    [
        (lambda other: STATIC + other, r"aten::add.*\(6,\)"),
        (lambda other: STATIC.copy_(other), "copy_"),
        (lambda other: torch.cat([STATIC, other]), "cat"),
        (lambda other: other.view(2, 3).sum(), "view"),
    ],
)
def test_reading_outside_the_static_buffers_is_refused(
    read: Callable[[torch.Tensor], torch.Tensor], named: str
) -> None:
    other = torch.ones(6)
    with pytest.raises(GraphError, match=named):
        check(lambda: read(other))
