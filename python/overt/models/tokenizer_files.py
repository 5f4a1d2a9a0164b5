"""Reads a tokenizer in the Hub's layout: tokenizer.json and the files beside it."""

import json
from pathlib import Path
from typing import Any

from overt.models.files import END_TOKENS, ModelError, Tokenizer, optional_json, read_json

# Names that every tokenizer may state; others ending in _token are the model's own.
STANDARD = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def file_of(place: Path) -> Path:
    """tokenizer.json in the folder `place`, or `place` itself."""
    return place / "tokenizer.json" if place.is_dir() else place


def read(place: Path) -> Tokenizer:
    """Reads tokenizer.json (in the folder `place`, or `place` itself) and the files beside it.

    Raises ModelError where it is missing or malformed.
    """
    file = file_of(place)
    folder = file.parent
    if not file.is_file():
        convert = f"AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
        there, other = "", "another model's with --tokenizer"
        if (folder / "tekken.json").is_file():
            there = ", not Mistral's tekken.json, which is there"
            other = "a converted one with --tokenizer and a template with --chat-template"
        raise ModelError(
            f"{file} is missing: only the tokenizers library's format is read{there}. Write it with transformers: "
            f"{convert}, or give {other}"
        )
    document = read_json(file, wanted="")
    model = document.get("model")
    if not isinstance(model, dict) or "vocab" not in model:
        raise ModelError(f"{file} is no tokenizer: it has no model.vocab")
    ids = _ids(file, model["vocab"], document.get("added_tokens"))
    special = special_tokens(folder, document)
    bos, eos = special.get("bos_token"), special.get("eos_token")
    return Tokenizer(
        tokenizer_json=file.read_bytes(),
        special_tokens=special,
        add_bos=bos is not None and json.dumps(bos) in json.dumps(document.get("post_processor")),
        ends=(ids[eos],) if eos in ids else (),
        end_ids={text: ids[text] for text in END_TOKENS if text in ids},
        largest_id=max(ids.values(), default=0),
    )


def special_tokens(folder: Path, document: dict[str, Any] | None = None) -> dict[str, str]:
    """The special tokens by the names that transformers tells templates.

    `document` is the content of tokenizer.json, where there is one. Raises ModelError naming the file and key that
    hold no token.
    """
    settings_file, older_file = folder / "tokenizer_config.json", folder / "special_tokens_map.json"
    settings = optional_json(settings_file)
    # The older file overrides, but only beside settings that do not list the added tokens themselves.
    older = {} if "added_tokens_decoder" in settings else optional_json(older_file)
    merged = settings | older
    padding = (document or {}).get("padding")
    if isinstance(padding, dict) and isinstance(padding.get("pad_token"), str):
        merged.setdefault("pad_token", padding["pad_token"])
    where = {key: f"{older_file if key in older else settings_file}: {key}" for key in merged}
    found = {key: _content(merged[key], where[key]) for key in STANDARD if merged.get(key) is not None}
    for key, value in merged.items():
        if key.endswith("_token") and key not in STANDARD and _is_token(value, plain=key in older):
            found[key] = _content(value, where[key])
    return found | _own(settings, settings_file) | _listed(older.get("extra_special_tokens"), older_file)


def _own(settings: dict[str, Any], file: Path) -> dict[str, str]:
    """The model's own special tokens, each a setting or listed by name."""
    single = {
        key: text
        for key, text in settings.items()
        if key.endswith("_token") and key not in STANDARD and isinstance(text, str)
    }
    listed = settings.get("extra_special_tokens") or settings.get("additional_special_tokens")
    return single | _listed(listed, file) or _listed(settings.get("model_specific_special_tokens"), file)


def _listed(tokens: Any, file: Path) -> dict[str, str]:
    """Tokens by name, where `tokens` is an object; a list of tokens has no names."""
    named = tokens.items() if isinstance(tokens, dict) else ()
    return {name: _content(value, f"{file}: the special token {name}") for name, value in named}


def _ids(file: Path, vocabulary: Any, added: Any) -> dict[str, int]:
    try:
        # Unigram vocabularies are lists of (token, score); the id is the position.
        listed = not isinstance(vocabulary, dict)
        ids = {entry[0]: at for at, entry in enumerate(vocabulary)} if listed else dict(vocabulary)
        ids |= {token["content"]: token["id"] for token in added or []}
    except (KeyError, IndexError, TypeError) as error:
        raise ModelError(f"{file} is no tokenizer: its vocabulary or added_tokens are malformed") from error
    if not all(isinstance(token, str) and type(index) is int for token, index in ids.items()):
        raise ModelError(f"{file} is no tokenizer: its vocabulary or added_tokens hold ids that are no numbers")
    return ids


def _is_token(value: Any, *, plain: bool) -> bool:
    """Whether a value is a token: a text, or an object that says so (a `plain` one need not)."""
    return isinstance(value, str) or (isinstance(value, dict) and (plain or value.get("__type") == "AddedToken"))


def _content(token: Any, where: str) -> str:
    """A special token's text: written as such, or as an object with its content."""
    text = token.get("content") if isinstance(token, dict) else token
    if not isinstance(text, str):
        raise ModelError(f"{where} must be a token (a text, or an object with its content), not {type(token).__name__}")
    return text
