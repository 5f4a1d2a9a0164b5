"""GGUF files of every mapped architecture, written from tiny folders, against those folders."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf.constants import GGMLQuantizationType
from tokenizers import Tokenizer

from models.gguf_tiny import read, write
from models.sentencepiece import pieces
from models.tiny import make
from overt.models import ModelError, load, resolve
from overt.models.gguf_weights import KINDS

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
    assert (files.eos_token_ids, files.chat_templates) == ((2, 0), ())


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows long enough for blocks of 256 values."""
    sizes = {"hidden_size": 256, "intermediate_size": 512, "head_dim": 64, "num_hidden_layers": 1}
    return make("llama", tmp_path_factory.mktemp("wide"), **sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_is_dequantised(kind: str, wide: Path, tmp_path: Path) -> None:
    file = write(wide, tmp_path / "model.gguf", arch="llama", kinds=[GGMLQuantizationType[kind]])
    got, expected, given = _load(file).state_dict(), read(file), _load(wide).state_dict()
    assert got.keys() == expected.keys()
    for name, tensor in got.items():
        assert tensor.dtype == torch.float32
        assert np.array_equal(tensor.numpy(), expected[name]), name
        assert torch.equal(tensor, given[name]) == (tensor.ndim == 1 or kind == "F32"), name


def test_types_may_be_mixed(wide: Path, tmp_path: Path) -> None:
    kinds = [GGMLQuantizationType[kind] for kind in ("Q4_K", "Q5_0", "Q6_K", "Q8_0", "F16")]
    file = write(wide, tmp_path / "model.gguf", arch="llama", kinds=kinds)
    got, expected = _load(file).state_dict(), read(file)
    assert all(np.array_equal(got[name].numpy(), tensor) for name, tensor in expected.items())


@pytest.mark.parametrize(("kind", "named"), [(GGMLQuantizationType.I32, "I32"), (99, "99")])
def test_an_unknown_type_is_refused_with_the_known(kind: int, named: str, folder: Path, tmp_path: Path) -> None:
    file = write(folder, tmp_path / "model.gguf", arch="llama", extra={"blk.0.attn_q.bias": np.zeros(64, np.float32)})
    whole = bytearray(file.read_bytes())
    # A tensor's entry: its name, the number of dimensions (1), the dimension, the type.
    at = whole.index(b"blk.0.attn_q.bias") + len("blk.0.attn_q.bias") + 4 + 8
    assert whole[at : at + 4] == struct.pack("<I", GGMLQuantizationType.F32)
    whole[at : at + 4] = struct.pack("<I", kind)
    file.write_bytes(whole)
    said = rf"tensor blk\.0\.attn_q\.bias is of type {named}, which is not known \(known: F32, F16, BF16, .*Q6_K.*\)"
    with pytest.raises(ModelError, match=said):
        _load(file)


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


def test_sampling_that_the_file_recommends(folder: Path, tmp_path: Path) -> None:
    sampling = {"temp": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.05, "penalty_repeat": 1.1, "mirostat": 2}
    files = resolve(str(write(folder, tmp_path / "model.gguf", arch="llama", sampling=sampling)))
    assert files.generation_config == {
        "temperature": 0.6,
        "top_k": 20,
        "top_p": 0.95,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "eos_token_id": [2, 0],
    }
    wrong = write(folder, tmp_path / "wrong.gguf", arch="llama", sampling={"top_k": 0.5})
    with pytest.raises(ModelError, match=r"general\.sampling\.top_k is a float where a int is needed"):
        resolve(str(wrong))
    assert resolve(str(write(folder, tmp_path / "bare.gguf", arch="llama"))).generation_config == {
        "eos_token_id": [2, 0]
    }


def test_byte_level_vocabularies_cut_as_the_tokenizers_library(folder: Path, tmp_path: Path) -> None:
    files = resolve(str(write(folder, tmp_path / "model.gguf", arch="llama")))
    ours = Tokenizer.from_str(files.tokenizer_json.decode())
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert ours.get_vocab() == theirs.get_vocab()
    generator = np.random.default_rng(0)
    parts = [
        "the",
        " assist",
        "ant",
        " and",
        "ing",
        "é",
        "🎉",
        "\n",
        "  ",
        "12",
        "<|im_end|>",
        "<|im_start|>user",
        "'s",
        "\x00",
    ]
    for _ in range(300):
        text = "".join(generator.choice(parts, 12))
        ids = ours.encode(text).ids
        assert ids == theirs.encode(text).ids, text
        assert ours.decode(ids, skip_special_tokens=False) == text


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


def _pieces_metadata(more: dict[str, int]) -> dict[str, Any]:
    """Metadata of a vocabulary with `PIECES`, every byte, and further tokens of a kind each."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    return {
        "model": "llama",
        "tokens": ["<unk>", "<s>", "</s>", *bytes_, *PIECES, *more],
        "scores": [0.0] * 259 + list(PIECES.values()) + [0.0] * len(more),
        "merges": None,
        "bos": 1,
        "eos": 2,
        "token_type": [2, 3, 3, *[6] * 256, *[1] * len(PIECES), *more.values()],
    }


def _texts() -> list[str]:
    generator = np.random.default_rng(0)
    texts = ["hello", "the  hello that", "é🎉 hello"]
    return texts + ["".join(generator.choice(list("helota xé"), 12)) for _ in range(100)]


def test_sentencepiece_vocabularies(folder: Path, tmp_path: Path) -> None:
    metadata = _pieces_metadata({"<|im_end|>": 3})
    files = resolve(str(write(folder, tmp_path / "model.gguf", arch="llama", tokenizer=metadata)))
    tokenizer = Tokenizer.from_str(files.tokenizer_json.decode())
    last = len(metadata["tokens"]) - 1
    assert (files.add_bos, files.eos_token_ids) == (True, (2, last))
    for text in _texts():
        got = tokenizer.encode(text)
        assert got.ids == [1, *pieces(" " + text, metadata["tokens"], metadata["scores"], [])], text
        assert tokenizer.decode(got.ids) == text
    assert tokenizer.encode("hello<|im_end|>").ids[-1] == last


def test_sentencepiece_vocabularies_with_tokens_of_their_users(folder: Path, tmp_path: Path) -> None:
    """As Gemma's: no space is put before a text, and runs of spaces and tags are tokens whatever is around them."""
    users = ["  ", "   ", "<b>", "hel"]
    metadata = _pieces_metadata(dict.fromkeys(users, 4)) | {"add_space_prefix": False}
    files = resolve(str(write(folder, tmp_path / "model.gguf", arch="llama", tokenizer=metadata)))
    tokenizer = Tokenizer.from_str(files.tokenizer_json.decode())
    for text in [*_texts(), "a    b", "<b>the</b>  hello", " hell", "      "]:
        got = tokenizer.encode(text)
        assert got.ids == [1, *pieces(text, metadata["tokens"], metadata["scores"], users)], text
        assert tokenizer.decode(got.ids) == text
