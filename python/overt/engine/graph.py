"""Decode steps as graphs over static buffers: captured on CUDA, emulated with the same rules elsewhere.

A captured graph replays the same kernels on the same addresses. So a step must not wait for the device (a
value of a tensor would steer Python), and must not read a tensor that will lie elsewhere next time. The
emulation runs the very function that CUDA captures and holds it to both rules.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

StepFunction = Callable[[], torch.Tensor]


class GraphError(RuntimeError):
    """A step cannot be captured; the message names the operation."""


class StepGraph(Protocol):
    """A step that can be run again and again over the static buffers."""

    def replay(self) -> torch.Tensor:
        """Runs the step. Returns its output, which is valid until the next replay of any graph."""


def capture(step: StepFunction, *, device: str, static: Iterable[torch.Tensor], pool: Any = None) -> StepGraph:
    """Captures `step`, which may read only `static` tensors and what it makes itself.

    `pool` is the CUDA memory pool that graphs share (`torch.cuda.graph_pool_handle()`). Raises GraphError.
    """
    if device.startswith("cuda"):
        return CudaGraph(step, pool)
    return EmulatedGraph(step, static)


class CudaGraph:
    """A CUDA graph."""

    def __init__(self, step: StepFunction, pool: Any) -> None:
        side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            # Kernels are compiled and workspaces allocated before the capture, where neither may happen.
            step()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self._graph, pool=pool):
                self._output = step()
        except RuntimeError as error:
            raise GraphError(f"the step cannot be captured as a CUDA graph: {error}") from error

    def replay(self) -> torch.Tensor:
        """See StepGraph."""
        self._graph.replay()
        return self._output


class EmulatedGraph:
    """The step itself, run once under the rules of a capture."""

    def __init__(self, step: StepFunction, static: Iterable[torch.Tensor]) -> None:
        self._step = step
        with _NoHostReads(), _CaptureRules(static):
            step()

    def replay(self) -> torch.Tensor:
        """See StepGraph."""
        return self._step()


# Methods that hand a tensor's values to Python. Most dispatch no operation on a CPU, where nothing need be copied.
_HOST_READS: Final = frozenset(
    {
        torch.Tensor.cpu,
        torch.Tensor.item,
        torch.Tensor.numpy,
        torch.Tensor.tolist,
        torch.Tensor.__array__,
        torch.Tensor.__bool__,
        torch.Tensor.__int__,
        torch.Tensor.__float__,
        torch.Tensor.__index__,
    }
)


class _NoHostReads(TorchFunctionMode):
    """Refuses what hands values to Python."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _HOST_READS:
            raise GraphError(f"Tensor.{func.__name__} waits for the device; a captured step must not")
        # `to(other.device)` names no device: on a GPU it stays there.
        named = (*args[1:2], (kwargs or {}).get("device"))
        if func is torch.Tensor.to and any(isinstance(device, str) and device == "cpu" for device in named):
            raise GraphError("Tensor.to('cpu') waits for the device; a captured step must not")
        return func(*args, **(kwargs or {}))


# Operations whose result's shape or value the host has to wait for.
_SYNCS: Final = frozenset(
    {
        "aten::_local_scalar_dense",
        "aten::_unique2",
        "aten::allclose",
        "aten::bincount",
        "aten::equal",
        "aten::is_nonzero",
        "aten::masked_select",
        "aten::nonzero",
        "aten::repeat_interleave.Tensor",
        "aten::unique_consecutive",
        "aten::unique_dim",
    }
)


class _CaptureRules(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses operations that wait for the device or read a tensor from outside the static buffers."""

    def __init__(self, static: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = {_storage(tensor) for tensor in static}
        # Results stay alive until the end, so that no address is used twice.
        self._alive: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name: str = func.name()
        if name in _SYNCS:
            raise GraphError(f"{name} waits for the device; a captured step must not")
        if name == "aten::lift_fresh":
            raise GraphError(f"{name} (torch.tensor of a Python value) copies from the host; a captured step must not")
        if name.startswith(("aten::index.", "aten::index_put")) and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        ):
            raise GraphError(f"{name} with a boolean mask waits for the device; a captured step must not")
        for tensor in _tensors((args, kwargs)):
            if _storage(tensor) not in self._known:
                raise GraphError(
                    f"{name} reads a tensor of shape {tuple(tensor.shape)} outside the static buffers; "
                    "a replay would read freed or stale memory"
                )
        result = func(*args, **kwargs)
        for tensor in _tensors(result):
            self._alive.append(tensor)
            self._known.add(_storage(tensor))
        return result


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
