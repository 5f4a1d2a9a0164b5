"""What prompts are made with, without weights; special tokens against transformers' own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer
from transformers.integrations.gguf.gguf_tokenizer_mapping import get_gguf_tokenizer

from models.gguf_tiny import write
from models.tiny import TEMPLATE, make, make_tokenizer
from overt.models import ChatTemplate, ModelError, PromptFiles, prompt_files, resolve
from overt.models.packages import PACKAGES

DEEPSEEK = "DeepSeek V3.2's own encoder (encoding/encoding_dsv32.py)"
ADDED = {"__type": "AddedToken", "content": "<|im_end|>", "lstrip": False, "normalized": False}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tokenizer"
    made.mkdir()
    make_tokenizer().save(str(made / "tokenizer.json"))
    return made


def _write(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content) if name.endswith(".json") else content)


def test_a_model_has_the_prompts_that_resolve_finds(llama: Path, tmp_path: Path) -> None:
    gguf = write(llama, tmp_path / "tiny.gguf", arch="llama", tokenizer={"chat_template": "{{ a }}", "add_bos": True})
    for model in (str(llama), str(gguf), "demo"):
        for given in ({}, {"chat_template": "{{ b }}"}, {"tokenizer": str(llama)}, {"tokenizer": str(gguf)}):
            whole = resolve(model, **given)
            assert prompt_files(model, **given) == PromptFiles(
                source=whole.source,
                name=whole.name,
                tokenizer_json=whole.tokenizer_json,
                chat_templates=whole.chat_templates,
                prompt_format=whole.prompt_format,
                special_tokens=whole.special_tokens,
                add_bos=whole.add_bos,
                max_model_len=whole.max_model_len,
            )
    assert prompt_files(str(gguf)).add_bos
    assert prompt_files(str(gguf)).name == "Tiny llama"


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_special_tokens_are_transformers(name: str) -> None:
    try:
        files = prompt_files(name)
    except ModelError as error:
        if "not installed" not in str(error):
            raise
        pytest.skip(str(error))
    theirs = get_gguf_tokenizer(str(resolve(name).path))[2]
    stated = {key: value for key, value in theirs.items() if key.endswith("_token") and isinstance(value, str)}
    assert files.special_tokens == stated
    assert set(stated) == {"bos_token", "eos_token", "unk_token", "pad_token"}
    default = files.default_template
    assert theirs.get("chat_template") == (None if default is None else default.text)


@pytest.mark.parametrize(
    ("settings", "older"),
    [
        ({}, None),
        ({"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "sep_token": "<|endoftext|>"}, None),
        ({"eos_token": ADDED, "cls_token": "<|im_end|>", "mask_token": None, "add_bos_token": True}, None),
        ({"image_token": "<|im_end|>", "audio_token": ADDED, "video_token": {"content": "x"}, "n_token": 3}, None),
        ({"additional_special_tokens": ["<|im_end|>"], "extra_special_tokens": []}, None),
        ({"additional_special_tokens": {"boi": "<|im_end|>"}, "extra_special_tokens": []}, None),
        ({"extra_special_tokens": {"image_token": "<|im_end|>", "boi": ADDED}, "eoi_token": "<|im_end|>"}, None),
        ({"model_specific_special_tokens": {"image_token": "<|im_end|>"}, "extra_special_tokens": ["x"]}, None),
        ({"model_specific_special_tokens": {"image_token": "<|im_end|>"}, "eoi_token": "<|im_start|>"}, None),
        ({"extra_special_tokens": {"eos_token": "<|im_end|>"}, "eos_token": "<|endoftext|>"}, None),
        # The older file overrides the newer, a null included, and adds to it.
        ({"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}, {"eos_token": "<|im_end|>", "pad_token": None}),
        ({"bos_token": None}, {"bos_token": {"content": "<|im_start|>", "lstrip": False}, "boi_token": "<|im_end|>"}),
        ({"boi_token": "<|im_end|>"}, {"boi_token": "<|im_start|>", "extra_special_tokens": {"eoi": "<|im_start|>"}}),
        ({"a_token": "<|im_end|>"}, {"extra_special_tokens": {"a_token": "<|im_start|>"}}),
        ({"eos_token": "<|im_end|>"}, {"additional_special_tokens": ["<|im_start|>"]}),
        # But not where the newer one lists the added tokens.
        ({"eos_token": "<|im_end|>", "added_tokens_decoder": {}}, {"eos_token": "x", "bos_token": "<|im_start|>"}),
    ],
)
def test_special_tokens_have_the_names_that_transformers_tells_templates(
    settings: dict[str, Any], older: dict[str, Any] | None, folder: Path
) -> None:
    # The class reads "extra_special_tokens" and the like itself.
    _write(folder, {"tokenizer_config.json": settings | {"tokenizer_class": "PreTrainedTokenizerFast"}})
    _write(folder, {} if older is None else {"special_tokens_map.json": older})
    theirs = AutoTokenizer.from_pretrained(folder)
    assert prompt_files(str(folder)).special_tokens == theirs.special_tokens_map
    theirs.chat_template = "{{ bos_token }} {{ eos_token }} {{ boi }} {{ image_token }}"
    seen = theirs.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False)
    ours = prompt_files(str(folder)).special_tokens
    assert seen == " ".join(ours.get(name, "") for name in ("bos_token", "eos_token", "boi", "image_token"))


def test_padding_states_a_token_where_nothing_else_does(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0, pad_token="<|endoftext|>")
    tokenizer.save(str(folder / "tokenizer.json"))
    for settings in ({}, {"pad_token": "<|im_end|>"}, {"pad_token": None}):
        _write(folder, {"tokenizer_config.json": settings | {"tokenizer_class": "PreTrainedTokenizerFast"}})
        theirs = AutoTokenizer.from_pretrained(folder).special_tokens_map
        assert prompt_files(str(folder)).special_tokens == theirs


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tokenizer_config.json", {"bos_token": 3}, "tokenizer_config.json: bos_token must be a token .*not int"),
        ("tokenizer_config.json", {"eos_token": {"text": "x"}}, "tokenizer_config.json: eos_token must be a token"),
        ("special_tokens_map.json", {"eos_token": ["x"]}, "special_tokens_map.json: eos_token must be a token"),
        ("tokenizer_config.json", {"extra_special_tokens": {"boi": 1}}, "tokenizer_config.json: the special token boi"),
        ("special_tokens_map.json", [], "special_tokens_map.json must hold a JSON object"),
    ],
)
def test_malformed_files_are_named(file: str, content: Any, said: str, folder: Path) -> None:
    _write(folder, {file: content})
    with pytest.raises(ModelError, match=said):
        prompt_files(str(folder))


def test_only_a_tokenizer(folder: Path) -> None:
    files = prompt_files(str(folder))
    assert (files.source, files.name, files.chat_templates) == (str(folder), "tokenizer", ())
    assert files.tokenizer_json == (folder / "tokenizer.json").read_bytes()
    assert (files.special_tokens, files.add_bos, files.max_model_len, files.prompt_format) == ({}, False, None, None)
    _write(folder, {"config.json": {"max_position_embeddings": 77, "vocab_size": "many"}})
    assert prompt_files(str(folder)).max_model_len == 77
    _write(folder, {"config.json": {"max_position_embeddings": "long"}})
    assert prompt_files(str(folder)).max_model_len is None
    with pytest.raises(ModelError, match="vocab_size is None"):
        resolve(str(folder))


def test_only_a_template(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    _write(alone, {"chat_template.jinja": TEMPLATE})
    default = ChatTemplate("default", TEMPLATE, "chat_template.jinja")
    expected = PromptFiles(str(alone), "alone", None, (default,), None, {}, False, None)
    assert prompt_files(str(alone)) == expected
    # The special tokens a template writes are known without tokenizer.json.
    _write(alone, {"tokenizer_config.json": {"bos_token": "<s>"}})
    assert prompt_files(str(alone)).special_tokens == {"bos_token": "<s>"}
    with_tokens = prompt_files(str(alone), tokenizer=str(folder))
    assert with_tokens.tokenizer_json == (folder / "tokenizer.json").read_bytes()
    assert (with_tokens.chat_templates, with_tokens.special_tokens) == ((default,), {})
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        resolve(str(alone))


def test_a_template_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ a }}")
    default = ChatTemplate("default", "{{ a }}", str(file))
    assert prompt_files(str(file)) == PromptFiles(str(file), "mine", None, (default,), None, {}, False, None)
    # It was named for itself: another's tokenizer does not replace it.
    _write(folder, {"chat_template.jinja": "theirs", "tokenizer_config.json": {"eos_token": "<|im_end|>"}})
    files = prompt_files(str(file), tokenizer=str(folder))
    assert (files.chat_templates, files.special_tokens) == ((default,), {"eos_token": "<|im_end|>"})
    assert files.tokenizer_json == (folder / "tokenizer.json").read_bytes()
    with pytest.raises(ModelError, match="is a chat template, not a model"):
        resolve(str(file))
    with pytest.raises(ModelError, match="there is no file or folder"):
        prompt_files(str(tmp_path / "nowhere.jinja"))
    file.write_text("")
    with pytest.raises(ModelError, match=r"mine\.jinja is empty"):
        prompt_files(str(file))


def test_a_folder_with_neither_says_so(tmp_path: Path) -> None:
    _write(tmp_path, {"config.json": {"max_position_embeddings": 9}})
    with pytest.raises(ModelError, match=r"holds neither tokenizer\.json nor a chat template"):
        prompt_files(str(tmp_path))
    assert prompt_files(str(tmp_path), chat_template="{{ a }}").max_model_len == 9


def test_an_encoder_beside_the_tokenizer(llama: Path, tmp_path: Path) -> None:
    model = shutil.copytree(llama, tmp_path / "model")
    _write(model, {"encoding/encoding_dsv32.py": "raise SystemExit"})
    # A template is there, and it is what prompts are made with.
    assert resolve(str(model)).prompt_format is None
    settings = json.loads((model / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    _write(model, {"tokenizer_config.json": settings})
    assert (resolve(str(model)).chat_templates, resolve(str(model)).prompt_format) == ((), DEEPSEEK)
    assert prompt_files(str(model)).prompt_format == DEEPSEEK
    assert resolve(str(model), chat_template="{{ a }}").prompt_format is None
    assert resolve(str(model), tokenizer=str(llama)).prompt_format is None
    assert resolve(str(llama), tokenizer=str(model)).prompt_format is None
    (model / "encoding/encoding_dsv32.py").rename(model / "encoding/encoding_next.py")
    assert resolve(str(model)).prompt_format == "the model's own encoder (encoding/encoding_next.py)"


def test_tekken(llama: Path, tmp_path: Path) -> None:
    model = shutil.copytree(llama, tmp_path / "model")
    _write(model, {"tekken.json": {"vocab": []}})
    assert resolve(str(model)).prompt_format is None
    (model / "tokenizer_config.json").unlink()
    assert resolve(str(model)).prompt_format == "Mistral's tekken (tekken.json)"
    (model / "tokenizer.json").unlink()
    said = "not Mistral's tekken.json, .*save_pretrained.* with --tokenizer and a template with --chat-template"
    with pytest.raises(ModelError, match=said):
        resolve(str(model))
    # What the error advises works.
    files = resolve(str(model), tokenizer=str(llama / "tokenizer.json"), chat_template="{{ a }}")
    assert (files.prompt_format, files.vocab_size) == (None, resolve(str(llama)).vocab_size)
    files = resolve(str(model), tokenizer=str(llama))
    assert [each.text for each in files.chat_templates] == [TEMPLATE]
    prompts = prompt_files(str(model))
    assert (prompts.tokenizer_json, prompts.prompt_format) == (None, "Mistral's tekken (tekken.json)")


def test_a_gguf_file_whose_own_tokenizer_is_unknown(llama: Path, tmp_path: Path) -> None:
    file = write(llama, tmp_path / "odd.gguf", arch="llama", tokenizer={"pre": "made-up"})
    for find in (resolve, prompt_files):
        with pytest.raises(ModelError, match=r"'made-up' is not known .* with --tokenizer"):
            find(str(file))
    # What the error advises works.
    assert resolve(str(file), tokenizer=str(llama)).eos_token_ids == (2,)
    assert prompt_files(str(file), tokenizer=str(llama)).special_tokens["eos_token"] == "<|im_end|>"


def test_prompts_of_an_architecture_that_is_unknown(llama: Path, tmp_path: Path) -> None:
    file = write(llama, tmp_path / "odd.gguf", arch="qwen2", tokenizer={"chat_template": "{{ a }}"})
    file.write_bytes(file.read_bytes().replace(b"qwen2", b"qwenX"))
    with pytest.raises(ModelError, match="qwenX"):
        resolve(str(file))
    files = prompt_files(str(file))
    assert ([each.text for each in files.chat_templates], files.max_model_len) == (["{{ a }}"], None)


@pytest.mark.parametrize("model", ["./nowhere", "", "x" * 5000 + "/y/z", "nul\0byte", "~nobody-here/x/y"])
def test_what_is_not_there_is_said(model: str) -> None:
    for find in (resolve, prompt_files):
        with pytest.raises(ModelError, match="there is no file or folder"):
            find(model)
    with pytest.raises(ModelError, match="no such file or folder"):
        prompt_files("demo", tokenizer=model)


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        prompt_files(str(tmp_path / "notes.txt"))
    with pytest.raises(ModelError, match=r"notes\.txt cannot be read as JSON"):
        prompt_files("demo", tokenizer=str(tmp_path / "notes.txt"))


def test_the_hubs_cache_is_read(folder: Path, tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--someone--something"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    snapshot = repository / "snapshots" / commit
    shutil.copytree(folder, snapshot)
    _write(snapshot, {"additional_chat_templates/tool_use.jinja": "tools", "chat_template.jinja": "plain"})
    program = (
        "import sys; from overt.models import prompt_files; files = prompt_files('someone/something'); "
        "print(files.name, [each.text for each in files.chat_templates]); "
        "print([name for name in ('torch', 'transformers', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["someone/something ['plain', 'tools']", "[]"]
