"""Reads safetensors into a model."""

from collections.abc import Callable
from typing import cast

import torch
from safetensors import SafetensorError, safe_open
from transformers import AutoModelForCausalLM

from overt.models.build import Slots, name_some
from overt.models.files import ModelError, ModelFiles
from overt.models.folder import weight_files

FAULTS = {
    "missing_keys": "lacks",
    "unexpected_keys": "has tensors the model does not know:",
    "mismatched_keys": "holds in another shape",
}
"""transformers' lists of what went wrong, in our words."""


def fill(model: torch.nn.Module, files: ModelFiles, *, device: str, progress: Callable[[int, int, str], None]) -> bool:
    """Puts the folder's tensors into `model`, each straight onto `device`.

    Returns False, with nothing done, where the checkpoint's names are not the model's: transformers knows how
    to convert some, such as experts stored one by one. Raises ModelError on a damaged file or a wrong shape.
    """
    slots = Slots(model, str(files.path))
    shards = weight_files(files.path)
    try:
        opened = [safe_open(shard, framework="pt", device=device) for shard in shards]
        names = [list(shard.keys()) for shard in opened]  # type: ignore[no-untyped-call]
        if not slots.fits(name for shard in names for name in shard):
            return False
        total = sum(map(len, names))
        done = 0
        for shard, held in zip(opened, names, strict=True):
            for name in held:
                progress(done, total, name)
                if not slots.ignores(name):
                    slots.put(name, shard.get_tensor(name))  # type: ignore[no-untyped-call]
                done += 1
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{files.path}: damaged safetensors ({error}); download them again") from error
    slots.close()
    progress(total, total, "")
    return True


def convert(
    files: ModelFiles,
    *,
    dtype: torch.dtype,
    progress: Callable[[int, int, str], None],
    attn_implementation: str | None,
) -> torch.nn.Module:
    """Loads a checkpoint whose names are not the model's, by transformers' own conversions, onto the CPU.

    Raises ModelError naming what stays missing or has no place.
    """
    attention = {} if attn_implementation is None else {"attn_implementation": attn_implementation}
    progress(0, 1, "converting")
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            files.path,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **attention,
        )
    except Exception as error:
        # transformers lets through whatever its conversions and the files trip over.
        raise ModelError(f"{files.path} cannot be loaded: {error}") from error
    faults = [f"{what} {name_some(str(name) for name in info[key])}" for key, what in FAULTS.items() if info.get(key)]
    if faults:
        raise ModelError(f"{files.path} is not the model that its config describes: it {'; it '.join(faults)}")
    progress(1, 1, "")
    return cast(torch.nn.Module, model)
