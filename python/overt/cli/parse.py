"""`overt parse`: what a parser makes of a model's output. No model, no server."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overt.cli.show import show


def parse(argv: Sequence[str]) -> int:
    """Prints what was said, an event a line. Returns the exit code: 1 for what cannot be read."""
    from overt.plugins import PluginError

    words = _parser().parse_args(argv)
    try:
        from overt import parsers
    except PluginError as error:
        print(f"overt parse: {error}", file=sys.stderr)
        return 1
    if words.names:
        names = parsers.names()
        show("\n".join(["tool calls: " + ", ".join(names.tool), "reasoning:  " + ", ".join(names.reasoning)]))
        return 0
    try:
        reader = parsers.Parser(
            words.tool_call_parser,
            words.reasoning_parser,
            tools=_tools(words.tools),
            prompt_tail=words.prompt_tail,
        )
        text = _text(words.file)
    except (OSError, ValueError) as error:
        print(f"overt parse: {error}", file=sys.stderr)
        return 1
    events = reader.push(text) + reader.finish()
    show("\n".join(json.dumps(_told(event), ensure_ascii=False) for event in events))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overt parse",
        description="Reads a model's output as the server would, and prints reasoning, text and tool calls, an event a "
        "line. Special tokens are read by their spelling.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="the output; - reads it from stdin")
    parser.add_argument("--tool-call-parser", metavar="NAME", help="how tool calls are written")
    parser.add_argument("--reasoning-parser", metavar="NAME", help="how reasoning is set apart")
    parser.add_argument(
        "--tools", metavar="FILE", help="the request's tools, as JSON; without them nothing is read as a call"
    )
    parser.add_argument(
        "--prompt-tail", metavar="TEXT", default="", help="the end of the prompt, which tells if thinking is open"
    )
    parser.add_argument("--names", action="store_true", help="list the names of all parsers")
    return parser


def _text(place: str) -> str:
    return sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")


def _tools(place: str | None) -> list[dict[str, Any]]:
    if place is None:
        return []
    told = json.loads(Path(place).read_text(encoding="utf-8"))
    tools = told.get("tools") if isinstance(told, dict) else told
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise ValueError(f"{place} holds no list of tools, nor a request with one")
    return tools


def _told(event: Any) -> dict[str, Any]:
    members = {"index": event.index, "id": event.id, "name": event.name, "text": event.text or None}
    return {"kind": event.kind} | {name: value for name, value in members.items() if value is not None}
