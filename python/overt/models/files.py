"""What a model is before its weights are loaded."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ModelError(Exception):
    """A model that cannot be served: the message says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A chat template and where it stands."""

    name: str
    """What the checkpoint calls it: "default", "tool_use", "rag", …"""
    text: str
    source: str
    """The file or flag that states it, with the name where it states several."""


def choose_template(templates: Sequence[ChatTemplate], *, tools: bool) -> ChatTemplate | None:
    """The template of a chat: "tool_use" where there are `tools` and there is one, else "default"; None without."""
    by_name = {template.name: template for template in templates}
    return (by_name.get("tool_use") if tools else None) or by_name.get("default")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """What a tokenizer's files say."""

    tokenizer_json: bytes
    """In the `tokenizers` library's format."""
    special_tokens: dict[str, str]
    """By the names that templates know them by: bos_token, eos_token, …"""
    add_bos: bool
    """Whether its own post-processor puts bos_token before a text."""
    ends: tuple[int, ...]
    """Tokens that end a text, as the tokenizer itself says."""
    end_ids: dict[str, int]
    """Those of `END_TOKENS` that it knows."""
    largest_id: int
    response_template: dict[str, Any] | None = None
    """The grammar of answers that it declares."""


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
    chat_templates: tuple[ChatTemplate, ...]
    """Those in effect, each name once: the processor's, then the tokenizer's."""
    prompt_format: str | None
    """The family of the prompt format, in words, where there are no templates because it is not Jinja."""
    special_tokens: dict[str, str]
    """By the names that templates know them by: bos_token, eos_token, …"""
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
    or any of the templates."""
    response_template: dict[str, Any] | None = None
    """The grammar of answers that the tokenizer declares."""

    @property
    def default_template(self) -> ChatTemplate | None:
        """The template of a chat without tools."""
        return choose_template(self.chat_templates, tools=False)

    def template_for(self, *, tools: bool) -> ChatTemplate | None:
        """The template of a chat, with tools or without."""
        return choose_template(self.chat_templates, tools=tools)


def fingerprint(
    weights: Iterable[Path], config: dict[str, Any], tokenizer_json: bytes, templates: Iterable[ChatTemplate]
) -> str:
    """The short hash of `ModelFiles.fingerprint`."""
    digest = hashlib.sha256()
    for file in sorted(weights):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
    digest.update(json.dumps(config, sort_keys=True).encode())
    digest.update(b"\0" + hashlib.sha256(tokenizer_json).digest())
    for text in sorted(json.dumps([template.name, template.text]) for template in templates):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


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
