"""A server whose model answers as a test says: by a word of the prompt, token by token."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from serve.server import Server, serving

CHAT = "/v1/chat/completions"

TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}[{{ call.id }} {{ call.function.name }}"
    " {{ call.function.arguments | tojson }}]{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {{ tail | default('') }}"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""`tail`: how the prompt of the answer ends."""


def word(name: str) -> str:
    """What a prompt holds to be given the answer of this name."""
    return f"<|answer {name}|>"


def ask(name: str, **fields: Any) -> dict[str, Any]:
    """A chat that is given the answer of this name."""
    return {"messages": [{"role": "user", "content": f"Do it. {word(name)}"}]} | fields


def tool(name: str, parameters: Any = None, **members: Any) -> dict[str, Any]:
    """A function."""
    return {"type": "function", "function": {"name": name, "parameters": parameters or {"type": "object"}} | members}


@contextmanager
def scripted(
    folder: Path,
    answers: Mapping[str, Sequence[str]],
    *flags: str,
    special: Sequence[str] = (),
    template: str = TEMPLATE,
    env: dict[str, str] | None = None,
) -> Iterator[Server]:
    """`answers`: by name the tokens of an answer; `special`: which of them are special tokens."""
    script, file = folder / "script.json", folder / "template.jinja"
    told: list[dict[str, Any]] = [{"prompt": word(name), "pieces": list(pieces)} for name, pieces in answers.items()]
    told.append({"pieces": ["so", " be", " it"]})
    script.write_text(json.dumps({"answers": told, "special_pieces": list(special)}))
    file.write_text(template)
    model = ("--model-runner", "script", "--script", str(script), "--chat-template", str(file))
    with serving("demo", *model, *flags, env=env) as server:
        yield server
