"""Values of the wrong kind in any JSON file of a checkpoint: ModelError names the file and the key."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.tiny import make
from overt.models import ModelError, load, prompt_files, resolve

HALF = "half a character"
INF, NAN = math.inf, math.nan
WRONG: tuple[Any, ...] = ("abc", "", "\ud800", True, -7, 0, 1.5, 10**30, INF, NAN, [], [[]], [None], {}, {"": {}}, None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("llama", tmp_path_factory.mktemp("made"), shards=2)


@pytest.fixture
def model(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "model")
    return tmp_path / "model"


def _merge(file: Path, changes: dict[str, Any]) -> None:
    document = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(document | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(
            ({"rope_scaling": {"rope_type": kind, "factor": value}}, r"rope_scaling\.factor is ")
            for kind in ("linear", "dynamic", "yarn", "llama3")
            for value in (INF, -INF, NAN, "4", True, -2.0, 0, 10**400)
        ),
        ({"rope_scaling": {"type": "linear", "factor": 1e300}}, r"rope_scaling\.factor is 1e\+300: it makes"),
        ({"rope_scaling": {"type": "dynamic", "factor": 1e-9}}, r"rope_scaling\.factor is 1e-09: it makes"),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": "8"}},
            r"rope_parameters\.original_max_position_embeddings is '8'",
        ),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": -8}},
            r"rope_parameters\.original_max_position_embeddings is -8",
        ),
        (
            {"rope_parameters": {"full_attention": {"rope_theta": NAN}}},
            r"rope_parameters\.full_attention\.rope_theta is nan",
        ),
        ({"rope_parameters": {"rope_type": ["yarn"]}}, r"rope_parameters\.rope_type is \['yarn'\]"),
        ({"rope_parameters": {"rope_type": "yarn", "beta_fast": INF}}, r"rope_parameters\.beta_fast is inf"),
        ({"rope_parameters": "yarn"}, "rope_parameters is 'yarn'; it must be an object"),
        ({"rope_theta": "1e4"}, "rope_theta is '1e4'"),
        *(
            ({"max_position_embeddings": value}, "max_position_embeddings is ")
            for value in (INF, NAN, "2048", -1, 0, True, 2048.0, 10**30)
        ),
        ({"text_config": ["a"]}, r"text_config is \['a'\]; it must be an object"),
        ({"text_config": {"vocab_size": "1"}}, r"text_config\.vocab_size is '1'"),
        (
            {"text_config": {"vocab_size": 200, "rope_scaling": {"factor": -1}}},
            r"text_config\.rope_scaling\.factor is -1",
        ),
        ({"vocab_size": 1e3}, "vocab_size is 1000"),
        *(({"num_hidden_layers": value}, "num_hidden_layers is ") for value in (10**6, 10**30, -1, "4", INF)),
        ({"model_type": ["llama"]}, r"model_type is \['llama'\]; it must be a text"),
        ({"quantization_config": "awq"}, "quantization_config is 'awq'; it must be an object"),
        ({"torch_dtype": 16}, "torch_dtype is 16; it must be a text"),
        *(
            ({"eos_token_id": value}, "eos_token_id is ")
            for value in ("2", True, 2.0, [2, "3"], [[2]], {"a": 1}, -2, 10**30)
        ),
    ],
)
def test_config_json(changes: dict[str, Any], said: str, model: Path) -> None:
    document = json.loads((model / "config.json").read_text())
    # The newer name comes first.
    kept = {key: value for key, value in document.items() if key != "rope_parameters"}
    (model / "config.json").write_text(json.dumps(kept | changes))
    with pytest.raises(ModelError, match=rf"config\.json: {said}"):
        resolve(str(model))
    # Prompts need no length.
    assert prompt_files(str(model)).tokenizer_json is not None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(
            ({name: value}, f"{name} is ")
            for name in ("temperature", "top_p", "min_p", "typical_p", "repetition_penalty")
            for value in ("0.6", True, [0.6], INF, NAN)
        ),
        *(
            ({name: value}, f"{name} is ")
            for name in ("top_k", "max_new_tokens")
            for value in ("5", True, 5.5, [5], INF)
        ),
        ({"eos_token_id": [2, "0"]}, "eos_token_id is '0'"),
        ({"eos_token_id": True}, "eos_token_id is True"),
    ],
)
def test_generation_config_json(changes: dict[str, Any], said: str, model: Path) -> None:
    _merge(model / "generation_config.json", changes)
    with pytest.raises(ModelError, match=rf"generation_config\.json: {said}"):
        resolve(str(model))


def test_null_and_minus_one_are_no_token_that_ends_a_text(model: Path) -> None:
    _merge(model / "config.json", {"eos_token_id": -1})
    _merge(model / "generation_config.json", {"eos_token_id": None, "temperature": None, "top_k": -1})
    # What the tokenizer says is left.
    assert resolve(str(model)).eos_token_ids == (2,)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "abc"}, "model is 'abc'; it must be an object"),
        ({"model": {}}, "model.vocab is None"),
        ({"model": {"vocab": "abc"}}, "model.vocab is 'abc'"),
        ({"model": {"vocab": ["abc", "def"]}}, r"model.vocab\[0\] is 'abc'; it must be a pair"),
        ({"model": {"vocab": [["a", 0.5], [1, 0.5]]}}, r"model.vocab\[1\]\[0\] is 1"),
        ({"model": {"vocab": [["a", "b"]]}}, r"model.vocab\[0\]\[1\] is 'b'"),
        ({"model": {"vocab": {"a": "b"}}}, r"model.vocab\['a'\] is 'b'"),
        ({"model": {"vocab": {"a": -1}}}, r"model.vocab\['a'\] is -1"),
        ({"model": {"vocab": {"a": True}}}, r"model.vocab\['a'\] is True"),
        ({"model": {"vocab": {"a": 10**30}}}, r"model.vocab\['a'\] is 1000"),
        ({"model": {"vocab": {"\ud800": 1}}}, HALF),
        ({"added_tokens": [{}]}, r"added_tokens\[0\].content is None"),
        ({"added_tokens": [{"content": "a", "id": "1"}]}, r"added_tokens\[0\].id is '1'"),
        ({"added_tokens": ["a"]}, r"added_tokens\[0\] is 'a'"),
        ({"added_tokens": {"content": "a"}}, "added_tokens is .*; it must be a list"),
    ],
)
def test_tokenizer_json(changes: dict[str, Any], said: str, model: Path) -> None:
    _merge(model / "tokenizer.json", changes)
    for read in (resolve, prompt_files):
        with pytest.raises(ModelError, match=rf"tokenizer\.json is no tokenizer: .*{said}"):
            read(str(model))


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bos_token": "\ud800"}, f"bos_token holds {HALF}"),
        ({"eos_token": {"content": "<\udfff>"}}, f"eos_token holds {HALF}"),
        ({"image_token": "\ud800"}, f"image_token holds {HALF}"),
        ({"extra_special_tokens": {"boi": "\ud800"}}, f"the special token boi holds {HALF}"),
        ({"extra_special_tokens": {"\ud800": "boi"}}, f"extra_special_tokens holds {HALF}"),
        ({"extra_special_tokens": "<a>"}, "extra_special_tokens is '<a>'; it must be"),
        ({"extra_special_tokens": ["<a>", 3]}, r"extra_special_tokens\[1\] must be a token"),
    ],
)
def test_special_tokens(changes: dict[str, Any], said: str, file: str, model: Path) -> None:
    _merge(model / file, changes)
    for read in (resolve, prompt_files):
        with pytest.raises(ModelError, match=rf"{file}: {said}"):
            read(str(model))


def test_padding_is_named_where_it_stands(model: Path) -> None:
    (model / "tokenizer_config.json").unlink()
    for padding, said in (
        (["a"], r"padding is \['a'\]"),
        ({"pad_token": "\ud800"}, rf"padding\.pad_token holds {HALF}"),
    ):
        _merge(model / "tokenizer.json", {"padding": padding})
        with pytest.raises(ModelError, match=rf"tokenizer\.json: {said}"):
            resolve(str(model))


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        (["a"], r"weight_map is \['a'\]; it must be an object"),
        ({"lm_head.weight": ["a"]}, r"weight_map\.lm_head\.weight is \['a'\]; it must be a file's name"),
        ({"lm_head.weight": 3}, r"weight_map\.lm_head\.weight is 3"),
    ],
)
def test_the_index_of_shards(shards: Any, said: str, model: Path) -> None:
    _merge(model / "model.safetensors.index.json", {"weight_map": shards})
    with pytest.raises(ModelError, match=rf"index\.json: {said}"):
        resolve(str(model))


def _places(value: Any, depth: int = 3) -> Iterator[tuple[Any, ...]]:
    """Paths to the values in a document: the first of every list and object of many."""
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(inner)[: 3 if depth < 3 else None] if depth else ():
        yield from ((key, *rest) for rest in _places(item, depth - 1))


@pytest.mark.parametrize(
    "file",
    [
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "tokenizer.json",
        "model.safetensors.index.json",
    ],
)
def test_any_value_at_any_place_is_read_or_refused(file: str, model: Path) -> None:
    whole = (model / file).read_text()
    refusals = []
    for place in _places(json.loads(whole)):
        for value in WRONG:
            document = json.loads(whole)
            if place:
                at = document
                for key in place[:-1]:
                    at = at[key]
                at[place[-1]] = value
            else:
                document = value
            (model / file).write_text(json.dumps(document))
            for read in (resolve, prompt_files):
                try:
                    read(str(model))
                except ModelError as error:
                    refusals.append(str(error))
    # Shards that the index does not name are told of by the folder.
    assert [said for said in refusals if file not in said and "model.safetensors.index.json" not in said] == []
    assert len(refusals) > 20


def test_load_refuses_what_it_cannot_build(model: Path) -> None:
    _merge(model / "config.json", {"quantization_config": {"quant_method": ["x"]}})
    with pytest.raises(ModelError, match=r"quantised by \['x'\]"):
        load(resolve(str(model)), dtype="float32", device="cpu")
