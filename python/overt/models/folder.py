"""Reads a model folder in the Hub's layout: config.json and safetensors."""

from pathlib import Path
from typing import Any

from overt.models.files import ModelError, optional_json, read_json, text_config

INDEX = "model.safetensors.index.json"


def configs(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of config.json and of generation_config.json, which may lack. Raises ModelError."""
    config = read_json(folder / "config.json", wanted="a model folder needs it")
    return config, optional_json(folder / "generation_config.json")


def vocab_size(config: dict[str, Any], where: str) -> int:
    """Logits a position. Raises ModelError where the config at `where` does not say it."""
    size = text_config(config).get("vocab_size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ModelError(f"{where}: vocab_size is {size!r}, not a positive integer")
    return size


def stated_ends(config: dict[str, Any], generation: dict[str, Any]) -> list[int]:
    """The tokens that end a text as generation_config.json and config.json say."""
    ends: list[int] = []
    for stated in (generation.get("eos_token_id"), text_config(config).get("eos_token_id")):
        ends += [item for item in (stated if isinstance(stated, list) else [stated]) if isinstance(item, int)]
    return ends


def weight_files(folder: Path) -> list[Path]:
    """The folder's safetensors: the shards its index names, or its only file. Raises ModelError."""
    index = folder / INDEX
    if index.is_file():
        shards = read_json(index, wanted="").get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise ModelError(f"{index} has no weight_map; download the model again")
        files = [folder / str(shard) for shard in sorted(set(shards.values()))]
    else:
        files = sorted(folder.glob("*.safetensors"))
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelError(f"{folder} lacks {', '.join(missing)}, named in {INDEX}; download the model again")
    if not files:
        others = sorted(file.name for kind in ("gguf", "bin", "pth") for file in folder.glob(f"*.{kind}"))
        hint = f"; it holds {', '.join(others[:4])}" if others else ""
        if any(other.endswith(".gguf") for other in others):
            hint += ", which can be served by naming the file itself"
        raise ModelError(f"{folder} holds no *.safetensors file{hint}")
    return files
