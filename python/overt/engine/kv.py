"""The KV cache: two tensors a layer, addressed by physical slot (block * 16 + offset)."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from overt.engine.config import BLOCK_SIZE

CUDA_SHARE: Final = 0.9
"""Share of the free device memory that the cache takes when no size is given; the rest is for activations."""

HOST_SHARE: Final = 0.25
"""The same of the available host memory, which other programs want too."""

HOST_MOST: Final = 4 << 30
"""Bytes that the cache takes on a CPU at most when no size is given."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer keeps of a token: K is `[heads, key_dim]`, V is `[heads, value_dim]`."""

    heads: int
    key_dim: int
    value_dim: int

    @property
    def elements(self) -> int:
        """Numbers kept a token."""
        return self.heads * (self.key_dim + self.value_dim)


@dataclass(frozen=True, slots=True)
class LayerKv:
    """A layer's cache: `[num_blocks * 16, heads, dim]` each."""

    key: torch.Tensor
    value: torch.Tensor


class KvCache:
    """K and V of every layer, zeroed, so that what a mask hides is at least finite."""

    def __init__(self, layers: Sequence[LayerShape], *, num_blocks: int, dtype: torch.dtype, device: str) -> None:
        slots = num_blocks * BLOCK_SIZE
        self.num_blocks = num_blocks
        self.layers = [
            LayerKv(
                _zeros((slots, layer.heads, layer.key_dim), dtype, device),
                _zeros((slots, layer.heads, layer.value_dim), dtype, device),
            )
            for layer in layers
        ]

    def tensors(self) -> list[torch.Tensor]:
        """All tensors of the cache."""
        return [tensor for layer in self.layers for tensor in (layer.key, layer.value)]

    def scrub(self, blocks: torch.Tensor) -> None:
        """Replaces what is not finite in `blocks` (int64 block numbers) by 0.

        A sequence that went wrong must not leave NaN behind: 0 * NaN is NaN even where a mask gives weight 0.
        """
        for tensor in self.tensors():
            by_block = tensor.view(self.num_blocks, -1)
            by_block[blocks] = torch.nan_to_num(by_block[blocks], nan=0.0, posinf=0.0, neginf=0.0)


def _zeros(shape: tuple[int, int, int], dtype: torch.dtype, device: str) -> torch.Tensor:
    """Zeros; on a CPU pages that the system zeroes when first touched, so that a large cache costs no start."""
    if device.startswith("cuda"):
        return torch.zeros(shape, dtype=dtype, device=device)
    bytes_ = np.zeros(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
    return torch.from_numpy(bytes_).view(dtype).view(shape)


def blocks_that_fit(
    layers: Sequence[LayerShape],
    *,
    dtype: torch.dtype,
    device: str,
    memory_bytes: int | None,
    max_model_len: int,
) -> int:
    """Number of KV blocks, the dummy block 0 included, for `memory_bytes` (None: a share of what is free).

    Raises MemoryError where not even one sequence of `max_model_len` tokens (and one block for the health
    probe) fits.
    """
    block_bytes = BLOCK_SIZE * dtype.itemsize * sum(layer.elements for layer in layers)
    budget = _free_bytes(device) if memory_bytes is None else memory_bytes
    blocks = budget // block_bytes
    needed = -(-max_model_len // BLOCK_SIZE) + 2
    if blocks < needed:
        raise MemoryError(
            f"the KV cache of one sequence of {max_model_len} tokens needs {needed * block_bytes / 2**20:.0f} MiB "
            f"and {budget / 2**20:.0f} MiB are there; lower the maximum length or give the cache more memory"
        )
    return blocks


def _free_bytes(device: str) -> int:
    if device.startswith("cuda"):
        free, _ = torch.cuda.mem_get_info(device)
        return int(free * CUDA_SHARE)
    return min(int(_available_host_bytes() * HOST_SHARE), HOST_MOST)


def _available_host_bytes() -> int:
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
