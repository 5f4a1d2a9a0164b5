"""What a prompt costs before the model sees it: rendering, tokenising, checking.

    python bench/prompt.py [--templates FOLDER] [--rounds 5]

First, 20 messages with three tools through real chat templates, beside jinja2 as transformers sets it up, interleaved.
Then the turns of a conversation of about 1000 tokens with the demo model's tokenizer and template: its first request,
the same again with one more turn, and one that shares nothing. Times are of CPU, medians of the rounds.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import _compile_jinja_template

from overt import _core
from overt.cli.capabilities import brought_up
from overt.cli.config import ServeConfig
from overt.contract.asked import Asked
from overt.contract.read import read

TEMPLATES = {
    "Qwen3": "lcpp-Qwen-Qwen3-0.6B.jinja",
    "Llama 3.1": "lcpp-meta-llama-Llama-3.1-8B-Instruct.jinja",
    "gpt-oss": "lcpp-openai-gpt-oss-120b.jinja",
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Finds the {name} of a place. Use it when the user asks for it.",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "A town or a region."},
                    "days": {"type": "integer", "description": "Days from today.", "default": 1},
                },
                "required": ["place"],
            },
        },
    }
    for name in ("weather", "population", "history")
]
WORDS = "The lighthouse keeper climbed the narrow stairs, counted the steps, and lit the lamp before the storm came. "


def conversation(messages: int, words: int = 2) -> list[dict[str, Any]]:
    """User and assistant by turns, the last one the user's."""
    roles = ("user", "assistant")
    return [{"role": roles[index % 2], "content": f"{index}. {WORDS * words}"} for index in range(messages | 1)]


def with_calls(messages: int) -> list[dict[str, Any]]:
    """The same, with a call and its result in the place of one answer."""
    turns = conversation(messages - 2)
    call = {"name": "weather", "arguments": {"place": "Zürich", "days": 2}}
    return [
        *turns[:7],
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]},
        {"role": "tool", "content": '{"sky": "clear", "degrees": 21.5}'},
        {"role": "assistant", "content": "It will be clear."},
        *turns[8:],
    ]


def cpu(work: Callable[[], object], times: int) -> float:
    """Microseconds of CPU that one call takes."""
    start = time.process_time_ns()
    for _ in range(times):
        work()
    return (time.process_time_ns() - start) / times / 1000


def rendering(folder: Path, rounds: int) -> list[list[str]]:
    """Rows of the first table."""
    rows = []
    messages = with_calls(20)
    for name, file in TEMPLATES.items():
        source = (folder / file).read_text(encoding="utf-8")
        request = {"messages": messages, "tools": TOOLS, "add_generation_prompt": True}
        body = json.dumps(request | {"special_tokens": {"bos_token": "<s>", "eos_token": "</s>"}}).encode()
        ours, theirs = _core.Template(source), _compile_jinja_template(source)

        mine_once = partial(ours.render, body)
        other_once = partial(theirs.render, **request, documents=None, bos_token="<s>", eos_token="</s>")
        assert mine_once() == other_once(), name
        times = [(cpu(mine_once, 200), cpu(other_once, 20)) for _ in range(rounds)]
        mine, other = (statistics.median(column) for column in zip(*times, strict=True))
        rows.append([name, str(len(messages)), f"{mine:.0f}", f"{other:.0f}", f"{other / mine:.1f}"])
    return rows


def turns(rounds: int) -> list[list[str]]:
    """Rows of the second table."""
    columns: dict[str, list[tuple[float, float, int]]] = {}
    with brought_up(ServeConfig(model="demo")) as state:
        deployment, front = state.deployment, state.front
        profile = deployment.profile

        def ask(messages: list[dict[str, Any]]) -> tuple[float, float, int]:
            raw = json.dumps({"messages": messages, "max_tokens": 64}, ensure_ascii=False).encode()
            start = time.process_time_ns()
            params, _ = read("chat", raw, deployment, Asked(profile, False, "bench"))
            checked = time.process_time_ns()
            ids = front.tokenize("chat", raw, params)
            return (checked - start) / 1000, (time.process_time_ns() - checked) / 1000, len(ids)

        for number in range(rounds):
            # Other words each round: nothing of it is known yet.
            told = conversation(21)
            for message in told:
                message["content"] = f"{message['content']}{number} "
            more = [
                *told,
                {"role": "assistant", "content": f"She waited until the last ship was safe. {number}"},
                {"role": "user", "content": f"And then? Tell me the end of it. {number}"},
            ]
            for what, messages in (("first turn", told), ("second turn", more), ("the same again", more)):
                columns.setdefault(what, []).append(ask(messages))
    rows = []
    for what, measured in columns.items():
        checking, making, tokens = (statistics.median(column) for column in zip(*measured, strict=True))
        rows.append([what, f"{tokens:.0f}", f"{checking:.0f}", f"{making:.0f}", f"{checking + making:.0f}"])
    return rows


def table(head: list[str], rows: list[list[str]]) -> None:
    """Prints Markdown."""
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(row)} |")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--templates", type=Path, default=Path(__file__).parents[2] / "shared" / "corpus" / "templates")
    parser.add_argument("--rounds", type=int, default=5)
    words = parser.parse_args()
    if words.templates.is_dir():
        head = ["template", "messages", "overt us", "jinja2 us", "jinja2 / overt"]
        table(head, rendering(words.templates, words.rounds))
        print()
    else:
        print(f"There are no templates at {words.templates}: rendering is not measured.\n")
    table(["request", "tokens", "check us", "render and tokenise us", "all us"], turns(words.rounds))


if __name__ == "__main__":
    main()
