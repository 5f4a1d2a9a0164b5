"""What is seen of a chat template from its text."""

from pathlib import Path

import pytest

from overt.contract.template import Template

TEMPLATES = Path(__file__).parents[3] / "shared" / "corpus" / "templates"


@pytest.mark.parametrize(
    ("template", "variables"),
    [
        ("", ()),
        ("plain text with words", ()),
        ("{{ a }}{{ b.c }}{{ d['e'] }}{{ f | trim }}", ("a", "b", "d", "f")),
        ("{% for m in messages %}{{ m.role }}{{ loop.index }}{% endfor %}", ("messages",)),
        ("{% if tools is defined and not x %}{% endif %}", ("tools", "x")),
        ("{% set s = given %}{{ s }}{{ given }}", ("given",)),
        ("{% set messages = messages[1:] %}{{ messages }}", ("messages",)),
        ("{% set ns = namespace(n=0) %}{% set ns.n = other %}{{ ns.n }}", ("other",)),
        ("{% macro m(a, b=c) %}{{ a }}{% endmacro %}{{ m(x, b=y) }}", ("c", "x", "y")),
        ("{# {{ hidden }} #}{{ 'quoted word' }}{{ \"it's\" ~ shown }}", ("shown",)),
        ("{%- if flag -%}{{- raise_exception('No ' + name) -}}{%- endif -%}", ("flag", "name")),
        ("{{ x | tojson }}{{ strftime_now('%Y') }}{{ range(3) }}", ("x",)),
    ],
)
def test_variables(template: str, variables: tuple[str, ...]) -> None:
    assert Template(template).variables == variables


def test_templates_of_models() -> None:
    if not TEMPLATES.exists():
        pytest.skip(f"{TEMPLATES} is not here")
    found = {path.name: Template(path.read_text(encoding="utf-8")).variables for path in TEMPLATES.glob("*.jinja")}
    assert len(found) > 100
    assert "enable_thinking" in found["lcpp-Qwen-Qwen3-0.6B.jinja"]
    assert {"tools", "date_string"} <= set(found["lcpp-meta-llama-Llama-3.1-8B-Instruct.jinja"])
    assert sum("messages" in variables for variables in found.values()) > 0.95 * len(found)
    assert sum(len(variables) for variables in found.values()) < 12 * len(found)


def test_what_is_read() -> None:
    template = Template("{# thinking #}{{ enable_thinking }}{% for m in messages %}{{ m['odd-key'] }}{% endfor %}")
    assert template.reads("enable_thinking")
    assert not template.reads("thinking")
    assert template.reads_key("odd-key")
    assert not template.reads_key("odd-keys")
    assert not template.reads_key("reasoning")
    assert len(template.hash) == 16


def test_names_of_reasoning_are_one_key() -> None:
    """Rendering gives a template each of them."""
    template = Template("{% for m in messages %}{{ m.reasoning_content }}{% endfor %}")
    assert all(map(template.reads_key, ("reasoning", "reasoning_content", "thinking")))


def test_roles() -> None:
    assert not Template("{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}").knows_developer
    knows = "{% for m in messages %}{% if m.role == 'developer' %}D{% endif %}{{ m.content }}{% endfor %}"
    assert Template(knows).knows_developer
