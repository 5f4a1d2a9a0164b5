"""Describes a folder in the Hub's layout: config.json, tokenizer.json, safetensors."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overt.models.files import END_TOKENS, ModelError, ModelFiles, fingerprint, max_model_len, text_config

INDEX = "model.safetensors.index.json"
SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """What a tokenizer's files say."""

    tokenizer_json: bytes
    special_tokens: dict[str, str]
    ids: dict[str, int]
    """Id of each special token, and of each token that ends a text in some family."""
    chat_template: str | None
    chat_template_source: str
    add_bos: bool
    largest_id: int


def describe(folder: Path, *, source: str, name: str) -> ModelFiles:
    """Describes the model in `folder`. Raises ModelError naming the file that is missing or wrong."""
    config = read_json(folder / "config.json", wanted="a model folder needs it")
    tokenizer = read_tokenizer(folder)
    generation = _optional_json(folder / "generation_config.json")
    vocab_size = text_config(config).get("vocab_size")
    if not isinstance(vocab_size, int) or isinstance(vocab_size, bool) or vocab_size < 1:
        raise ModelError(f"{folder / 'config.json'}: vocab_size is {vocab_size!r}, not a positive integer")
    return ModelFiles(
        source=source,
        kind="hf",
        path=folder,
        name=name,
        config=config,
        tokenizer_json=tokenizer.tokenizer_json,
        chat_template=tokenizer.chat_template,
        chat_template_source=tokenizer.chat_template_source,
        special_tokens=tokenizer.special_tokens,
        eos_token_ids=_ends(config, generation, tokenizer),
        add_bos=tokenizer.add_bos,
        generation_config=generation,
        max_model_len=max_model_len(config, str(folder / "config.json")),
        vocab_size=vocab_size,
        fingerprint=fingerprint(weight_files(folder), config, tokenizer.tokenizer_json, tokenizer.chat_template),
    )


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


def read_tokenizer(place: Path) -> Tokenizer:
    """Reads tokenizer.json (in the folder `place`, or `place` itself) and the files beside it.

    Raises ModelError where it is missing or no JSON.
    """
    file = place / "tokenizer.json" if place.is_dir() else place
    folder = file.parent
    if not file.is_file():
        raise ModelError(
            f"{file} is missing: only the tokenizers library's format is read. Write it with transformers: "
            f"AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r}), or give "
            f"another model's with --tokenizer"
        )
    document = read_json(file, wanted="")
    model = document.get("model")
    if not isinstance(model, dict) or "vocab" not in model:
        raise ModelError(f"{file} is no tokenizer: it has no model.vocab")
    settings = _optional_json(folder / "tokenizer_config.json")
    older = _optional_json(folder / "special_tokens_map.json")
    special = {}
    for key in SPECIAL:
        text = _content(settings.get(key, older.get(key)))
        if text is not None:
            special[key] = text
    vocabulary = model["vocab"]
    try:
        # Unigram vocabularies are lists of (token, score); the id is the position.
        listed = not isinstance(vocabulary, dict)
        known = {entry[0]: at for at, entry in enumerate(vocabulary)} if listed else vocabulary
        added = {token["content"]: token["id"] for token in document.get("added_tokens") or []}
        largest_id = max([*known.values(), *added.values()], default=0)
    except (KeyError, IndexError, TypeError) as error:
        raise ModelError(f"{file} is no tokenizer: its vocabulary or added_tokens are malformed") from error
    wanted = [*special.values(), *END_TOKENS]
    ids = {text: int(held[text]) for text in wanted for held in (known, added) if text in held}
    template, template_source = _template(folder, settings)
    bos = special.get("bos_token")
    return Tokenizer(
        tokenizer_json=file.read_bytes(),
        special_tokens=special,
        ids=ids,
        chat_template=template,
        chat_template_source=template_source,
        add_bos=bos is not None and json.dumps(bos) in json.dumps(document.get("post_processor")),
        largest_id=largest_id,
    )


def read_json(file: Path, *, wanted: str) -> dict[str, Any]:
    """The JSON object in `file`. Raises ModelError where there is none; `wanted` says why it is needed."""
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise ModelError(f"{file} is missing{'; ' + wanted if wanted else ''}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(document, dict):
        raise ModelError(f"{file} must hold a JSON object, not a {type(document).__name__}")
    return document


def _optional_json(file: Path) -> dict[str, Any]:
    return read_json(file, wanted="") if file.is_file() else {}


def _content(token: Any) -> str | None:
    """A special token's text: written as such, or as an object with its content."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _template(folder: Path, settings: dict[str, Any]) -> tuple[str | None, str]:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8"), "chat_template.jinja"
    template = settings.get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    if isinstance(template, str):
        return template, "tokenizer_config.json"
    return None, "none"


def _ends(config: dict[str, Any], generation: dict[str, Any], tokenizer: Tokenizer) -> tuple[int, ...]:
    """Every token that ends a text: as generation_config.json, config.json and the tokenizer say, and the
    end-of-turn tokens that the chat template writes."""
    ends: list[int] = []
    for stated in (generation.get("eos_token_id"), text_config(config).get("eos_token_id")):
        ends += [item for item in (stated if isinstance(stated, list) else [stated]) if isinstance(item, int)]
    eos = tokenizer.special_tokens.get("eos_token")
    texts = [eos] if eos else []
    texts += [text for text in END_TOKENS if text in (tokenizer.chat_template or "")]
    ends += [tokenizer.ids[text] for text in texts if text in tokenizer.ids]
    return tuple(dict.fromkeys(ends))
