"""Chat templates: where a checkpoint keeps them, which of them are in effect, and what the operator gives instead."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from overt.models import checked
from overt.models.files import ChatTemplate, ModelError
from overt.models.gguf_file import GgufFile

DEFAULT = "default"
FILE = "chat_template.jinja"
FOLDER = "additional_chat_templates"
KEY = "tokenizer.chat_template"
# A template given in place holds one of these, and hardly any path or name does.
MARKS = ("{{", "{%", "{#", "\n")
ENCODERS = {"encoding_dsv32": "DeepSeek V3.2"}
_INSTEAD = "; mend it, or give a template with --chat-template"

Templates = tuple[ChatTemplate, ...]


def of_folder(folder: Path) -> Templates:
    """The templates in effect of a checkpoint in the Hub's layout.

    The processor's (processor_config.json, else chat_template.json) come before the tokenizer's of the same name
    (chat_template.jinja and additional_chat_templates/*.jinja, else tokenizer_config.json). Raises ModelError naming
    the file and key that hold no template.
    """
    found: dict[str, ChatTemplate] = {}
    for template in (*_of_processor(folder), *_of_tokenizer(folder)):
        found.setdefault(template.name, template)
    return tuple(found.values())


def of_gguf(file: GgufFile) -> Templates:
    """The templates in a GGUF file's metadata. Raises ModelError where one is no text, or is named and missing."""
    keys = {key.removeprefix(f"{KEY}."): key for key in sorted(file.metadata) if key.startswith(f"{KEY}.")}
    if KEY in file.metadata:
        keys = {DEFAULT: KEY} | {name: key for name, key in keys.items() if name != DEFAULT}
    for name in file.values(f"{KEY}s", str) or ():
        if name not in keys:
            raise ModelError(f"{file.path}: metadata {KEY}s names {name!r}, and there is no {KEY}.{name}{_INSTEAD}")
    texts = {name: file.get(key, str) for name, key in keys.items()}
    return tuple(
        _template(name, text, f"{keys[name]} (GGUF metadata)", f"{file.path}: metadata {keys[name]}")
        for name, text in texts.items()
        if text
    )


def of_file(file: Path, source: str) -> Templates:
    """The template that is the whole of `file`, as the default. Raises ModelError where it is none."""
    return (_template(DEFAULT, _text(file, source, ""), source, source),)


def given(asked: str, of_checkpoint: Callable[[], Templates], *, model: str) -> Templates:
    """The template that --chat-template asks for, as the default and only one.

    `asked` is the template itself, a file, or the name of one that `of_checkpoint` tells of `model`: only for a name
    is the checkpoint asked, so that a file helps where its own templates are broken. Raises ModelError.
    """
    if any(mark in asked for mark in MARKS):
        return (_template(DEFAULT, asked, "--chat-template (inline)", "--chat-template"),)
    path = os.path.expanduser(asked)
    if os.path.exists(path) and not os.path.isdir(path):
        return of_file(Path(path), f"--chat-template {path}")
    known = of_checkpoint()
    for template in known:
        if template.name == asked:
            return (ChatTemplate(DEFAULT, template.text, f"--chat-template {asked} ({template.source})"),)
    what = "is a folder" if os.path.isdir(path) else "is no file"
    names = ", ".join(template.name for template in known)
    raise ModelError(
        f"--chat-template {asked!r} {what} and no name of a template of {model} "
        f"({f'its templates: {names}' if names else 'which has none'}): give a file, "
        f"{'one of these names, ' if names else ''}or the template itself, which would hold {{{{ or {{%"
    )


def prompt_format_of(folder: Path) -> str | None:
    """The family of a prompt format that is not Jinja, in words, by the files that carry it; None where none does."""
    for encoder in sorted(folder.glob("encoding/encoding_*.py")):
        return f"{ENCODERS.get(encoder.stem, 'the model')}'s own encoder (encoding/{encoder.name})"
    return "Mistral's tekken (tekken.json)" if (folder / "tekken.json").is_file() else None


def _of_processor(folder: Path) -> Templates:
    for name in ("processor_config.json", "chat_template.json"):
        if found := _stated(folder / name):
            return found
    return ()


def _of_tokenizer(folder: Path) -> Templates:
    files = {}
    if os.path.lexists(folder / FILE):
        files[DEFAULT] = FILE
    for file in sorted((folder / FOLDER).glob("*.jinja")):
        # Hidden files are the system's own, and one may have nothing before the dot to be called by.
        if file.name.startswith("."):
            continue
        files[file.name.removesuffix(".jinja")] = f"{FOLDER}/{file.name}"
    if files:
        # Files stand for all that tokenizer_config.json says, a name that only it has included.
        return tuple(
            _template(name, _text(folder / at, str(folder / at), _INSTEAD), at, str(folder / at))
            for name, at in files.items()
        )
    return _stated(folder / "tokenizer_config.json")


def _stated(file: Path) -> Templates:
    """The templates that chat_template in the JSON `file` states: a text, or several by name."""
    value, where = checked.optional_json(file).get("chat_template"), f"{file}: chat_template"
    if isinstance(value, str):
        entries = [(DEFAULT, value, where)]
    elif isinstance(value, dict):
        entries = [(name, text, f"{where}.{name}") for name, text in value.items()]
    elif isinstance(value, list):
        entries = [_entry(entry, f"{where}[{number}]") for number, entry in enumerate(value)]
    elif value is None:
        entries = []
    else:
        raise ModelError(
            f"{where} must be a text, or several with names (a list of objects with name and template), not "
            f"{type(value).__name__}{_INSTEAD}"
        )
    found: dict[str, ChatTemplate] = {}
    for name, text, at in entries:
        if not isinstance(text, str):
            raise ModelError(f"{at} must be a template's text, not {type(text).__name__}{_INSTEAD}")
        if name in found:
            raise ModelError(f"{at}: there are two templates called {name!r}{_INSTEAD}")
        found[name] = _template(name, text, file.name if isinstance(value, str) else f"{file.name} ({name})", at)
    # An empty text is how some base models say that they have none.
    return tuple(template for template in found.values() if template.text.strip())


def _entry(entry: Any, where: str) -> tuple[str, Any, str]:
    """Name, text and place of a template in a list."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ModelError(f"{where} must be an object with name and template{_INSTEAD}")
    return entry["name"], entry.get("template"), f"{where}.template"


def _text(file: Path, where: str, instead: str) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{where} is not UTF-8 (byte {error.start}); a template must be{instead}") from error
    except IsADirectoryError as error:
        raise ModelError(f"{where} is a folder where a file with a template is needed{instead}") from error
    except OSError as error:
        raise ModelError(f"{where} cannot be read: {error.strerror or error}{instead}") from error
    if not text.strip():
        raise ModelError(f"{where} is empty; a template must write something{instead}")
    return text


def _template(name: str, text: str, source: str, where: str) -> ChatTemplate:
    if not name:
        raise ModelError(f"{where} is a template without a name; it must have one{_INSTEAD}")
    return ChatTemplate(checked.text(name, where), checked.text(text, where), source)
