"""Parsers by themselves, what is told of them, and how the server chooses them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calls.said import CALL, OTHER, F, G, calls
from serve.server import Server

# --- parsers by themselves, and what is told of them ---


def test_a_text_is_parsed_by_itself(server: Server) -> None:
    text = "<think>hm</think>Now. " + "".join(CALL)
    told = server.post("/v1/parse", {"text": text, "tools": [F]}).json()
    assert (told["reasoning_content"], told["content"]) == ("hm", "Now. ")
    assert calls(told) == [("f", {"a": 1})]
    kinds = [event["kind"] for event in told["events"]]
    assert kinds == ["reasoning", "content", "call_start", "call_arguments", "call_end"]
    assert (told["tool_call_parser"], told["reasoning_parser"]) == ("hermes", "qwen3")
    without = server.post("/v1/parse", {"text": text}).json()
    assert (without["tool_calls"], without["content"]) == ([], "Now. " + "".join(CALL))
    none = server.post("/v1/parse", {"text": text, "tools": [F], "tool_choice": "none"}).json()
    assert none["tool_calls"] == []
    plain = {"text": text, "tools": [F], "tool_call_parser": "none", "reasoning_parser": "none"}
    assert server.post("/v1/parse", plain).json()["content"] == text
    other = {"text": '{"name": "f", "parameters": {"a": 2}}', "tools": [F], "tool_call_parser": "llama3_json"}
    assert calls(server.post("/v1/parse", other).json()) == [("f", {"a": 2})]
    opened = {"text": "hm</think>yes", "prompt_tail": "assistant: <think>\n"}
    told = server.post("/v1/parse", opened).json()
    assert (told["reasoning_content"], told["content"]) == ("hm", "yes")


def test_a_text_is_parsed_in_sglangs_form(server: Server) -> None:
    body = {"text": "Now. " + "".join(OTHER), "tools": [F, G], "tool_call_parser": "hermes"}
    told = server.post("/parse_function_call", body).json()
    assert told == {"normal_text": "Now. ", "calls": [{"tool_index": 1, "name": "g", "parameters": "{}"}]}
    told = server.post("/separate_reasoning", {"text": "<think>hm</think>yes", "reasoning_parser": "qwen3"}).json()
    assert told == {"reasoning_text": "hm", "text": "yes"}


def test_parsing_is_refused_by_name(server: Server) -> None:
    for path, body, param in (
        ("/v1/parse", {}, "text"),
        ("/v1/parse", {"text": 3}, "text"),
        ("/v1/parse", {"text": "", "tool_call_parser": "wat"}, "tool_call_parser"),
        ("/v1/parse", {"text": "", "reasoning_parser": "wat"}, "reasoning_parser"),
        ("/v1/parse", {"text": "", "tool_call_parser": "hf"}, "tool_call_parser"),
        ("/v1/parse", {"text": "", "reasoning_parser": "response_template"}, "reasoning_parser"),
        ("/v1/parse", {"text": "", "tools": 3}, "tools"),
        ("/v1/parse", {"text": "", "tool_choice": "required"}, "tool_choice"),
        ("/parse_function_call", {"text": "", "tools": [F]}, "tool_call_parser"),
        ("/separate_reasoning", {"text": ""}, "reasoning_parser"),
    ):
        answer = server.post(path, body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), (path, body, answer.text)


def test_capabilities_tell_of_parsers_and_grammars(server: Server, unheld: Server, bare: Server) -> None:
    told = server.client.get("/v1/capabilities").json()
    parsers, grammar = told["parsers"], told["grammar"]
    assert (parsers["tool_calls"], parsers["reasoning"]) == ("hermes", "qwen3")
    assert "--tool-call-parser hermes" in parsers["tool_calls_reason"]
    assert "--reasoning-parser qwen3" in parsers["reasoning_reason"]
    for names in parsers["known"].values():
        assert sorted({*names}) == names
        assert len(names) > 40
    assert grammar["backend"] == "llguidance"
    assert grammar["whitespace"]["policy"] == "bounded"
    assert grammar["numbers"]["largest"] == 2**53 - 1
    assert all(limit > 0 for limit in grammar["limits"].values())
    fields = {entry["name"]: entry for entry in told["fields"] if "chat" in entry["routes"]}
    assert fields["response_format"]["effect"] == "honoured"
    told = unheld.client.get("/v1/capabilities").json()
    assert (told["grammar"]["backend"], told["grammar"]["reason"]) == (None, "--grammar-backend none")
    told = bare.client.get("/v1/capabilities").json()
    assert (told["parsers"]["tool_calls"], told["parsers"]["reasoning"]) == (None, None)


# --- at the start ---


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--tool-call-parser", "wat"), ("wat", "hermes")),
        (("--reasoning-parser", "wat"), ("wat", "qwen3")),
        (("--grammar-backend", "wat"), ("wat", "llguidance")),
        (("--tool-call-parser", "minimax_m2"), ("minimax_m2", "<minimax:tool_call>", "auto")),
        (("--tool-call-parser", "kimi_k2"), ("kimi_k2", "<|tool_call", "auto")),
        (("--tool-call-parser", "openai"), ("openai", "<|", "auto")),
    ],
)
def test_a_parser_that_is_unknown_or_not_the_models_is_refused(
    tmp_path: Path, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"answers": [{"pieces": ["a"]}]}))
    command = [sys.executable, "-m", "overt", "serve", "demo", "--model-runner", "script", "--script", str(script)]
    ended = subprocess.run([*command, "--port", "0", *flags], capture_output=True, text=True, timeout=120, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode not in (0, None), said
    assert all(word in said for word in words), said
    assert "Traceback" not in said
    assert "panicked" not in said
