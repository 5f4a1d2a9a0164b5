"""Paged attention of a step on CUDA: the kernels of `kernels/paged_attention.py` in place of the reference."""

from dataclasses import dataclass, field

import torch

from overt.engine.attention import Prefill, Rule
from overt.engine.kv import KvCache
from overt.kernels import paged_attention as kernels


@dataclass(slots=True)
class CudaStep:
    """One step over the paged cache: decode rows first, then prefill rows. Decode-only steps can be captured."""

    cache: KvCache
    slot_mapping: torch.Tensor
    """Physical KV index of each token, `[tokens]`."""
    block_tables: torch.Tensor
    """int32 `[rows, max_blocks]`."""
    seq_lens: torch.Tensor
    """Context of each row, this step's tokens included, int32 `[rows]`."""
    decode_rows: int
    prefills: list[Prefill]
    _tiles: torch.Tensor | None = field(default=None)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rule: Rule
    ) -> torch.Tensor:
        """See attention.Step."""
        kv = self.cache.layers[layer]
        query, key, value = (_last_contiguous(tensor) for tensor in (query, key, value))
        kernels.write_kv(key, value, kv.key, kv.value, self.slot_mapping)
        rows = self.decode_rows
        decoded = None
        if rows:
            decoded = kernels.decode(
                query[:rows],
                kv.key,
                kv.value,
                self.block_tables,
                self.seq_lens,
                scale=rule.scale,
                window=rule.window,
                softcap=rule.softcap,
                sinks=rule.sinks,
            )
            if not self.prefills:
                return decoded
        output = query.new_empty(query.shape[0], query.shape[1], value.shape[-1])
        if decoded is not None:
            output[:rows] = decoded
        if self._tiles is None:
            self._tiles = kernels.prefill_tiles(
                [(prefill.row, prefill.first, prefill.end, prefill.seq_len) for prefill in self.prefills],
                query.device,
            )
        kernels.prefill(
            query,
            kv.key,
            kv.value,
            self.block_tables,
            self._tiles,
            output,
            scale=rule.scale,
            window=rule.window,
            softcap=rule.softcap,
            sinks=rule.sinks,
        )
        return output


def _last_contiguous(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()
