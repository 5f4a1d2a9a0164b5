"""GGUF files of every mapped architecture, written from tiny folders, against those folders."""

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf.constants import GGMLQuantizationType
from tokenizers import Tokenizer

from models.gguf_tiny import write
from models.tiny import make
from overt.models import ModelError, load, resolve

IDS = torch.arange(3, 63).reshape(1, 60)
ARCHS = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma3": "gemma3"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("llama", tmp_path_factory.mktemp("llama"))


def _load(path: Path) -> torch.nn.Module:
    return load(resolve(str(path)), dtype="float32", device="cpu")


def _logits(path: Path) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = _load(path)(IDS).logits
    return logits


@pytest.mark.parametrize("arch", ARCHS)
def test_each_architecture_equals_its_folder(arch: str, tmp_path: Path) -> None:
    made = make(ARCHS[arch], tmp_path / "folder")
    file = write(made, tmp_path / "model.gguf", arch=arch)
    # Gemma's norms lose their last bits when one is added and taken off again.
    assert torch.allclose(_logits(file), _logits(made), atol=1e-4 if arch == "gemma3" else 1e-6, rtol=0)
    files, original = resolve(str(file)), resolve(str(made))
    assert (files.name, files.kind) == (f"Tiny {arch}", "gguf")
    assert files.config["architectures"] == original.config["architectures"]
    assert (files.max_model_len, files.vocab_size) == (original.max_model_len, original.vocab_size)
    assert (files.eos_token_ids, files.chat_template_source) == ((2, 0), "none")


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q5_1"])
def test_each_matrix_is_dequantised(kind: str, folder: Path, tmp_path: Path) -> None:
    quantisation = GGMLQuantizationType[kind]
    file = write(folder, tmp_path / "model.gguf", arch="llama", kind=quantisation)
    got, given = _load(file).state_dict(), _load(folder).state_dict()
    for name, tensor in given.items():
        expected = tensor.numpy()
        if tensor.ndim == 2:
            expected = gguf.dequantize(gguf.quantize(expected, quantisation), quantisation)
            assert not np.array_equal(expected, tensor.numpy())
        assert np.array_equal(got[name].numpy(), expected), name


def test_rope_factors_divide_the_frequencies(folder: Path, tmp_path: Path) -> None:
    factors = np.array([1, 1, 2, 4, 8, 8, 8, 8], np.float32)
    file = write(folder, tmp_path / "model.gguf", arch="llama", extra={"rope_freqs.weight": factors})
    got, given = dict(_load(file).named_buffers()), dict(_load(folder).named_buffers())
    name = "model.rotary_emb.inv_freq"
    assert torch.equal(got[name], given[name] / torch.from_numpy(factors))


def test_tensors_that_do_not_fit_are_named(folder: Path, tmp_path: Path) -> None:
    extra = {"blk.0.ffn_gate_exps.weight": np.zeros((2, 2), np.float32)}
    with pytest.raises(ModelError, match=r"blk\.0\.ffn_gate_exps\.weight"):
        _load(write(folder, tmp_path / "extra.gguf", arch="llama", extra=extra))
    missing = write(folder, tmp_path / "missing.gguf", arch="llama", without="blk.2.attn_v.weight")
    with pytest.raises(ModelError, match=r"lacks tensor model\.layers\.2\.self_attn\.v_proj\.weight"):
        _load(missing)


def test_unknown_names_are_refused_with_the_known(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'falcon' is not known.*gemma3, llama, qwen2, qwen3"):
        resolve(str(write(folder, tmp_path / "arch.gguf", arch="falcon")))
    for changes, said in (
        ({"pre": "tekken"}, "'tekken' is not known.*smollm"),
        ({"model": "bert"}, "'bert' is not known"),
        ({"merges": None}, "no merges"),
        ({"model": "llama"}, "scores"),
    ):
        file = write(folder, tmp_path / "tokenizer.gguf", arch="llama", tokenizer=changes)
        with pytest.raises(ModelError, match=said):
            resolve(str(file))


def test_truncated_and_foreign_files_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = write(folder, tmp_path / "model.gguf", arch="llama").read_bytes()
    cut = tmp_path / "cut.gguf"
    header = whole.index(b"blk.0.attn_q.weight")
    for size in (0, 3, 4, 8, 20, 30, 300, header // 2, header, header + 40):
        cut.write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"damaged|not a GGUF|cannot be read"):
            resolve(str(cut))
    cut.write_bytes(whole[:-64])
    with pytest.raises(ModelError, match="damaged or truncated"):
        _load(cut)
    cut.write_bytes(whole[:4] + struct.pack("<I", 9) + whole[8:])
    with pytest.raises(ModelError, match="version 9"):
        resolve(str(cut))
    cut.write_bytes(b"PK\3\4 something else")
    with pytest.raises(ModelError, match="not a GGUF file"):
        resolve(str(cut))


def test_damaged_headers_never_surprise(folder: Path, tmp_path: Path) -> None:
    whole = bytearray(write(folder, tmp_path / "model.gguf", arch="llama").read_bytes())
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for at in generator.integers(4, 4000, 3):
            damaged[at] = int(generator.integers(256))
        file = tmp_path / "damaged.gguf"
        file.write_bytes(damaged)
        try:
            resolve(str(file))
        except ModelError:
            refused += 1
    assert refused > 20


def _pre(name: str, folder: Path, tmp_path: Path) -> Tokenizer:
    file = write(folder, tmp_path / f"{name}.gguf", arch="llama", tokenizer={"pre": name})
    return Tokenizer.from_str(resolve(str(file)).tokenizer_json.decode())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-2", ["It", "'s", "Ġ2024", "ĠĠ", "Ġok", "!?"]),
        ("smollm", ["It", "'s", "Ġ", "2", "0", "2", "4", "ĠĠ", "Ġok", "!?"]),
        ("llama-bpe", ["It", "'s", "Ġ", "202", "4", "ĠĠ", "Ġok", "!?"]),
        ("qwen2", ["It", "'s", "Ġ", "2", "0", "2", "4", "ĠĠ", "Ġok", "!?"]),
    ],
)
def test_words_are_cut_as_the_family_cuts_them(name: str, words: list[str], folder: Path, tmp_path: Path) -> None:
    tokenizer = _pre(name, folder, tmp_path)
    text = "It's 2024   ok!?"
    assert [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)] == words
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.encode("<|im_start|>a").ids[0] == 1


def test_bos_is_put_before_a_text_where_the_file_says_so(folder: Path, tmp_path: Path) -> None:
    file = write(folder, tmp_path / "model.gguf", arch="llama", tokenizer={"add_bos": True})
    files = resolve(str(file))
    tokenizer = Tokenizer.from_str(files.tokenizer_json.decode())
    bare = tokenizer.encode("the cat", add_special_tokens=False).ids
    assert files.add_bos
    assert tokenizer.encode("the cat").ids == [1, *bare]


PIECES = {
    "▁": -1.0,
    "h": -2.0,
    "e": -3.0,
    "l": -4.0,
    "o": -5.0,
    "t": -6.0,
    "a": -7.0,
    "he": -8.0,
    "▁t": -9.0,
    "ll": -10.0,
    "▁he": -11.0,
    "lo": -12.0,
    "▁the": -13.0,
    "llo": -14.0,
    "▁hello": -15.0,
    "el": -16.0,
    "▁▁": -17.0,
    "at": -18.0,
}


def _sentencepiece(text: str, ids: dict[str, int], scores: list[float]) -> list[int]:
    """SentencePiece's own way: join the neighbours whose union scores best, leftmost first."""
    pieces = list("▁" + text.replace(" ", "▁"))
    while True:
        joins = [
            (-scores[ids[left + right]], at) for at, (left, right) in enumerate(pairwise(pieces)) if left + right in ids
        ]
        if not joins:
            break
        _, at = min(joins)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    return [
        index
        for piece in pieces
        for index in ([ids[piece]] if piece in ids else [ids[f"<0x{byte:02X}>"] for byte in piece.encode()])
    ]


def test_sentencepiece_vocabularies(folder: Path, tmp_path: Path) -> None:
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = ["<unk>", "<s>", "</s>", *bytes_, *PIECES, "<|im_end|>"]
    scores = [0.0] * 259 + list(PIECES.values()) + [0.0]
    metadata: dict[str, Any] = {
        "model": "llama",
        "tokens": tokens,
        "scores": scores,
        "merges": None,
        "bos": 1,
        "eos": 2,
        "token_type": [2, 3, 3, *[6] * 256, *[1] * len(PIECES), 3],
    }
    files = resolve(str(write(folder, tmp_path / "model.gguf", arch="llama", tokenizer=metadata)))
    tokenizer = Tokenizer.from_str(files.tokenizer_json.decode())
    assert (files.add_bos, files.eos_token_ids) == (True, (2, len(tokens) - 1))
    ids = {token: index for index, token in enumerate(tokens)}
    generator = np.random.default_rng(0)
    texts = ["hello", "the  hello that", "é🎉 hello"]
    texts += ["".join(generator.choice(list("helota xé"), 12)) for _ in range(100)]
    for text in texts:
        got = tokenizer.encode(text)
        assert got.ids == [1, *_sentencepiece(text, ids, scores)], text
        assert tokenizer.decode(got.ids) == text
    assert tokenizer.encode("hello<|im_end|>").ids[-1] == len(tokens) - 1
