"""What config.json and generation_config.json say, checked before anything is made of it."""

from typing import Any

from overt.models.checked import MOST, array, number, table, text, whole, wrong
from overt.models.files import ModelError

_OBJECTS = ("text_config", "quantization_config", "rope_parameters", "rope_scaling")
_TEXTS = ("model_type", "dtype", "torch_dtype")
_ROPE_TEXTS = ("rope_type", "type")
_ROPE_POSITIVE = ("factor", "rope_theta")
_NUMBERS = ("temperature", "top_p", "min_p", "typical_p", "repetition_penalty")
_MOST_LAYERS = 10_000
"""Layers are built one by one, so that a damaged number would take for ever."""
_WHOLE = {"top_k": -1, "max_new_tokens": 0}


def check_config(config: dict[str, Any], where: str) -> None:
    """Raises ModelError naming a key of config.json (at `where`) that this program reads and is of a wrong kind."""
    for part, at in ((config, where), (table(config.get("text_config"), f"{where}: text_config"), _text_at(where))):
        for key in _OBJECTS:
            table(part.get(key), _key(at, key))
        for key in _TEXTS:
            if part.get(key) is not None:
                text(part[key], _key(at, key))
        layers = part.get("num_hidden_layers")
        if layers is not None and whole(layers, _key(at, "num_hidden_layers")) > _MOST_LAYERS:
            raise wrong(layers, _key(at, "num_hidden_layers"), f"at most {_MOST_LAYERS}")
        if part.get("rope_theta") is not None:
            number(part["rope_theta"], _key(at, "rope_theta"), above=0)
        for key in ("rope_parameters", "rope_scaling"):
            _check_rope(part.get(key) or {}, _key(at, key))
        _token_ids(part.get("eos_token_id"), _key(at, "eos_token_id"))


def check_generation(generation: dict[str, Any], where: str) -> None:
    """Raises ModelError naming a key of generation_config.json (at `where`) that is of a wrong kind."""
    for key in _NUMBERS:
        if generation.get(key) is not None:
            number(generation[key], f"{where}: {key}")
    for key, least in _WHOLE.items():
        if generation.get(key) is not None:
            whole(generation[key], f"{where}: {key}", least=least)
    _token_ids(generation.get("eos_token_id"), f"{where}: eos_token_id")


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The language model's part of a config (a model with vision keeps it under `text_config`)."""
    return config.get("text_config") or config


def vocab_size(config: dict[str, Any], where: str) -> int:
    """Logits a position. Raises ModelError where the config at `where` does not say it."""
    return whole(text_config(config).get("vocab_size"), _key(_part_at(config, where), "vocab_size"))


def stated_ends(config: dict[str, Any], generation: dict[str, Any]) -> list[int]:
    """The tokens that end a text as generation_config.json and config.json say."""
    stated = (generation.get("eos_token_id"), text_config(config).get("eos_token_id"))
    return [index for value in stated for index in _token_ids(value, "eos_token_id")]


def max_model_len(config: dict[str, Any], where: str) -> int:
    """Tokens of the longest sequence that a checked config allows, its RoPE scaling applied. Raises ModelError."""
    part, at = text_config(config), _part_at(config, where)
    key = "max_position_embeddings"
    if key not in part and "n_positions" in part:
        key = "n_positions"
    length = whole(part.get(key), _key(at, key))
    # Gemma 3 states the scaled length; so do llama3 and longrope, which are not listed here.
    if (part.get("model_type") or "").startswith("gemma3"):
        return length
    name = "rope_parameters" if part.get("rope_parameters") else "rope_scaling"
    rope = part.get(name) or {}
    kind = rope.get("rope_type", rope.get("type"))
    factor = rope.get("factor") or 1.0
    scaled: float = length
    if kind == "yarn":
        scaled = max(length, (rope.get("original_max_position_embeddings") or length) * factor)
    elif kind in ("linear", "dynamic"):
        scaled = length * factor
    if not 1 <= scaled <= MOST:
        raise ModelError(
            f"{_key(at, name)}.factor is {factor!r}: it makes the longest sequence {scaled:g} tokens, which must be "
            f"from 1 to {MOST}"
        )
    return int(scaled)


def _check_rope(rope: dict[str, Any], where: str) -> None:
    for key, value in rope.items():
        at = f"{where}.{key}"
        if isinstance(value, dict):
            # Kinds of layers may each have their own.
            _check_rope(value, at)
        elif value is None:
            continue
        elif key in _ROPE_TEXTS:
            text(value, at)
        elif key in _ROPE_POSITIVE:
            number(value, at, above=0)
        elif key == "original_max_position_embeddings":
            whole(value, at)
        elif isinstance(value, float):
            number(value, at)


def _token_ids(value: Any, where: str) -> list[int]:
    """A token's id, or several in a list; null and -1 are none."""
    ids = array(value, where) if isinstance(value, list) else [] if value is None else [value]
    return [index for index in (whole(item, where, least=-1) for item in ids) if index >= 0]


def _key(where: str, key: str) -> str:
    """The place of `key`, where `where` is a file or an object in one."""
    return f"{where}.{key}" if where.endswith(": text_config") else f"{where}: {key}"


def _text_at(where: str) -> str:
    return f"{where}: text_config"


def _part_at(config: dict[str, Any], where: str) -> str:
    """Where the language model's part stands."""
    return _text_at(where) if config.get("text_config") else where
