"""Writes a folder made by `models.tiny` as a GGUF file, as llama.cpp's converter lays it out."""

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import load_file

LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
GEMMA_LAYER = LAYER | {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write(
    folder: Path,
    file: Path,
    *,
    arch: str,
    kinds: Sequence[GGMLQuantizationType] = (GGMLQuantizationType.F32,),
    tokenizer: dict[str, Any] | None = None,
    extra: dict[str, np.ndarray] | None = None,
    without: str = "",
    sampling: dict[str, float] | None = None,
) -> Path:
    """Writes `folder` as a GGUF file of `arch`, matrices quantised to `kinds` in turn.

    Types that the gguf package cannot make get random blocks.

    `tokenizer` replaces metadata of the tokenizer, `extra` adds tensors, `without` leaves one out;
    `sampling` is what the file recommends.
    """
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(file, arch)
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer.add_name(f"Tiny {arch}")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(config.get("head_dim", config["hidden_size"] // heads))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if arch == "gemma3":
        writer.add_sliding_window(config["sliding_window"])
    for key, value in (sampling or {}).items():
        (writer.add_int32 if isinstance(value, int) else writer.add_float32)(f"general.sampling.{key}", value)
    _add_tokenizer(writer, folder, tokenizer or {})
    kind = cycle(kinds)
    for name, tensor in load_file(folder / "model.safetensors").items():
        stem, _, suffix = name.rpartition(".")
        short = _name(stem, GEMMA_LAYER if arch == "gemma3" else LAYER) + "." + suffix
        if short == without:
            continue
        if arch == "llama" and ".attn_q." in short:
            tensor = _permute(tensor, heads)
        if arch == "llama" and ".attn_k." in short:
            tensor = _permute(tensor, kv_heads)
        if arch == "gemma3" and stem.endswith("norm"):
            tensor = tensor + np.float32(1)
        if tensor.ndim == 2:
            to = next(kind)
            writer.add_tensor(short, quantise(tensor, to), raw_dtype=to)
        else:
            writer.add_tensor(short, tensor)
    for name, tensor in (extra or {}).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def quantise(tensor: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    """The bytes of `tensor` as `kind`; random blocks of finite values where the gguf package cannot make them."""
    try:
        return gguf.quantize(tensor, kind)
    except NotImplementedError:
        pass
    width, size = GGML_QUANT_SIZES[kind]
    generator = np.random.default_rng(0)
    count = tensor.size // width
    blocks = np.empty((0, size), np.uint8)
    while len(blocks) < count:
        more = generator.integers(0, 256, (count, size), np.uint8)
        with np.errstate(all="ignore"):
            finite = np.isfinite(gguf.dequantize(more, kind)).all(-1)
        blocks = np.concatenate([blocks, more[finite]])
    return blocks[:count].reshape(tensor.shape[0], -1)


def read(file: Path) -> dict[str, np.ndarray]:
    """Every tensor of a GGUF file of a Llama by transformers' name, as the gguf package reads and undoes it."""
    reader = gguf.GGUFReader(file)
    heads = {"attn_q": "head_count", "attn_k": "head_count_kv"}
    tensors = {}
    for tensor in reader.tensors:
        stem, _, suffix = tensor.name.rpartition(".")
        *block, part = stem.split(".")
        names = TOP if not block else LAYER
        name = next(ours for ours, theirs in names.items() if theirs == part)
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        if part in heads:
            count = int(reader.fields[f"llama.attention.{heads[part]}"].contents())
            values = values.reshape(count, -1, 2, values.shape[-1]).swapaxes(1, 2).reshape(values.shape)
        tensors[f"{f'model.layers.{block[1]}.' if block else ''}{name}.{suffix}"] = values
    return tensors


def _add_tokenizer(writer: gguf.GGUFWriter, folder: Path, changes: dict[str, Any]) -> None:
    document = json.loads((folder / "tokenizer.json").read_text())
    special = {token["content"] for token in document["added_tokens"]}
    vocabulary = document["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    values: dict[str, Any] = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": tokens,
        "token_type": [3 if token in special else 1 for token in tokens],
        "merges": [" ".join(pair) for pair in document["model"]["merges"]],
    } | changes
    writer.add_tokenizer_model(values["model"])
    writer.add_tokenizer_pre(values["pre"])
    writer.add_token_list(values["tokens"])
    writer.add_token_types(values["token_type"])
    if values["merges"] is not None:
        writer.add_token_merges(values["merges"])
    if "scores" in values:
        writer.add_token_scores(values["scores"])
    if "add_bos" in values:
        writer.add_add_bos_token(values["add_bos"])
    if "add_space_prefix" in values:
        writer.add_add_space_prefix(values["add_space_prefix"])
    if "chat_template" in values:
        writer.add_chat_template(values["chat_template"])
    writer.add_bos_token_id(values.get("bos", 1))
    writer.add_eos_token_id(values.get("eos", 2))


def _name(stem: str, layer: dict[str, str]) -> str:
    if stem in TOP:
        return TOP[stem]
    _, _, index, part = stem.split(".", 3)
    return f"blk.{index}.{layer[part]}"


def _permute(tensor: np.ndarray, heads: int) -> np.ndarray:
    halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(tensor.shape))
