"""Reads a tokenizer in the Hub's layout: tokenizer.json and the files beside it."""

import json
from pathlib import Path
from typing import Any

from overt.models.checked import array, number, optional_json, read_json, table, text, whole, wrong
from overt.models.files import END_TOKENS, ModelError, Tokenizer

# Names that every tokenizer may state; others ending in _token are the model's own.
STANDARD = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
# Settings that list tokens, by name or without.
LISTS = ("extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens")


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
    ids = _ids(document, f"{file} is no tokenizer: ")
    special = special_tokens(folder, file, document)
    bos, eos = special.get("bos_token"), special.get("eos_token")
    return Tokenizer(
        tokenizer_json=file.read_bytes(),
        special_tokens=special,
        add_bos=bos is not None and json.dumps(bos) in json.dumps(document.get("post_processor")),
        ends=(ids[eos],) if eos in ids else (),
        end_ids={text: ids[text] for text in END_TOKENS if text in ids},
        largest_id=max(ids.values(), default=0),
        response_template=_response_template(folder / "tokenizer_config.json"),
    )


def _response_template(file: Path) -> dict[str, Any] | None:
    """The grammar of answers that the settings in `file` declare."""
    declared = optional_json(file).get("response_template")
    return None if declared is None else table(declared, f"{file}: response_template")


def special_tokens(folder: Path, file: Path, document: dict[str, Any]) -> dict[str, str]:
    """The special tokens by the names that transformers tells templates.

    `document` is the content of tokenizer.json, which is `file`, and empty where there is none. Raises ModelError
    naming the file and key that hold no token.
    """
    settings_file, older_file = folder / "tokenizer_config.json", folder / "special_tokens_map.json"
    settings = optional_json(settings_file)
    # The older file overrides, but only beside settings that do not list the added tokens themselves.
    older = {} if "added_tokens_decoder" in settings else optional_json(older_file)
    merged = settings | older
    where = {key: f"{older_file if key in older else settings_file}: {key}" for key in merged}
    padding = table(document.get("padding"), f"{file}: padding")
    if "pad_token" in padding and "pad_token" not in merged:
        merged["pad_token"], where["pad_token"] = padding["pad_token"], f"{file}: padding.pad_token"
    found = {key: _content(merged[key], where[key]) for key in STANDARD if merged.get(key) is not None}
    for key, value in merged.items():
        if key.endswith("_token") and key not in STANDARD and _is_token(value, plain=key in older):
            found[text(key, f"{settings_file}: {key!r}")] = _content(value, where[key])
    return found | _own(settings, settings_file) | _listed(older, LISTS[0], older_file)


def _own(settings: dict[str, Any], file: Path) -> dict[str, str]:
    """The model's own special tokens, each a setting or listed by name."""
    single = {
        text(key, f"{file}: {key!r}"): _content(token, f"{file}: {key}")
        for key, token in settings.items()
        if key.endswith("_token") and key not in STANDARD and isinstance(token, str)
    }
    extra, additional, specific = (_listed(settings, key, file) for key in LISTS)
    return single | (extra if settings.get(LISTS[0]) else additional) or specific


def _listed(settings: dict[str, Any], key: str, file: Path) -> dict[str, str]:
    """Tokens by name, where setting `key` is an object; a list of tokens has no names."""
    listed, where = settings.get(key), f"{file}: {key}"
    if isinstance(listed, list):
        for at, token in enumerate(listed):
            _content(token, f"{where}[{at}]")
        return {}
    return {
        text(name, where): _content(token, f"{file}: the special token {name}")
        for name, token in table(listed, where).items()
    }


def _ids(document: dict[str, Any], where: str) -> dict[str, int]:
    """Every token's id by its text. `where` is what errors begin with."""
    vocabulary = table(document.get("model"), f"{where}model").get("vocab")
    at = f"{where}model.vocab"
    if isinstance(vocabulary, dict):
        ids = {token: whole(index, f"{at}[{token!r}]", least=0) for token, index in vocabulary.items()}
    elif isinstance(vocabulary, list):
        # Unigram: the id is the position.
        ids = {_scored(entry, f"{at}[{index}]"): index for index, entry in enumerate(vocabulary)}
    else:
        raise wrong(vocabulary, at, "an object of tokens and ids, or a list of tokens and scores")
    for index, entry in enumerate(array(document.get("added_tokens"), f"{where}added_tokens")):
        at = f"{where}added_tokens[{index}]"
        token = table(entry, at)
        content = text(token.get("content"), f"{at}.content")
        ids[content] = whole(token.get("id"), f"{at}.id", least=0)
    text("".join(ids), f"{where}a token")
    return ids


def _scored(entry: Any, where: str) -> str:
    """The token of a pair of token and score."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise wrong(entry, where, "a pair of a token and its score")
    number(entry[1], f"{where}[1]")
    return text(entry[0], f"{where}[0]")


def _is_token(value: Any, *, plain: bool) -> bool:
    """Whether a value is a token: a text, or an object that says so (a `plain` one need not)."""
    return isinstance(value, str) or (isinstance(value, dict) and (plain or value.get("__type") == "AddedToken"))


def _content(token: Any, where: str) -> str:
    """A special token's text: written as such, or as an object with its content."""
    content = token.get("content") if isinstance(token, dict) else token
    if not isinstance(content, str):
        raise ModelError(f"{where} must be a token (a text, or an object with its content), not {type(token).__name__}")
    return text(content, where)
