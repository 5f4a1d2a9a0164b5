"""The servers of the cases about parsers: each reads one format of calls and one of reasoning."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from cases.corpus import READ_AREAS, Case, cases
from cases.servers import SKIPPED, asks, choices_of, chunkings
from serve.server import Server, serving

TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}{{ call.id }} {{ call.function | tojson }}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}{{ tail | default('<|im_start|>assistant\n') }}"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""`tail`: how the prompt of the answer ends."""

UNHELD = ("tool-required-but-text", "tool-named-choice-shape")
"""Cases of a model that does not write what it was held to."""

ALSO = ("stop-buffer-vs-reasoning",)
"""Cases of other areas that want these servers."""

VOCABULARY = {
    "internlm": ["<|action_start|>", "<|plugin|>", "<|action_end|>"],
    "minimax_m2": ["<minimax:tool_call>", "</minimax:tool_call>"],
}
"""Tokens that a family's vocabulary has, and without which its parser is refused; their cases cut them."""

_OWN_NAMES = {"openai (harmony)": "openai", None: "none"}


def read_cases() -> list[Case]:
    """The cases that want a server of this module."""
    return [case for case in cases().values() if case.area in READ_AREAS or case.id in ALSO]


def outputs(case: Case) -> dict[str, list[list[str]]]:
    """What the model says to a case, by how it is cut: the pieces of each choice."""
    if "engine_script" in case.input:
        script = case.input["engine_script"]
        count = 1 + max(event["choice"] for event in script)
        return {"as_given": [choice["pieces"] for choice in choices_of(script)[:count]]}
    output = case.input["model_output"]
    cuts = chunkings(output["pieces"], specials(case))
    return {cut: [pieces] for cut, pieces in cuts.items()}


def specials(case: Case) -> list[str]:
    """The special tokens of a case's vocabulary."""
    found: list[str] = [SKIPPED] if "engine_script" in case.input else []
    found += case.input.get("model_output", {}).get("special_token_pieces", [])
    return found


def _plain(case: Case) -> set[str]:
    """Pieces that are no special tokens."""
    cuts = outputs(case).values()
    return {piece for choices in cuts for pieces in choices for piece in pieces} - set(specials(case))


@cache
def groups() -> dict[str, list[Case]]:
    """By name of a server the cases that it runs: they agree on parsers and on which tokens are special."""
    found: dict[str, list[Case]] = {}
    for case in read_cases():
        server = case.input["server"]
        parsers = [server.get(f"{kind}_parser") for kind in ("tool", "reasoning")]
        base = "+".join(_OWN_NAMES.get(name, name) for name in parsers)
        base += " unheld" if case.id in UNHELD else ""
        number, name = 1, base
        while not _agrees(case, found.get(name, [])):
            number += 1
            name = f"{base} {number}"
        found.setdefault(name, []).append(case)
    return found


def _agrees(case: Case, others: list[Case]) -> bool:
    mine, plain = set(specials(case)), _plain(case)
    return not any(mine & _plain(other) or plain & set(specials(other)) for other in others)


@contextmanager
def _reading(name: str, folder: Path) -> Iterator[Server]:
    answers: list[dict[str, Any]] = [{"pieces": ["a", "b", "c"]}]
    special: set[str] = set()
    for case in groups()[name]:
        special |= set(specials(case))
        for cut, choices in outputs(case).items():
            answers.append({"prompt": asks(case.id, cut), "choices": [{"pieces": pieces} for pieces in choices]})
    answers.append({"prompt": asks("vocabulary"), "pieces": VOCABULARY.get(name.partition("+")[0], [])})
    script, template = folder / "script.json", folder / "template.jinja"
    script.write_text(json.dumps({"answers": answers, "special_pieces": sorted(special)}))
    template.write_text(TEMPLATE)
    tool, reasoning = name.split()[0].split("+")
    flags = ["--model-runner", "script", "--script", str(script), "--chat-template", str(template)]
    flags += ["--tool-call-parser", tool, "--reasoning-parser", reasoning]
    if "unheld" in name:
        flags += ["--grammar-backend", "none"]
    with serving("demo", *flags) as server:
        yield server


def reading_servers() -> dict[str, Callable[[Path], Any]]:
    """The servers by name."""
    return {name: partial(_reading, name) for name in groups()}


def server_of(id_: str) -> str:
    """The name of the server that runs a case."""
    return next(name for name, members in groups().items() if any(case.id == id_ for case in members))
