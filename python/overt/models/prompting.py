"""What prompts are made with: the tokenizer, the chat templates and the special tokens. Needs no weights."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from overt.models import gguf_arch, gguf_tokenizer, templates, tokenizer_files
from overt.models.checked import optional_json
from overt.models.configs import check_config, max_model_len
from overt.models.files import ChatTemplate, ModelError, Tokenizer, choose_template
from overt.models.places import Place, locate, locate_tokenizer


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """Everything that makes prompts of requests; the fields that `ModelFiles` has too mean the same."""

    source: str
    name: str
    tokenizer_json: bytes | None
    """None where there is none: prompts have a text and no tokens."""
    chat_templates: tuple[ChatTemplate, ...]
    prompt_format: str | None
    special_tokens: dict[str, str]
    add_bos: bool
    max_model_len: int | None
    """None where the files do not say it."""

    @property
    def default_template(self) -> ChatTemplate | None:
        """The template of a chat without tools."""
        return choose_template(self.chat_templates, tools=False)

    def template_for(self, *, tools: bool) -> ChatTemplate | None:
        """The template of a chat, with tools or without."""
        return choose_template(self.chat_templates, tools=tools)


@dataclass(frozen=True, slots=True)
class Prompting:
    """What a place and the flags say of prompts."""

    tokenizer: Tokenizer | None
    chat_templates: tuple[ChatTemplate, ...]
    prompt_format: str | None


def prompt_files(model: str, *, tokenizer: str | None = None, chat_template: str | None = None) -> PromptFiles:
    """Finds `model` and reads what prompts are made with.

    `model` is all that `resolve` takes, and also a folder without weights or config.json that holds a tokenizer, a
    template or both, or a .jinja file alone. `tokenizer` and `chat_template` are as in `resolve`. Raises ModelError,
    also where there is neither tokenizer nor template.
    """
    place = locate(model, weights=False)
    read = read_prompting(place, tokenizer=tokenizer, chat_template=chat_template)
    if read.tokenizer is None and not read.chat_templates and read.prompt_format is None:
        raise ModelError(
            f"{place.path} holds neither tokenizer.json nor a chat template ({templates.FILE}, or chat_template in "
            f"tokenizer_config.json), and prompts are made with these: give another folder, --tokenizer or "
            f"--chat-template"
        )
    if read.tokenizer is not None:
        special_tokens = read.tokenizer.special_tokens
    else:
        folder = place.folder
        file = tokenizer_files.file_of(place.path)
        special_tokens = {} if folder is None else tokenizer_files.special_tokens(folder, file, {})
    return PromptFiles(
        source=model,
        name=place.name,
        tokenizer_json=None if read.tokenizer is None else read.tokenizer.tokenizer_json,
        chat_templates=read.chat_templates,
        prompt_format=read.prompt_format,
        special_tokens=special_tokens,
        add_bos=read.tokenizer is not None and read.tokenizer.add_bos,
        max_model_len=_max_model_len(place),
    )


def read_prompting(place: Place, *, tokenizer: str | None, chat_template: str | None) -> Prompting:
    """What `place` says of prompts, its tokenizer and templates replaced by the flags' where they are given.

    What is replaced is not read. Raises ModelError.
    """
    other = None if tokenizer is None else locate_tokenizer(tokenizer)
    # Another tokenizer's templates take the place of the model's, but not of a template that was named for itself.
    beside = [at for at in ((place, other) if place.kind == "template" else (other, place)) if at is not None]
    if chat_template is not None:
        chosen = templates.given(chat_template, lambda: _first_templates(beside), model=place.name)
    else:
        chosen = _first_templates(beside)
    folders = [at.folder for at in beside if at.folder is not None]
    formats = () if chosen else (templates.prompt_format_of(folder) for folder in folders)
    return Prompting(
        tokenizer=_tokenizer(place, required=False) if other is None else _tokenizer(other, required=True),
        chat_templates=chosen,
        prompt_format=next((named for named in formats if named is not None), None),
    )


def _first_templates(places: Sequence[Place]) -> templates.Templates:
    """The templates of the first place that has any."""
    for place in places:
        if found := _templates(place):
            return found
    return ()


def _templates(place: Place) -> templates.Templates:
    if place.gguf is not None:
        return templates.of_gguf(place.gguf)
    if place.folder is not None:
        return templates.of_folder(place.folder)
    return templates.of_file(place.path, str(place.path))


def _tokenizer(place: Place, *, required: bool) -> Tokenizer | None:
    if place.gguf is not None:
        return gguf_tokenizer.tokenizer_of(place.gguf)
    if place.folder is None or not (required or os.path.lexists(tokenizer_files.file_of(place.path))):
        return None
    return tokenizer_files.read(place.path)


def _max_model_len(place: Place) -> int | None:
    """What the config states; a model that could not be served may still have prompts, so that it may state none."""
    file = place.path / "config.json" if place.kind == "folder" else place.path
    config = optional_json(file) if place.kind == "folder" else {}
    try:
        if place.gguf is not None:
            config = gguf_arch.config_of(place.gguf)
        check_config(config, str(file))
        return max_model_len(config, str(file))
    except ModelError:
        return None
