"""Formats that the server finds by itself: from the chat template and the vocabulary, with its reasons, and from
packages."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calls.said import ANSWERS, CALL, F, calls, refused, told, whole
from serve.scripted import TEMPLATE, ask, scripted
from serve.server import Server

# What a template of Qwen 3 tells its model.
WITH_CALLS = (
    '{# Calls: <tool_call>{"name": ..., "arguments": ...}</tool_call> #}{% set think = \'<think></think>\' %}'
    + TEMPLATE
)
WITHOUT_TOOLS = "{% for message in messages %}{{ message.content }}\n{% endfor %}assistant: "


def _parsers(server: Server) -> dict[str, Any]:
    told: dict[str, Any] = server.client.get("/v1/capabilities").json()["parsers"]
    return told


def test_signs_in_the_template_choose_the_formats(tmp_path: Path) -> None:
    with scripted(tmp_path, ANSWERS, template=WITH_CALLS) as server:
        parsers = _parsers(server)
        assert (parsers["tool_calls"], parsers["reasoning"]) == ("hermes", "qwen3")
        assert re.search("chat template holds .*<tool_call>", parsers["tool_calls_reason"])
        assert "<think>" in parsers["reasoning_reason"]
        message, finish, _ = whole(server, ask("thought and call", tools=[F]))
        assert (calls(message), message["reasoning"], finish) == ([("f", {"a": 1})], "hm", "tool_calls")
        # What was found is said at the start, too.
        assert "hermes" in server.log
        assert "<tool_call>" in server.log


def test_without_signs_output_stays_text_and_tools_are_inert(tmp_path: Path) -> None:
    with scripted(tmp_path, ANSWERS, template=WITHOUT_TOOLS) as server:
        parsers = _parsers(server)
        assert (parsers["tool_calls"], parsers["reasoning"]) == (None, None)
        assert parsers["tool_calls_reason"]
        assert '"tools";e=inert' in told(server, ask("call", tools=[F]))
        message, finish, _ = whole(server, ask("call", tools=[F]))
        assert (message["content"], finish) == ("".join(CALL), "stop")
        named = {"type": "function", "function": {"name": "f"}}
        for choice in ("required", named):
            refused(server, ask("call", tools=[F], tool_choice=choice), "tool_choice")


def test_a_parser_that_the_operator_names_needs_no_template(tmp_path: Path) -> None:
    with scripted(tmp_path, ANSWERS, "--tool-call-parser", "hermes", template=WITHOUT_TOOLS) as server:
        assert "--tool-call-parser hermes" in _parsers(server)["tool_calls_reason"]
        for choice in ("auto", "required"):
            message, finish, _ = whole(server, ask("call", tools=[F], tool_choice=choice))
            assert (calls(message), finish) == ([("f", {"a": 1})], "tool_calls")


# --- packages ---

MINE = {
    "name": "mine",
    "tool_names": ["mine"],
    "calls": {
        "json": {
            "open": ["<<"],
            "close": [">>"],
            "spellings": [{"before": '<<{"name": "', "middle": '", "arguments": ', "after": "}>>", "quoted": True}],
        }
    },
}


def _package(folder: Path, source: str) -> dict[str, str]:
    """Installs a package whose entry point is `mine:FORMAT`. Returns the environment in which it is found."""
    (folder / "mine.py").write_text(source)
    told = folder / "mine-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[overt.parsers]\nmine = mine:FORMAT\n")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path}


@pytest.mark.parametrize("given", ["FORMAT = {}", "def FORMAT(): return {}", "import json\nFORMAT = json.dumps({})"])
def test_a_package_brings_a_format(tmp_path: Path, given: str) -> None:
    environment = _package(tmp_path, given.replace("{}", repr(MINE)))
    call = ["<<{", '"name": "f", "arguments": ', '{"a": 1}', "}>>"]
    answers = {"mine": call, "said": ["Now. ", *call]}
    with scripted(tmp_path, answers, "--tool-call-parser", "mine", env=environment) as server:
        assert "mine" in _parsers(server)["known"]["tool_calls"]
        for choice, answer in (("auto", "said"), ("required", "mine")):
            message, finish, _ = whole(server, ask(answer, tools=[F], tool_choice=choice))
            assert (calls(message), finish) == ([("f", {"a": 1})], "tool_calls")
            assert message["content"] == ("Now. " if answer == "said" else None)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("FORMAT = 3", "int"),
        ("FORMAT = {'name': 'mine', 'colour': 'red'}", "colour"),
        ("FORMAT = '{'", "EOF"),
        ("def FORMAT(): raise RuntimeError('no, sorry')", "no, sorry"),
    ],
)
def test_a_package_whose_format_cannot_be_used_is_named(tmp_path: Path, given: str, fault: str) -> None:
    environment = os.environ | _package(tmp_path, given)
    command = [sys.executable, "-m", "overt", "serve", "demo", "--model-runner", "sim", "--port", "0"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0, said
    assert "overt.parsers" in said, said
    assert "'mine'" in said, said
    assert fault in said, said
    assert "Traceback" not in said, said
