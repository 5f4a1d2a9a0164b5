"""`overt.templates`: the public way to a template."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from overt import templates

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "templates"
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "Does <b> & 'q'.", "parameters": {"type": "object", "properties": {}}},
}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "So.", "reasoning_content": "Why?"},
    {"role": "user", "content": "Go on \n"},
]


def test_equals_transformers() -> None:
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS} is not here")
    equal = 0
    for file in sorted(CORPUS.glob("*.jinja"))[::7]:
        source = file.read_text(encoding="utf-8")
        options: dict[str, Any] = {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}
        try:
            (theirs,), _ = render_jinja_template([MESSAGES], tools=[TOOL], chat_template=source, **options)
        except Exception:
            continue
        tokens = {name: options.pop(name) for name in ("bos_token", "eos_token")}
        clocked = "strftime_now" in source
        ours = templates.render(source, MESSAGES, tools=[TOOL], special_tokens=tokens, **options)
        assert clocked or ours.text == theirs, file.name
        equal += not clocked
    assert equal > 15


def test_provenance() -> None:
    rendered = templates.render(
        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content|trim }}\n{% endfor %}{{ mood|upper }}",
        MESSAGES,
        special_tokens={"bos_token": "<s>"},
        mood="glad",
        rest=1,
    )
    assert str(rendered) == rendered.text == "<s>user: Hi\nassistant: So.\nuser: Go on\nGLAD"
    found = [(rendered.text[span.start : span.end], span.origin, span.of) for span in rendered.provenance.spans]
    assert found[:4] == [
        ("<s>", "special_token", {"name": "bos_token"}),
        ("user", "message", {"message": 0, "part": "role"}),
        (": ", "template", {}),
        ("Hi", "message", {"message": 0, "part": "content"}),
    ]
    assert found[-1] == ("GLAD", "kwarg", {"name": "mood"})
    assert rendered.provenance.exact
    assert rendered.provenance.used == ("mood",)


def test_the_clock() -> None:
    clock = datetime(2025, 1, 24, 13, 5, 9)
    source = "{{ strftime_now('%d %B %Y, %H:%M:%S') }}"
    assert templates.render(source, MESSAGES, clock=clock).text == "24 January 2025, 13:05:09"
    assert templates.render("{{ strftime_now('%Y') }}", MESSAGES).text == str(datetime.now().year)


def test_errors_tell_line_and_reason() -> None:
    for source, line, reason in (
        ("a\n\n{% if %}", 3, ""),
        ("a\n{{ raise_exception('No: ' ~ messages|length) }}", None, "No: 3"),
        ("\n{{ messages[0].content.nothing.more }}", 2, ""),
    ):
        with pytest.raises(templates.TemplateError) as raised:
            templates.render(source, MESSAGES)
        assert raised.value.line in (line, 2 if line is None else line)
        assert reason in raised.value.reason
        assert raised.value.reason in str(raised.value)
        assert isinstance(raised.value, ValueError)
    with pytest.raises(templates.TemplateError):
        templates.render("", [])
    with pytest.raises(TypeError):
        templates.render("", [{"role": "user", "content": object()}])
    with pytest.raises(ValueError, match="JSON"):
        templates.render("", MESSAGES, number=float("nan"))
    for number in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"64 bits do not hold the integer {number}"):
            templates.render("{{ number }}", MESSAGES, number=number)
    assert templates.render("{{ number }}", MESSAGES, number=2**64 - 1).text == str(2**64 - 1)


def test_continued_messages() -> None:
    source = "{% for m in messages %}[{{ m.role }}]{{ m.content|trim }}[end]{% endfor %}"
    continued = templates.render(source, MESSAGES[:2], continue_final_message=True)
    assert continued.text == "[user]Hi[end][assistant]So."
    assert [span.end for span in continued.provenance.spans][-1] == len(continued.text)
