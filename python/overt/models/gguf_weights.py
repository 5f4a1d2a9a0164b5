"""Dequantises a GGUF file's tensors into a model."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from overt.models import gguf_arch, gguf_file
from overt.models.build import Slots, name_some
from overt.models.files import ModelError, ModelFiles
from overt.models.gguf_arch import Arch
from overt.models.gguf_file import GgufFile, TensorInfo

# Quantisation types that are read: the gguf package can undo them, and they need no tensors beside their own.
# fmt: off
KINDS = (
    "F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
    "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS",
    "TQ1_0", "TQ2_0", "MXFP4",
)
# fmt: on

# Divides RoPE's frequencies one by one (Llama 3.1 and later).
FREQUENCIES = "rope_freqs.weight"


def fill(model: torch.nn.Module, files: ModelFiles, *, device: str, progress: Callable[[int, int, str], None]) -> None:
    """Puts every tensor of the GGUF file into `model`, on `device`.

    Raises ModelError naming tensors that the architecture does not have, that are missing, damaged or
    quantised in an unknown way.
    """
    file = gguf_file.read(files.path)
    arch = gguf_arch.arch_of(file)
    slots = Slots(model, str(files.path))
    names = {name: gguf_arch.tensor_name(arch, name) for name in file.tensors if name != FREQUENCIES}
    unknown = [name for name, ours in names.items() if ours is None]
    if unknown:
        raise ModelError(
            f"{files.path} holds {name_some(unknown)}, which {arch.model_class} does not have; use the "
            f"model's safetensors"
        )
    # Large tensors first, so that the threads end together.
    infos = sorted((file.tensors[name] for name in names), key=lambda info: -_elements(info))
    heads = {
        "attn_q": files.config["num_attention_heads"],
        "attn_k": files.config["num_key_value_heads"],
    }

    def read(info: TensorInfo) -> torch.Tensor:
        return _tensor(file, info, arch, heads)

    for done, (info, tensor) in enumerate(_ahead(infos, read)):
        progress(done, len(infos), info.name)
        name = names[info.name]
        assert name is not None
        slots.put(name, tensor.to(device=device))
    slots.close()
    progress(len(infos), len(infos), "")
    if FREQUENCIES in file.tensors:
        _scale_frequencies(model, read(file.tensors[FREQUENCIES]), files)


def _elements(info: TensorInfo) -> int:
    count = 1
    for size in info.shape:
        count *= size
    return count


def _ahead(
    infos: Sequence[TensorInfo], read: Callable[[TensorInfo], torch.Tensor]
) -> Iterator[tuple[TensorInfo, torch.Tensor]]:
    """The tensors in order, read a few ahead by a thread a core."""
    workers = min(8, os.cpu_count() or 1)
    pending: deque[tuple[TensorInfo, Future[torch.Tensor]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for info in infos:
            pending.append((info, pool.submit(read, info)))
            if len(pending) > 2 * workers:
                first, future = pending.popleft()
                yield first, future.result()
        while pending:
            first, future = pending.popleft()
            yield first, future.result()


def _tensor(file: GgufFile, info: TensorInfo, arch: Arch, heads: dict[str, int]) -> torch.Tensor:
    """One tensor in float32 (or as stored, if float32), as transformers lays it out."""
    kind = next((known for known in GGMLQuantizationType if known.value == info.kind), None)
    if kind is None or kind.name not in KINDS:
        raise ModelError(
            f"{file.path}: tensor {info.name} is of type {info.kind if kind is None else kind.name}, which is not "
            f"known (known: {', '.join(KINDS)}); use another quantisation of the model"
        )
    block, size = GGML_QUANT_SIZES[kind]
    columns = info.shape[-1]
    length = _elements(info) // block * size
    if columns % block or info.offset + length > len(file.data):
        raise ModelError(f"{file.path}: tensor {info.name} is damaged or truncated; download the file again")
    raw = np.frombuffer(file.data, np.uint8, length, info.offset)
    raw = raw.reshape(*info.shape[:-1], columns // block * size)
    part = info.name.rsplit(".", 2)[-2]
    if arch.permuted_qk and part in heads:
        raw = _unpermute(raw if raw.ndim > 1 else raw.reshape(columns, -1), heads[part])
    values = dequantize(raw, kind).reshape(info.shape)
    if arch.norm_shift and part.endswith("norm"):
        values = values - np.float32(arch.norm_shift)
    # The file's own memory is read-only, and goes with the file.
    return torch.from_numpy(values if values.flags.writeable else values.copy())


def _unpermute(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undoes the interleaving of a head's two halves, which llama.cpp's RoPE wants, on rows of any type."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def _scale_frequencies(model: torch.nn.Module, factors: torch.Tensor, files: ModelFiles) -> None:
    modules = [module for module in model.modules() if "inv_freq" in module._buffers]
    for module in modules:
        for name in ("inv_freq", "original_inv_freq"):
            buffer = module._buffers.get(name)
            if buffer is None or buffer.shape != factors.shape:
                raise ModelError(f"{files.path}: {FREQUENCIES} does not fit the model's RoPE")
            buffer.div_(factors.to(buffer.device))
    if not modules:
        raise ModelError(f"{files.path}: {FREQUENCIES} does not fit the model's RoPE")
