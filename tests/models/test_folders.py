"""Folders in the Hub's layout, against transformers' own loading."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from models.tiny import FAMILIES, make
from overt.models import ModelError, load, resolve

IDS = torch.arange(3, 63).reshape(1, 60)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("llama", tmp_path_factory.mktemp("tiny"))


def _load(folder: Path, **changes: Any) -> torch.nn.Module:
    return load(resolve(str(folder)), **({"dtype": "float32", "device": "cpu"} | changes))


def _logits(model: torch.nn.Module) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = model(IDS).logits
    return logits


def _edit(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    file = folder / "model.safetensors"
    state = load_file(file)
    change(state)
    save_file(state, file, metadata={"format": "pt"})


def _edit_json(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_equals_transformers_bit_for_bit(kind: str, tied: bool, tmp_path: Path) -> None:
    make(kind, tmp_path, tied=tied)
    seen: list[tuple[int, int, str]] = []
    model = _load(tmp_path, progress=lambda *at: seen.append(at))
    oracle = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert torch.equal(_logits(model), _logits(oracle))
    assert not model.training
    assert not any(tensor.is_meta or tensor.requires_grad for tensor in model.state_dict().values())
    buffers = dict(oracle.named_buffers())
    assert all(torch.equal(tensor, buffers[name]) for name, tensor in model.named_buffers())
    shared = model.get_parameter("lm_head.weight") is model.get_parameter("model.embed_tokens.weight")
    assert shared == tied
    done, total, _ = seen[-1]
    assert done == total > 0


@pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("dtype", ["auto", "float32", "bfloat16", "float16"])
def test_any_stored_type_is_served_in_any(stored: str, dtype: str, tmp_path: Path) -> None:
    made = make("qwen3", tmp_path, dtype=getattr(torch, stored))
    assert next(iter(load_file(made / "model.safetensors").values())).dtype == getattr(torch, stored)
    model = _load(made, dtype=dtype)
    served = torch.float32 if dtype == "auto" else getattr(torch, dtype)
    oracle = AutoModelForCausalLM.from_pretrained(made, dtype=served)
    assert {parameter.dtype for parameter in model.parameters()} == {served}
    assert torch.equal(_logits(model), _logits(oracle))


def test_shards_hold_the_same_model(tmp_path: Path) -> None:
    one, many = make("qwen3", tmp_path / "one"), make("qwen3", tmp_path / "many", shards=3)
    assert len(list(many.glob("*.safetensors"))) == 3
    assert torch.equal(_logits(_load(one)), _logits(_load(many)))
    (many / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ModelError, match="lacks model-00002-of-00003"):
        resolve(str(many))


@pytest.mark.parametrize("kind", ["mistral", "gemma3"])
def test_dtype_is_as_asked(kind: str, tmp_path: Path) -> None:
    make(kind, tmp_path)
    model = _load(tmp_path, dtype="bfloat16")
    oracle = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert torch.equal(_logits(model), _logits(oracle))
    assert next(_load(tmp_path, dtype="auto").parameters()).dtype == torch.float32
    with pytest.raises(ModelError, match="'int3' is not known"):
        _load(tmp_path, dtype="int3")


def test_attention_implementation_reaches_the_config(tiny: Path) -> None:
    model = _load(tiny, attn_implementation="eager")
    assert model.config._attn_implementation == "eager"  # type: ignore[union-attr]


def test_a_stored_tied_head_is_shared(tmp_path: Path) -> None:
    make("qwen3", tmp_path)

    def add(state: dict[str, torch.Tensor]) -> None:
        state["lm_head.weight"] = state["model.embed_tokens.weight"].clone()
        state["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.zeros(8)

    expected = _logits(_load(tmp_path))
    _edit(tmp_path, add)
    model = _load(tmp_path)
    assert model.get_parameter("lm_head.weight") is model.get_parameter("model.embed_tokens.weight")
    assert torch.equal(_logits(model), expected)


def test_missing_unknown_and_misshapen_tensors_are_named(tmp_path: Path) -> None:
    make("llama", tmp_path)
    name = "model.layers.1.mlp.up_proj.weight"

    def drop(state: dict[str, torch.Tensor]) -> None:
        del state[name]

    def add(state: dict[str, torch.Tensor]) -> None:
        state[name] = torch.zeros(160, 64)
        state["model.layers.1.mlp.extra.weight"] = torch.zeros(2)

    def misshape(state: dict[str, torch.Tensor]) -> None:
        del state["model.layers.1.mlp.extra.weight"]
        state[name] = torch.zeros(160, 63)

    for change, said in ((drop, rf"lacks tensor {name}"), (add, "mlp.extra.weight"), (misshape, r"160, 63")):
        _edit(tmp_path, change)
        with pytest.raises(ModelError, match=said):
            _load(tmp_path)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    make("llama", tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelError, match="damaged"):
        _load(tmp_path)


def test_what_the_files_say(tiny: Path) -> None:
    files = resolve(str(tiny))
    assert (files.kind, files.name, files.path) == ("hf", tiny.name, tiny)
    assert files.eos_token_ids == (2, 0)
    assert files.special_tokens["eos_token"] == "<|im_end|>"
    assert (files.max_model_len, files.add_bos) == (2048, False)
    assert files.vocab_size == json.loads((tiny / "config.json").read_text())["vocab_size"]
    assert [(each.name, each.source) for each in files.chat_templates] == [("default", "tokenizer_config.json")]
    assert files.fingerprint == resolve(str(tiny)).fingerprint


def test_the_end_of_a_turn_in_the_template_ends_a_text(tmp_path: Path) -> None:
    make("llama", tmp_path)
    (tmp_path / "generation_config.json").unlink()
    _edit_json(tmp_path / "config.json", eos_token_id=0)
    _edit_json(tmp_path / "tokenizer_config.json", eos_token="<|endoftext|>")
    assert resolve(str(tmp_path)).eos_token_ids == (0, 2)


def test_generation_defaults_arrive_as_they_stand(tmp_path: Path) -> None:
    make("llama", tmp_path)
    stated = {
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "min_p": 0.05,
        "typical_p": 0.9,
        "repetition_penalty": 1.05,
        "eos_token_id": [2, 0, 1],
        "pad_token_id": 0,
    }
    (tmp_path / "generation_config.json").write_text(json.dumps(stated))
    files = resolve(str(tmp_path))
    assert files.generation_config == stated
    assert files.eos_token_ids == (2, 0, 1)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 0}))
    files = resolve(str(tmp_path))
    assert (files.generation_config, files.eos_token_ids) == ({"eos_token_id": 0}, (0, 2))
    (tmp_path / "generation_config.json").write_text("{")
    with pytest.raises(ModelError, match=r"generation_config\.json"):
        resolve(str(tmp_path))
    (tmp_path / "generation_config.json").unlink()
    assert resolve(str(tmp_path)).generation_config == {}


def test_another_tokenizer(tiny: Path, tmp_path: Path) -> None:
    other = make("qwen3", tmp_path)
    _edit_json(other / "tokenizer_config.json", chat_template="theirs", eos_token="<|endoftext|>")
    files = resolve(str(tiny), tokenizer=str(other))
    assert ([each.text for each in files.chat_templates], files.eos_token_ids) == (["theirs"], (0,))
    assert resolve(str(tiny), tokenizer=str(other / "tokenizer.json")).tokenizer_json == files.tokenizer_json
    with pytest.raises(ModelError, match="token ids up to"):
        resolve(str(tiny), tokenizer=str(resolve("demo").path))
    with pytest.raises(ModelError, match="no such file or folder"):
        resolve(str(tiny), tokenizer="./nowhere")


@pytest.mark.parametrize(
    ("scaling", "length"),
    [
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}, 4096),
        ({"rope_type": "linear", "factor": 2.0}, 4096),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 256}, 2048),
    ],
)
def test_rope_scaling_counts(scaling: dict[str, Any], length: int, tmp_path: Path) -> None:
    make("llama", tmp_path)
    _edit_json(tmp_path / "config.json", rope_parameters=scaling)
    assert resolve(str(tmp_path)).max_model_len == length


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("config.json", "config.json is missing"),
        ("tokenizer.json", r"tokenizer.json is missing.*save_pretrained"),
        ("model.safetensors", r"holds no \*.safetensors"),
    ],
)
def test_missing_files_are_named(missing: str, said: str, tmp_path: Path) -> None:
    make("llama", tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ModelError, match=said):
        resolve(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "mamba9"}, "does not know model_type 'mamba9'"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantised by awq"),
        ({"num_attention_heads": "four"}, "cannot build a llama"),
        ({"max_position_embeddings": None}, "max_position_embeddings is None"),
        ({"vocab_size": -1}, "vocab_size is -1"),
    ],
)
def test_configs_that_cannot_be_served(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    make("llama", tmp_path)
    _edit_json(tmp_path / "config.json", **changes)
    with pytest.raises(ModelError, match=said):
        _load(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"model": {"vocab": 3}}', '{"model": {}}', "\x00"])
def test_bad_tokenizers_are_refused(content: str, tmp_path: Path) -> None:
    make("llama", tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        resolve(str(tmp_path))
