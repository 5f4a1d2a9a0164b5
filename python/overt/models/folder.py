"""Reads a model folder in the Hub's layout: config.json and safetensors."""

from pathlib import Path
from typing import Any

from overt.models.checked import optional_json, read_json, table, text
from overt.models.configs import check_config, check_generation
from overt.models.files import ModelError

INDEX = "model.safetensors.index.json"


def configs(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of config.json and of generation_config.json, which may lack, checked. Raises ModelError."""
    file, generation_file = folder / "config.json", folder / "generation_config.json"
    config, generation = read_json(file, wanted="a model folder needs it"), optional_json(generation_file)
    check_config(config, str(file))
    check_generation(generation, str(generation_file))
    return config, generation


def weight_files(folder: Path) -> list[Path]:
    """The folder's safetensors: the shards its index names, or its only file. Raises ModelError."""
    index = folder / INDEX
    if index.is_file():
        shards = table(read_json(index, wanted="").get("weight_map"), f"{index}: weight_map")
        if not shards:
            raise ModelError(f"{index} has no weight_map; download the model again")
        named = {text(shard, f"{index}: weight_map.{tensor}", "a file's name") for tensor, shard in shards.items()}
        files = [folder / shard for shard in sorted(named)]
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
