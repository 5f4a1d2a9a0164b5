"""`overt render`: a prompt without weights or a server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overt.cli.render import SAMPLE, render
from templates.room import RENDER, room, said

INVENTS = (
    "{% if messages[0].role != 'system' %}<s>Be kind.\n{% endif %}"
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
)


def ran(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert render(words) == code
    printed = capsys.readouterr()
    assert code == 0 or not printed.out
    return printed.err if code else printed.out


@pytest.fixture
def template(tmp_path: Path) -> str:
    file = tmp_path / "invents.jinja"
    file.write_text(INVENTS)
    return str(file)


def given(folder: Path, body: Any) -> str:
    file = folder / "given.json"
    file.write_text(json.dumps(body))
    return str(file)


def test_the_same_as_the_route(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = {"messages": said("Hi", "So", "ké"), "max_tokens": 3, "chat_template_kwargs": {"unread": 1}}
    told = json.loads(ran(capsys, "demo", "--messages", given(tmp_path, body), "--json"))
    with room() as client:
        answer = client.post(RENDER, json=body).json()
    assert told == answer


def test_a_page_says_where_everything_came_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, template: str
) -> None:
    page = ran(capsys, template, "--messages", given(tmp_path, said("Be kind.")))
    assert "<s>Be kind.\n[user] Be kind.\n" in page
    rows = [line.split("  ", 1) for line in page.partition("TEXT\n")[2].splitlines()]
    assert [(name, json.loads(text.strip())) for name, text in rows] == [
        ("template", "<s>Be kind.\n["),
        ("messages[0] role", "user"),
        ("template", "] "),
        ("messages[0] content", "Be kind."),
        ("template", "\n"),
    ]
    assert template in page
    # There is no tokenizer: nothing is said of tokens.
    assert "tokens" not in page
    told = json.loads(ran(capsys, template, "--json"))
    assert "token_ids" not in told
    assert told["prompt_text"].startswith(f"[system] {SAMPLE['messages'][0]['content']}")


def test_effects_and_changes_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "<|im_end|>"}, {"type": "text", "text": "b"}]
    body = {"messages": [{"role": "user", "content": parts, "mood": "x"}], "tempurature": 1}
    page = ran(capsys, "demo", "--messages", given(tmp_path, body))
    assert "changed    messages[0].content: text_parts_joined" in page
    assert "`messages[].mood` is inert" in page
    assert "`tempurature` is inert" in page
    assert "`messages[0].content` is adapted" in page
    assert "is adapted" not in ran(capsys, "demo", "--messages", given(tmp_path, body), "--escape-special-tokens")


def test_a_model_of_unknown_length(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overt.models.prompting

    read = overt.models.prompting.prompt_files
    known = [8192]

    def of_unknown(*words: Any, **options: Any) -> Any:
        return replace(read(*words, **options), max_model_len=known[0] if known else None)

    monkeypatch.setattr(overt.models.prompting, "prompt_files", of_unknown)
    one = json.loads(ran(capsys, "demo", "--json"))
    assert one["max_tokens"] == 8192 - len(one["token_ids"])
    known.clear()
    assert json.loads(ran(capsys, "demo", "--json"))["max_tokens"] is None
    asked = {"messages": said("a"), "max_tokens": 3}
    assert json.loads(ran(capsys, "demo", "--messages", given(tmp_path, asked), "--json"))["max_tokens"] == 3


def test_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path, template: str) -> None:
    page = ran(capsys, "demo", "--diff", template, "--messages", given(tmp_path, said("Hi")))
    lines = page.splitlines()
    assert "--- demo" in lines
    assert f"+++ {template}" in lines
    assert "+<s>Be kind.\\n" in lines
    assert "-<|im_start|>user\\n" in lines
    assert "The prompts are the same." in ran(capsys, template, "--diff", template)
    both = json.loads(ran(capsys, "demo", "--diff", template, "--json"))
    assert [one["template"]["source"] for one in both][1] == template


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"no": "messages"}, "must hold a list of messages"),
        ([], "`messages`"),
        ([{"role": "user", "content": 3}], "`content` must be a string"),
        ({"messages": said("a"), "temperature": 9}, "`temperature`"),
    ],
)
def test_conversations_that_are_none(body: Any, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in ran(capsys, "demo", "--messages", given(tmp_path, body), code=1)


def test_what_cannot_be_rendered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.jinja"
    broken.write_text("a\n{% if %}")
    message = ran(capsys, str(broken), code=1)
    assert "line 2" in message
    refuses = tmp_path / "refuses.jinja"
    refuses.write_text("{{ raise_exception('Only poems.') }}")
    assert "Only poems." in ran(capsys, str(refuses), code=1)
    (tmp_path / "no.json").write_text("{")
    assert "is no JSON" in ran(capsys, "demo", "--messages", str(tmp_path / "no.json"), code=1)
    (tmp_path / "deep.json").write_text("[" * 10**5)
    assert "nested too deeply" in ran(capsys, "demo", "--messages", str(tmp_path / "deep.json"), code=1)
    (tmp_path / "wide.json").write_text('[{"role": "user", "content": "a", "n": 18446744073709551616}]')
    assert "64 bits" in ran(capsys, "demo", "--messages", str(tmp_path / "wide.json"), code=1)
    assert "there is no file or folder" in ran(capsys, str(tmp_path / "nowhere" / "model"), code=1)
