"""From what the user calls a model or tokenizer to where it lies."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from overt.models import gguf_file
from overt.models.files import ModelError
from overt.models.gguf_file import GgufFile
from overt.models.hub import looks_like_id, snapshot
from overt.models.packages import PACKAGES, gguf_of


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model or a tokenizer lies."""

    kind: Literal["folder", "gguf", "tokenizer", "template"]
    """A folder in the Hub's layout, a GGUF file, a tokenizer.json with its folder, or a template alone."""
    source: str
    """As the user named it."""
    path: Path
    name: str
    """What to call it in answers."""
    gguf: GgufFile | None = None
    """The header of a GGUF file."""

    @property
    def folder(self) -> Path | None:
        """The folder with a tokenizer's files."""
        return {"folder": self.path, "tokenizer": self.path.parent}.get(self.kind)


def locate(model: str, *, weights: bool = True) -> Place:
    """Finds `model`: a short name of `PACKAGES`, a folder, a .gguf or .jinja file, or a Hub id.

    Without `weights` a Hub id's JSON files and templates are all that is downloaded. Raises ModelError.
    """
    if model in PACKAGES:
        return _gguf(gguf_of(model), source=model, name=PACKAGES[model].name)
    path = Path(os.path.expanduser(model))
    if model and os.path.isdir(path):
        # The folder itself may be written as "." or through a link.
        return Place("folder", model, path, path.resolve().name)
    if os.path.isfile(path):
        if path.suffix == ".jinja":
            return Place("template", model, path, path.stem)
        return _gguf(path, source=model, name=None)
    if path.suffix in (".gguf", ".jinja") or not looks_like_id(model):
        raise ModelError(
            f"there is no file or folder {model!r}; give a folder with safetensors, a .gguf file, a Hub id "
            f"such as HuggingFaceTB/SmolLM2-135M-Instruct, or a short name ({', '.join(PACKAGES)})"
        )
    return Place("folder", model, snapshot(model, weights=weights), model)


def locate_tokenizer(tokenizer: str) -> Place:
    """Finds what --tokenizer names: a folder, a tokenizer.json or .gguf file, or a Hub id. Raises ModelError."""
    path = Path(os.path.expanduser(tokenizer))
    if path.suffix == ".gguf" and os.path.isfile(path):
        return _gguf(path, source=tokenizer, name=None)
    if tokenizer and os.path.isdir(path):
        return Place("folder", tokenizer, path, path.resolve().name)
    if os.path.isfile(path):
        return Place("tokenizer", tokenizer, path, path.stem)
    if not looks_like_id(tokenizer):
        raise ModelError(
            f"--tokenizer {tokenizer}: there is no such file or folder; give a folder with "
            f"tokenizer.json, the file itself, a .gguf file or a Hub id"
        )
    return Place("folder", tokenizer, snapshot(tokenizer, weights=False), tokenizer)


def _gguf(path: Path, *, source: str, name: str | None) -> Place:
    file = gguf_file.read(path)
    return Place("gguf", source, path, name or file.get("general.name", str) or path.stem, file)
