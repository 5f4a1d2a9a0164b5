"""What is seen of a chat template from its text."""

from pathlib import Path

import pytest

from overt.contract.template import Template
from overt.contract.variables import read_variables

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
        ("{% macro m(a, b=c) %}{{ a }}{% endmacro %}{{ m(x, b=y) }}", ("x", "y")),
        ("{# {{ hidden }} #}{{ 'quoted word' }}{{ \"it's\" ~ shown }}", ("shown",)),
        ("{%- if flag -%}{{- raise_exception('No ' + name) -}}{%- endif -%}", ("flag", "name")),
        ("{{ tojson(x) }}{{ strftime_now('%Y') }}", ("x",)),
    ],
)
def test_variables(template: str, variables: tuple[str, ...]) -> None:
    assert read_variables(template) == variables


def test_templates_of_models() -> None:
    if not TEMPLATES.exists():
        pytest.skip(f"{TEMPLATES} is not here")
    found = {path.name: read_variables(path.read_text(encoding="utf-8")) for path in TEMPLATES.glob("*.jinja")}
    assert len(found) > 100
    assert "enable_thinking" in found["lcpp-Qwen-Qwen3-0.6B.jinja"]
    assert {"tools", "date_string"} <= set(found["lcpp-meta-llama-Llama-3.1-8B-Instruct.jinja"])
    assert sum("messages" in variables for variables in found.values()) > 0.95 * len(found)
    assert sum(len(variables) for variables in found.values()) < 12 * len(found)


def test_mentions() -> None:
    template = Template("{{ enable_thinking }}{{ m['odd-key'] }}")
    assert template.mentions("enable_thinking")
    assert not template.mentions("thinking")
    assert template.mentions("odd-key")
    assert not template.mentions("odd-keys")
    assert len(template.hash) == 16
