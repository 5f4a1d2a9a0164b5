"""GGUF metadata of a wrong type, or with numbers that are none: ModelError names the file and the key."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from models.gguf_tiny import write
from models.tiny import make
from overt.models import ModelError, gguf_file, load, resolve
from overt.models.gguf_file import GgufFile

Read = Callable[[dict[str, Any]], str]
PIECES = {"tokenizer.ggml.model": "llama"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> GgufFile:
    folder = make("llama", tmp_path_factory.mktemp("made"))
    return gguf_file.read(write(folder, folder / "model.gguf", arch="llama", tokenizer={"add_bos": True}))


@pytest.fixture
def changed(made: GgufFile, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Makes the file say otherwise, and gives its name."""

    def change(metadata: dict[str, Any]) -> str:
        monkeypatch.setattr(gguf_file, "read", lambda _: replace(made, metadata=made.metadata | metadata))
        return str(made.path)

    return change


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("tokenizer.ggml.tokens", [1, 2], "is a list of int where one of str"),
        ("tokenizer.ggml.token_type", ["1"], "is a list of str where one of int"),
        ("tokenizer.ggml.token_type", [True], "is a list of bool where one of int"),
        ("tokenizer.ggml.merges", [1.5], "is a list of float where one of str"),
        ("tokenizer.ggml.merges", "a b", "is a str where a list"),
        ("tokenizer.ggml.scores", ["a"], "is a list of str where one of float"),
        ("tokenizer.ggml.scores", [math.nan], "is a list with an infinity or no number"),
        ("tokenizer.chat_templates", [3], "is a list of int where one of str"),
        ("tokenizer.chat_template", 3, "is a int where a str"),
        ("tokenizer.chat_template.", "x", "is a template without a name"),
        ("general.name", 3, "is a int where a str"),
        ("general.sampling.temp", math.nan, "is nan where a finite number"),
        ("general.sampling.top_k", True, "is a bool where a int"),
        ("llama.rope.freq_base", math.inf, "is inf where a finite number"),
        ("llama.rope.freq_base", -1.0, "is -1.0; it must be positive"),
        ("llama.attention.head_count_kv", 0, "is 0; it must be positive"),
        ("llama.attention.head_count_kv", 3, "is 3; it must divide the 4"),
        ("llama.attention.key_length", 0, "is 0; it must be positive"),
        ("llama.block_count", 2**40, "is 1099511627776, and the file has"),
        ("llama.context_length", "8", "is a str where a int"),
    ],
)
def test_values_of_the_wrong_kind(key: str, value: Any, said: str, changed: Read) -> None:
    model = changed((PIECES if key.endswith("scores") else {}) | {key: value})
    with pytest.raises(ModelError, match=rf"model\.gguf: metadata {key} {said}"):
        resolve(model)


@pytest.mark.parametrize("factor", [math.inf, math.nan, -2.0, "2", True])
def test_rope_factors(factor: Any, changed: Read) -> None:
    model = changed({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": factor})
    with pytest.raises(ModelError, match=r"metadata llama\.rope\.scaling\.factor is "):
        resolve(model)


def test_a_length_beyond_all_sequences(changed: Read) -> None:
    scaled = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 1e30}
    for changes, said in (({"llama.context_length": 2**40}, "max_position_embeddings is"), (scaled, "factor is 1e")):
        with pytest.raises(ModelError, match=said):
            resolve(changed(changes))


def test_bos_keeps_its_id_where_the_vocabulary_calls_it_unused(made: GgufFile, changed: Read) -> None:
    kinds = list(made.metadata["tokenizer.ggml.token_type"])
    kinds[1] = 5
    files = resolve(changed({"tokenizer.ggml.token_type": kinds}))
    assert json.loads(files.tokenizer_json)["post_processor"]["special_tokens"]["<|im_start|>"]["ids"] == [1]
    assert load(files, dtype="float32", device="cpu") is not None
