"""The GGUF architectures we map: configuration keys and tensor names, as data."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from overt.models.files import ModelError
from overt.models.gguf_file import GgufFile

_LAYER = re.compile(r"blk\.(\d+)\.(.+)\.(weight|bias)")
_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_DENSE = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
}
_PRE_NORM = _DENSE | {"ffn_norm": "post_attention_layernorm"}
_QK_NORM = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}

# Recommended sampling: transformers' names to GGUF's.
_SAMPLING: dict[str, tuple[str, type]] = {
    "temperature": ("temp", float),
    "top_p": ("top_p", float),
    "top_k": ("top_k", int),
    "min_p": ("min_p", float),
    "repetition_penalty": ("penalty_repeat", float),
}


@dataclass(frozen=True, slots=True)
class Arch:
    """How one architecture's GGUF files become a transformers model."""

    model_type: str
    model_class: str
    layer: dict[str, str]
    """Names within a layer: GGUF's to transformers'."""
    rope_theta: float = 10_000.0
    """Where the file states none."""
    permuted_qk: bool = False
    """Rows of the q and k projections are interleaved for llama.cpp's RoPE."""
    norm_shift: float = 0.0
    """What the converter added to the weights of norms."""
    more: Callable[[GgufFile, str, dict[str, Any]], dict[str, Any]] = field(default=lambda *_: {})
    """Further configuration from (file, key prefix, configuration so far)."""


def _llama(file: GgufFile, prefix: str, config: dict[str, Any]) -> dict[str, Any]:
    rotary = _need(file, f"{prefix}rope.dimension_count", int, config["head_dim"])
    if rotary != config["head_dim"]:
        raise ModelError(
            f"{file.path}: RoPE over {rotary} of {config['head_dim']} dimensions of a head is not known for "
            f"llama; use the model's safetensors"
        )
    return {
        "attention_bias": "blk.0.attn_output.bias" in file.tensors,
        "mlp_bias": "blk.0.ffn_down.bias" in file.tensors,
    }


def _gemma3(file: GgufFile, prefix: str, config: dict[str, Any]) -> dict[str, Any]:
    theta = config["rope_parameters"].pop("rope_theta")
    local = _need(file, f"{prefix}rope.freq_base_swa", float, 10_000.0)
    heads = config["num_attention_heads"]
    # Only the 27B model (62 layers) scales its queries by the hidden size a head instead of the head's own.
    largest = config["num_hidden_layers"] == 62
    return {
        "query_pre_attn_scalar": config["hidden_size"] // heads if largest else config["head_dim"],
        "sliding_window": _need(file, f"{prefix}attention.sliding_window", int),
        "sliding_window_pattern": _need(file, f"{prefix}attention.sliding_window_pattern", int, 6),
        "final_logit_softcapping": file.get(f"{prefix}final_logit_softcapping", float) or None,
        "rope_parameters": {
            "full_attention": {**config["rope_parameters"], "rope_theta": theta},
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
        },
    }


ARCHS = {
    "llama": Arch("llama", "LlamaForCausalLM", _PRE_NORM, permuted_qk=True, more=_llama),
    "qwen2": Arch("qwen2", "Qwen2ForCausalLM", _PRE_NORM),
    "qwen3": Arch("qwen3", "Qwen3ForCausalLM", _PRE_NORM | _QK_NORM),
    "gemma3": Arch(
        "gemma3_text",
        "Gemma3ForCausalLM",
        _DENSE
        | _QK_NORM
        | {
            "post_attention_norm": "post_attention_layernorm",
            "ffn_norm": "pre_feedforward_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm",
        },
        rope_theta=1_000_000.0,
        norm_shift=1.0,
        more=_gemma3,
    ),
}


def arch_of(file: GgufFile) -> Arch:
    """The file's architecture. Raises ModelError naming one we do not map, and those we do."""
    name = file.get("general.architecture", str, "")
    if name not in ARCHS:
        raise ModelError(
            f"{file.path}: architecture {name!r} is not known for GGUF files (known: "
            f"{', '.join(sorted(ARCHS))}); use the model's safetensors folder or Hub id"
        )
    return ARCHS[name]


def config_of(file: GgufFile) -> dict[str, Any]:
    """The content of a transformers config.json for this file. Raises ModelError where metadata lacks."""
    arch = arch_of(file)
    prefix = file.metadata["general.architecture"] + "."
    if file.get(f"{prefix}expert_count", int, 0):
        raise ModelError(f"{file.path}: experts are not known for GGUF files; use the model's safetensors")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelError(f"{file.path}: tensor token_embd.weight is missing; the file is no complete model")
    layers = _need(file, f"{prefix}block_count", int)
    if layers > len(file.tensors):
        raise ModelError(
            f"{file.path}: metadata {prefix}block_count is {layers}, and the file has {len(file.tensors)} tensors; "
            f"it is no complete model"
        )
    heads = _need(file, f"{prefix}attention.head_count", int)
    hidden = _need(file, f"{prefix}embedding_length", int)
    config: dict[str, Any] = {
        "model_type": arch.model_type,
        "architectures": [arch.model_class],
        "hidden_size": hidden,
        "intermediate_size": _need(file, f"{prefix}feed_forward_length", int),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": _need(file, f"{prefix}attention.head_count_kv", int, heads),
        "head_dim": _need(file, f"{prefix}attention.key_length", int, hidden // heads),
        "rms_norm_eps": _need(file, f"{prefix}attention.layer_norm_rms_epsilon", float),
        "max_position_embeddings": _need(file, f"{prefix}context_length", int),
        "rope_parameters": _rope(file, prefix, arch),
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }
    if heads % config["num_key_value_heads"]:
        raise ModelError(
            f"{file.path}: metadata {prefix}attention.head_count_kv is {config['num_key_value_heads']}; it must "
            f"divide the {heads} of attention.head_count"
        )
    for ours, theirs in (("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        config[f"{ours}_token_id"] = file.get(f"tokenizer.ggml.{theirs}_token_id", int)
    return config | arch.more(file, prefix, config)


def generation_config_of(file: GgufFile, eos_token_ids: tuple[int, ...]) -> dict[str, Any]:
    """The content of a generation_config.json: what the file recommends for sampling, and the tokens that end a text.

    Raises ModelError where a value is no number.
    """
    found = {ours: file.get(f"general.sampling.{theirs}", kind) for ours, (theirs, kind) in _SAMPLING.items()}
    found["eos_token_id"] = list(eos_token_ids) or None
    return {name: value for name, value in found.items() if value is not None}


def tensor_name(arch: Arch, name: str) -> str | None:
    """transformers' name of GGUF's tensor `name`, or None where the architecture has none."""
    if name in _TOP:
        return _TOP[name]
    match = _LAYER.fullmatch(name)
    if match is None or match[2] not in arch.layer:
        return None
    return f"model.layers.{match[1]}.{arch.layer[match[2]]}.{match[3]}"


def _rope(file: GgufFile, prefix: str, arch: Arch) -> dict[str, Any]:
    rope: dict[str, Any] = {
        "rope_type": "default",
        "rope_theta": _need(file, f"{prefix}rope.freq_base", float, arch.rope_theta),
    }
    kind = file.get(f"{prefix}rope.scaling.type", str, "none")
    if kind == "none":
        return rope
    if kind not in ("linear", "yarn"):
        raise ModelError(f"{file.path}: RoPE scaling {kind!r} is not known (known: none, linear, yarn)")
    rope |= {"rope_type": kind, "factor": _need(file, f"{prefix}rope.scaling.factor", float)}
    if kind == "yarn":
        original = _need(file, f"{prefix}rope.scaling.original_context_length", int)
        rope["original_max_position_embeddings"] = original
    return rope


def _need(file: GgufFile, key: str, kind: type, default: Any = None) -> Any:
    """Metadata `key`, which must be positive, or `default`. Raises ModelError, also where there is neither."""
    value = file.get(key, kind, default)
    if value is None:
        raise ModelError(f"{file.path}: metadata {key} is missing; convert the model again")
    if not value > 0:
        raise ModelError(f"{file.path}: metadata {key} is {value}; it must be positive")
    return value
