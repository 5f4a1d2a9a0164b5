"""What a model is before its weights are loaded."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ModelError(Exception):
    """A model that cannot be served: the message says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's files and everything they say apart from the weights."""

    source: str
    """The model as the user named it."""
    kind: str
    """"hf" for a folder of safetensors, "gguf" for a GGUF file."""
    path: Path
    """The folder, or the .gguf file."""
    name: str
    """The name to serve it under unless told otherwise."""
    config: dict[str, Any]
    """The content of transformers' config.json; for GGUF it is made from the metadata."""
    tokenizer_json: bytes
    """The tokenizer in the `tokenizers` library's format."""
    chat_template: str | None
    chat_template_source: str
    """Where the chat template was found; "none" where there is none."""
    special_tokens: dict[str, str]
    """Those there are of bos_token, eos_token, unk_token and pad_token."""
    eos_token_ids: tuple[int, ...]
    """Tokens that end a text, the usual one first."""
    add_bos: bool
    """Whether the tokenizer's own post-processor puts bos_token before a text."""
    generation_config: dict[str, Any]
    """The content of generation_config.json, empty where there is none; for GGUF it is made from the metadata."""
    max_model_len: int
    """Tokens of the longest sequence the model was made for."""
    vocab_size: int
    """Logits a position."""
    fingerprint: str
    """16 hexadecimal digits that change with the weight files' names or sizes, the config, the tokenizer
    or the template."""


def fingerprint(weights: Iterable[Path], config: dict[str, Any], tokenizer_json: bytes, template: str | None) -> str:
    """The short hash of `ModelFiles.fingerprint`."""
    digest = hashlib.sha256()
    for file in sorted(weights):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
    digest.update(json.dumps(config, sort_keys=True).encode())
    digest.update(b"\0" + hashlib.sha256(tokenizer_json).digest())
    digest.update((template or "").encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The language model's part of a config (a model with vision keeps it under `text_config`)."""
    inner = config.get("text_config")
    return inner if isinstance(inner, dict) else config


def max_model_len(config: dict[str, Any], where: str) -> int:
    """Tokens of the longest sequence a config allows, its RoPE scaling applied. Raises ModelError."""
    text = text_config(config)
    length = text.get("max_position_embeddings", text.get("n_positions"))
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise ModelError(
            f"{where}: max_position_embeddings is {length!r}; it must be a positive integer, the longest "
            f"sequence the model was made for"
        )
    rope = text.get("rope_parameters") or text.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise ModelError(f"{where}: the RoPE parameters are a {type(rope).__name__}, not an object")
    kind = rope.get("rope_type", rope.get("type"))
    factor = rope.get("factor", 1.0)
    # Gemma 3 states the scaled length; so do llama3 and longrope, which are not listed here.
    if str(text.get("model_type", "")).startswith("gemma3") or not isinstance(factor, int | float):
        return length
    if kind == "yarn":
        return max(length, int(rope.get("original_max_position_embeddings", length) * factor))
    if kind in ("linear", "dynamic"):
        return int(length * factor)
    return length


# Texts of tokens that end a turn or a document, in the vocabularies of the families we know.
END_TOKENS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|eom_id|>",
    "<|end|>",
)
