"""Loads a model's weights into transformers' modelling code."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from overt.models.files import ModelError, ModelFiles

if TYPE_CHECKING:
    import torch

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Progress = Callable[[int, int, str], None]


def load(
    files: ModelFiles,
    *,
    dtype: Dtype,
    device: str,
    progress: Progress | None = None,
    attn_implementation: str | None = None,
) -> "torch.nn.Module":
    """The model of `files` on `device`, its weights in `dtype`, in eval mode and without gradients.

    dtype "auto" is float32 on a CPU, elsewhere what the config states (bfloat16 where it states nothing).
    `progress` is called with (tensors done, tensors in all, the tensor at hand). `attn_implementation` is a
    name known to transformers' attention interface. Raises ModelError naming what is unknown, missing or of
    the wrong shape.
    """
    # torch and transformers take seconds to import, and only this needs them.
    from overt.models import build, gguf_weights, safetensors_weights

    if files.config.get("quantization_config"):
        method = files.config["quantization_config"].get("quant_method", "an unnamed method")
        raise ModelError(
            f"{files.path}: weights quantised by {method} are not supported; use the unquantised model or a GGUF file"
        )
    resolved = build.resolve_dtype(files, dtype, device)
    model = build.skeleton(files, dtype=resolved, attn_implementation=attn_implementation)
    report = progress or (lambda done, total, what: None)
    if files.kind == "gguf":
        gguf_weights.fill(model, files, device=device, progress=report)
    else:
        if not safetensors_weights.fill(model, files, device=device, progress=report):
            model = safetensors_weights.convert(
                files, dtype=resolved, progress=report, attn_implementation=attn_implementation
            )
    return build.finish(model, device)
