"""Builds a model without weights, and puts tensors into it."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from overt.models.configs import text_config
from overt.models.files import ModelError, ModelFiles

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def resolve_dtype(files: ModelFiles, dtype: str, device: str) -> torch.dtype:
    """The type that `dtype` means for these files on this device. Raises ModelError on an unknown name."""
    if dtype == "auto":
        if torch.device(device).type == "cpu":
            return torch.float32
        text = text_config(files.config)
        stated = text.get("dtype") or text.get("torch_dtype") or files.config.get("torch_dtype")
        asked = DTYPES.get(str(stated).removeprefix("torch."), torch.bfloat16)
        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.float16 if asked is torch.bfloat16 and not has_bfloat16 else asked
    if dtype not in DTYPES:
        raise ModelError(f"dtype {dtype!r} is not known; use auto, {', '.join(DTYPES)}")
    return DTYPES[dtype]


def skeleton(files: ModelFiles, *, dtype: torch.dtype, attn_implementation: str | None) -> torch.nn.Module:
    """The model of `files` with its parameters on the meta device and its buffers real, on the CPU."""
    kind = files.config.get("model_type")
    if kind not in CONFIG_MAPPING:
        raise ModelError(
            f"{files.path}: the installed transformers does not know model_type {kind!r}; upgrade it, or use "
            f"another model"
        )
    attention = {} if attn_implementation is None else {"attn_implementation": attn_implementation}
    try:
        config = CONFIG_MAPPING[kind].from_dict(dict(files.config))
        with _parameters_on_meta():
            model = AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False, **attention)
    except Exception as error:
        # A config's faults surface as whatever the model's own code trips over.
        raise ModelError(
            f"{files.path}: transformers cannot build a {kind} text model from its config: {error}"
        ) from error
    return cast(torch.nn.Module, model)


@contextmanager
def _parameters_on_meta() -> Iterator[None]:
    """Parameters made meanwhile take no memory, and initialising them no time.

    Buffers are left alone: those that no checkpoint holds, as RoPE's frequencies, are right as built.
    """
    register = torch.nn.Module.register_parameter

    def on_meta(module: torch.nn.Module, name: str, param: torch.nn.Parameter | None) -> None:
        if param is not None and not param.is_meta:
            param = torch.nn.Parameter(param.to("meta"), requires_grad=False)
        register(module, name, param)

    torch.nn.Module.register_parameter = on_meta  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register  # type: ignore[method-assign]


class Slots:
    """The places of a model's tensors by name."""

    def __init__(self, model: torch.nn.Module, where: str) -> None:
        self._model = model
        self._where = where
        self._wanted = model.state_dict(keep_vars=True)
        self._ignored = [
            re.compile(pattern)
            for pattern in (
                *(getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ()),
                r"rotary_emb\.inv_freq$",
            )
        ]
        # Names of one and the same tensor: a head tied to the embedding.
        self._tied: dict[int, list[str]] = {}
        for name, tensor in self._wanted.items():
            self._tied.setdefault(id(tensor), []).append(name)
        self._filled: dict[str, torch.Tensor] = {}

    def fits(self, names: Iterable[str]) -> bool:
        """Whether `names` are exactly a checkpoint of this model."""
        given = {name for name in names if name in self._wanted or not self._is_ignored(name)}
        return given <= self._wanted.keys() and not self._missing(given)

    def ignores(self, name: str) -> bool:
        """Whether the model does without the checkpoint's tensor `name`."""
        return name not in self._wanted and self._is_ignored(name)

    def put(self, name: str, tensor: torch.Tensor) -> None:
        """Makes `tensor` the model's `name`. Raises ModelError on an unknown name or a wrong shape."""
        place = self._wanted.get(name)
        if place is None:
            raise ModelError(f"{self._where}: the model has no place for tensor {name}")
        if place.shape != tensor.shape:
            raise ModelError(
                f"{self._where}: tensor {name} has shape {list(tensor.shape)}; the config makes it {list(place.shape)}"
            )
        tensor = tensor.to(place.dtype)
        for other in self._tied[id(place)]:
            twin = self._filled.get(other)
            if twin is not None and torch.equal(twin, tensor):
                tensor = twin
        self._set(name, tensor)

    def close(self) -> None:
        """Ties what is tied. Raises ModelError naming tensors that were never put."""
        missing = self._missing(self._filled.keys())
        if missing:
            raise ModelError(f"{self._where} lacks {name_some(missing)}; download or convert the model again")
        for names in self._tied.values():
            source = next(name for name in names if name in self._filled)
            for name in names:
                if name not in self._filled:
                    self._set(name, self._filled[source])

    def _is_ignored(self, name: str) -> bool:
        return any(pattern.search(name) for pattern in self._ignored)

    def _missing(self, given: Iterable[str]) -> list[str]:
        given = set(given)
        return [names[0] for names in self._tied.values() if given.isdisjoint(names)]

    def _set(self, name: str, tensor: torch.Tensor) -> None:
        path, _, leaf = name.rpartition(".")
        module = self._model.get_submodule(path)
        if leaf in module._buffers:
            module._buffers[leaf] = tensor
        elif isinstance(tensor, torch.nn.Parameter):
            module._parameters[leaf] = tensor
        else:
            tensor = torch.nn.Parameter(tensor, requires_grad=False)
            module._parameters[leaf] = tensor
        self._filled[name] = tensor


def finish(model: torch.nn.Module, device: str) -> torch.nn.Module:
    """Moves what is not there yet to `device`, and makes the model ready to serve."""
    return model.to(device).eval().requires_grad_(False)


def name_some(names: Iterable[str], limit: int = 8) -> str:
    """The first of `names`, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return f"tensor{'s' if len(listed) > 1 else ''} {', '.join(listed[:limit])}{more}"
