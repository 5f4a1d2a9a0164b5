"""Which chat template is in effect, against transformers' own choice where it makes one."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, ProcessorMixin

from models.gguf_tiny import write
from models.tiny import make, make_tokenizer
from overt.cli.config import ServeConfig
from overt.engine.config import hello, limits
from overt.models import ChatTemplate, ModelError, prompt_files, resolve

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
NAMED = [{"name": "default", "template": "config default"}, {"name": "tool_use", "template": "config tools"}]
# What tokenizer_config.json may hold as chat_template.
CONFIGS: tuple[Any, ...] = (
    None,
    "config text",
    NAMED,
    [{"name": "rag", "template": "config rag"}],
    [*reversed(NAMED)],
    {"default": "config default", "tool_use": "config tools"},
)
FILES = {
    "chat_template.jinja": "file",
    "additional_chat_templates/tool_use.jinja": "file tools",
    "additional_chat_templates/default.jinja": "another file",
}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make("llama", tmp_path_factory.mktemp("llama"))
    settings = json.loads((made / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (made / "tokenizer_config.json").write_text(json.dumps(settings))
    return made


@pytest.fixture
def model(llama: Path, tmp_path: Path) -> Path:
    """A whole model without a template."""
    return shutil.copytree(llama, tmp_path / "model")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tokenizer without a template."""
    made = tmp_path / "tokenizer"
    made.mkdir()
    make_tokenizer().save(str(made / "tokenizer.json"))
    _write(made, {"tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}})
    return made


def _write(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        text = content if isinstance(content, str) and not name.endswith(".json") else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")


def _config(folder: Path, template: Any) -> None:
    file = folder / "tokenizer_config.json"
    _write(folder, {file.name: json.loads(file.read_text()) | {"chat_template": template}})


def _held(folder: Path, chat_template: str | None = None) -> dict[str, tuple[str, str]]:
    """Name to text and source of each template in effect."""
    templates = prompt_files(str(folder), chat_template=chat_template).chat_templates
    assert len({each.name for each in templates}) == len(templates)
    return {each.name: (each.text, each.source) for each in templates}


def _by_name(template: Any) -> dict[str, str]:
    """transformers' chat_template as an object by name."""
    return {} if template is None else {"default": template} if isinstance(template, str) else template


def _text(template: ChatTemplate | None) -> str | None:
    return None if template is None else template.text


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("present", list(product([False, True], repeat=3)))
def test_the_tokenizers_files_as_transformers_reads_them(config: Any, present: tuple[bool, ...], folder: Path) -> None:
    _config(folder, config)
    _write(folder, {name: text for (name, text), there in zip(FILES.items(), present, strict=True) if there})
    theirs, ours = AutoTokenizer.from_pretrained(folder), prompt_files(str(folder))
    assert {each.name: each.text for each in ours.chat_templates} == _by_name(theirs.chat_template)
    for tools in (None, TOOLS):
        chosen = ours.template_for(tools=tools is not None)
        if chosen is None:
            with pytest.raises(ValueError, match="chat template"):
                theirs.get_chat_template(tools=tools)
        else:
            assert chosen.text == theirs.get_chat_template(tools=tools)
    assert ours.default_template == ours.template_for(tools=False)


@pytest.mark.parametrize("processor", [None, "processor", {"default": "processor", "rag": "processor rag"}])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("config", CONFIGS)
def test_the_processors_template_comes_first(processor: Any, legacy: bool, config: Any, folder: Path) -> None:
    _config(folder, config)
    _write(
        folder,
        {"processor_config.json": {"processor_class": "X"} | ({"chat_template": processor} if processor else {})},
    )
    _write(folder, {"chat_template.json": {"chat_template": "legacy"}} if legacy else {})
    ours = prompt_files(str(folder))
    from_processor = _by_name(ProcessorMixin.get_processor_dict(folder)[0].get("chat_template"))
    assert bool(from_processor) == bool(processor or legacy)
    from_tokenizer = _by_name(AutoTokenizer.from_pretrained(folder).chat_template)
    assert {each.name: each.text for each in ours.chat_templates} == from_tokenizer | from_processor
    # A template named for tools is taken for tools, whoever states it.
    expected = from_tokenizer.get("tool_use", _text(ours.default_template))
    assert _text(ours.template_for(tools=True)) == expected


def test_the_older_processor_file_comes_before_the_template_file(folder: Path) -> None:
    _write(folder, {"chat_template.json": {"chat_template": "legacy"}, "chat_template.jinja": "file"})
    assert ProcessorMixin.get_processor_dict(folder)[0]["chat_template"] == "legacy"
    assert _held(folder) == {"default": ("legacy", "chat_template.json")}
    _write(folder, {"additional_chat_templates/tool_use.jinja": "tools"})
    assert _held(folder)["tool_use"] == ("tools", "additional_chat_templates/tool_use.jinja")


def test_each_place_is_named_as_the_source(folder: Path) -> None:
    assert _held(folder) == {}
    _config(folder, "text")
    assert _held(folder) == {"default": ("text", "tokenizer_config.json")}
    _config(folder, NAMED)
    assert _held(folder)["tool_use"] == ("config tools", "tokenizer_config.json (tool_use)")
    assert _held(folder)["default"] == ("config default", "tokenizer_config.json (default)")
    _write(folder, {"chat_template.jinja": "file"})
    assert _held(folder) == {"default": ("file", "chat_template.jinja")}
    _write(folder, {"additional_chat_templates/rag.jinja": "documents", "additional_chat_templates/README": "none"})
    assert list(_held(folder).values())[1:] == [("documents", "additional_chat_templates/rag.jinja")]
    _write(folder, {"chat_template.json": {"chat_template": "legacy"}})
    assert _held(folder)["default"] == ("legacy", "chat_template.json")
    _write(folder, {"processor_config.json": {"chat_template": "processor"}})
    assert _held(folder)["default"] == ("processor", "processor_config.json")


def test_a_path_never_chooses_a_template(folder: Path, tmp_path: Path) -> None:
    _config(folder, "text")
    for name in ("deepseek-v3", "tool_use", "Llama-3.2-1B-Instruct"):
        copy = shutil.copytree(folder, tmp_path / "copies" / name)
        assert _held(copy) == {"default": ("text", "tokenizer_config.json")}


@pytest.mark.parametrize("empty", ["", " \n", [], {}, None, [{"name": "default", "template": ""}]])
def test_empty_templates_in_json_are_none(empty: Any, folder: Path) -> None:
    _config(folder, empty)
    assert _held(folder) == {}
    _write(folder, {"processor_config.json": {"chat_template": empty}, "chat_template.json": {}})
    assert _held(folder) == {}
    _config(folder, "text")
    assert _held(folder) == {"default": ("text", "tokenizer_config.json")}


@pytest.mark.parametrize("file", ["tokenizer_config.json", "processor_config.json", "chat_template.json"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, r"chat_template must be a text, .*, not int"),
        (True, r"chat_template must be a text, .*, not bool"),
        (["x"], r"chat_template\[0\] must be an object with name and template"),
        ([*NAMED, {"template": "x"}], r"chat_template\[2\] must be an object with name"),
        ([{"name": 1, "template": "x"}], r"chat_template\[0\] must be an object with name"),
        ([{"name": "a"}], r"chat_template\[0\]\.template must be a template's text, not NoneType"),
        ([*NAMED, {"name": "default", "template": "x"}], r"chat_template\[2\]\.template: there are two .*'default'"),
        ({"": "x"}, r"chat_template\. is a template without a name"),
        ([{"name": "", "template": "x"}], r"chat_template\[0\]\.template is a template without a name"),
        ({"default": ["x"]}, r"chat_template\.default must be a template's text, not list"),
        ("\ud800{{ a }}", "half a character"),
    ],
)
def test_json_of_the_wrong_kind_names_file_and_key(value: Any, said: str, file: str, folder: Path) -> None:
    _write(folder, {file: {"chat_template": value}})
    with pytest.raises(ModelError, match=rf"{file}: .*{said}"):
        prompt_files(str(folder))
    # The advice holds: what is broken is not read when a template is given.
    assert _held(folder, "{{ a }}") == {"default": ("{{ a }}", "--chat-template (inline)")}


@pytest.mark.parametrize("file", ["tokenizer_config.json", "processor_config.json", "chat_template.json"])
@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, "\x00"])
def test_files_that_are_no_json_objects_are_named(content: str, file: str, folder: Path) -> None:
    (folder / file).write_text(content)
    with pytest.raises(ModelError, match=file):
        prompt_files(str(folder))


@pytest.mark.parametrize("hidden", [".jinja", "._rag.jinja", ".rag.jinja"])
def test_hidden_files_are_no_templates(hidden: str, folder: Path) -> None:
    at = folder / "additional_chat_templates" / hidden
    at.parent.mkdir(exist_ok=True)
    at.write_bytes(b"\xff\x00")
    assert _held(folder) == {}
    (at.parent / "rag.jinja").write_text("rag")
    assert set(_held(folder)) == {"rag"}


@pytest.mark.parametrize("file", FILES)
def test_template_files_that_hold_none_are_named(file: str, folder: Path, tmp_path: Path) -> None:
    at = folder / file
    at.parent.mkdir(exist_ok=True)
    for content, said in ((b"{{ '\xff' }}", "not UTF-8 .byte 4."), (b"", "is empty"), (b" \n", "is empty")):
        at.write_bytes(content)
        with pytest.raises(ModelError, match=f"{file} .*{said}"):
            prompt_files(str(folder))
        (tmp_path / "given").write_bytes(content)
        with pytest.raises(ModelError, match=f"--chat-template .*given .*{said}"):
            prompt_files(str(folder), chat_template=str(tmp_path / "given"))
    at.unlink()
    at.mkdir()
    with pytest.raises(ModelError, match=f"{file} is a folder"):
        prompt_files(str(folder))
    at.rmdir()
    at.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=f"{file} cannot be read"):
        prompt_files(str(folder))


def test_a_given_template_is_used_alone(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _config(folder, [*NAMED, {"name": "rag", "template": "config rag"}])
    (tmp_path / "mine.txt").write_text("no marks", encoding="utf-8")
    for given, text, source in (
        (str(tmp_path / "mine.txt"), "no marks", f"--chat-template {tmp_path / 'mine.txt'}"),
        ("{% if tools %}b{% endif %}", "{% if tools %}b{% endif %}", "--chat-template (inline)"),
        ("two\nlines", "two\nlines", "--chat-template (inline)"),
        ("rag", "config rag", "--chat-template rag (tokenizer_config.json (rag))"),
        ("default", "config default", "--chat-template default (tokenizer_config.json (default))"),
        ("tool_use", "config tools", "--chat-template tool_use (tokenizer_config.json (tool_use))"),
    ):
        files = prompt_files(str(folder), chat_template=given)
        assert files.chat_templates == (ChatTemplate("default", text, source),)
        assert files.template_for(tools=True) == files.template_for(tools=False) == files.chat_templates[0]
    # A file comes before a name, a folder does not.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag").mkdir()
    assert _held(folder, "rag")["default"][0] == "config rag"
    (tmp_path / "rag").rmdir()
    (tmp_path / "rag").write_text("a file called rag")
    assert _held(folder, "rag")["default"] == ("a file called rag", "--chat-template rag")


@pytest.mark.parametrize("given", ["tool-use", "", "nowhere.jinja", "x" * 5000, "nul\0byte"])
def test_unknown_names_are_told_the_known(given: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"is no file and no name of a template of tokenizer \(which has none\): give a"
    ):
        prompt_files(str(folder), chat_template=given)
    _config(folder, NAMED)
    with pytest.raises(ModelError, match=r"its templates: default, tool_use\): give a file, one of these names, or"):
        prompt_files(str(folder), chat_template=given)
    with pytest.raises(ModelError, match="is a folder and no name"):
        prompt_files(str(folder), chat_template=str(tmp_path))


def test_the_template_of_another_tokenizer(folder: Path, model: Path) -> None:
    _config(model, "own")
    assert _text(resolve(str(model), tokenizer=str(folder)).default_template) == "own"
    _config(folder, NAMED)
    files = resolve(str(model), tokenizer=str(folder / "tokenizer.json"))
    assert [each.name for each in files.chat_templates] == ["default", "tool_use"]
    assert (
        _text(resolve(str(model), tokenizer=str(folder), chat_template="tool_use").default_template) == "config tools"
    )


def test_the_fingerprint_changes_with_any_template(model: Path) -> None:
    def changed(**given: str) -> str:
        files = resolve(str(model), **given)
        assert files.fingerprint == resolve(str(model), **given).fingerprint
        return files.fingerprint

    seen = [changed()]
    _config(model, NAMED)
    seen.append(changed())
    _config(model, [NAMED[0], NAMED[1] | {"template": "other"}])
    seen.append(changed())
    _config(model, [NAMED[0], {"name": "rag", "template": "other"}])
    seen += [changed(), changed(chat_template="rag"), changed(chat_template="{{ a }}")]
    _write(model, {"chat_template.jinja": "file"})
    seen.append(changed())
    _write(model, {"additional_chat_templates/tool_use.jinja": "tools"})
    seen.append(changed())
    assert len(set(seen)) == len(seen)


def test_the_end_of_a_turn_in_a_given_template_ends_a_text(model: Path) -> None:
    (model / "generation_config.json").unlink()
    settings = json.loads((model / "config.json").read_text()) | {"eos_token_id": 0}
    _write(model, {"config.json": settings})
    settings = json.loads((model / "tokenizer_config.json").read_text()) | {"eos_token": "<|endoftext|>"}
    _write(model, {"tokenizer_config.json": settings})
    assert resolve(str(model)).eos_token_ids == (0,)
    assert resolve(str(model), chat_template="{{ m }}<|im_end|>").eos_token_ids == (0, 2)
    _write(model, {"chat_template.jinja": "x", "additional_chat_templates/tool_use.jinja": "{{ m }}<|im_end|>"})
    assert resolve(str(model)).eos_token_ids == (0, 2)
    assert resolve(str(model), chat_template="{{ m }}").eos_token_ids == (0,)


def test_the_hello_tells_every_template(model: Path) -> None:
    def told(**given: str) -> dict[str, Any]:
        files = resolve(str(model), **given)
        bounds = limits(ServeConfig(), files, device="cpu")
        content: dict[str, Any] = json.loads(
            hello(files, bounds, vocab_size=9, num_blocks=2, dtype="none", device="none")
        )
        return content

    def model_of(content: dict[str, Any]) -> tuple[bool, str, str | None]:
        model = content["model"]
        return model["has_chat_template"], model["chat_template_source"], model["prompt_format"]

    nothing = told()
    assert (nothing["chat_template"], nothing["chat_templates"]) == (None, [])
    assert model_of(nothing) == (False, "none", None)
    _write(model, {"encoding/encoding_dsv32.py": "raise SystemExit"})
    family = "DeepSeek V3.2's own encoder (encoding/encoding_dsv32.py)"
    assert model_of(told()) == (False, "none", family)
    _config(model, [NAMED[1]])
    assert model_of(told()) == (False, "none", None)
    assert [each["name"] for each in told()["chat_templates"]] == ["tool_use"]
    _config(model, NAMED)
    both = told()
    assert both["chat_template"] == "config default"
    assert both["chat_templates"] == [
        {"name": "default", "text": "config default", "source": "tokenizer_config.json (default)"},
        {"name": "tool_use", "text": "config tools", "source": "tokenizer_config.json (tool_use)"},
    ]
    assert model_of(both) == (True, "tokenizer_config.json (default)", None)
    alone = told(chat_template="{{ a }}")
    assert [each["name"] for each in alone["chat_templates"]] == ["default"]
    assert model_of(alone) == (True, "--chat-template (inline)", None)


def test_templates_of_a_gguf_file(llama: Path, tmp_path: Path) -> None:
    more = [*NAMED, {"name": "rag", "template": "config rag"}]
    file = write(llama, tmp_path / "many.gguf", arch="llama", tokenizer={"chat_template": more})
    plain = resolve(str(file))
    assert [(each.name, each.text, each.source) for each in plain.chat_templates] == [
        ("default", "config default", "tokenizer.chat_template (GGUF metadata)"),
        ("rag", "config rag", "tokenizer.chat_template.rag (GGUF metadata)"),
        ("tool_use", "config tools", "tokenizer.chat_template.tool_use (GGUF metadata)"),
    ]
    assert _text(plain.template_for(tools=True)) == "config tools"
    assert prompt_files(str(file)).chat_templates == plain.chat_templates
    named = resolve(str(file), chat_template="rag")
    assert [(each.name, each.source) for each in named.chat_templates] == [
        ("default", "--chat-template rag (tokenizer.chat_template.rag (GGUF metadata))")
    ]
    assert named.fingerprint != plain.fingerprint
    with pytest.raises(ModelError, match=r"of Tiny llama \(its templates: default, rag, tool_use"):
        resolve(str(file), chat_template="tools")
    # A name without its template, as a cut-down file may have it.
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(file.read_bytes().replace(b"tokenizer.chat_template.rag", b"tokenizer.chat_templatE.rag"))
    with pytest.raises(ModelError, match=r"names 'rag', and there is no tokenizer\.chat_template.rag"):
        resolve(str(broken))
    assert _text(resolve(str(broken), chat_template="{{ a }}").default_template) == "{{ a }}"


def test_templates_of_a_gguf_file_without_a_default(llama: Path, tmp_path: Path) -> None:
    file = write(llama, tmp_path / "tools.gguf", arch="llama", tokenizer={"chat_template": [NAMED[1]]})
    files = resolve(str(file))
    assert (files.default_template, _text(files.template_for(tools=True))) == (None, "config tools")
    assert _text(resolve(str(file), chat_template="tool_use").default_template) == "config tools"
