"""`overt render`: the prompt that a model's chat template makes, and where every part of it came from. No weights."""

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overt.cli.show import show

if TYPE_CHECKING:
    from overt.models.prompting import PromptFiles

SAMPLE: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather in Paris?"},
    ]
}
"""Rendered where no conversation is given."""

_COLOURS = {
    "template": "2",
    "message": "36",
    "tool": "33",
    "document": "35",
    "kwarg": "32",
    "special_token": "31",
}
"""Of a terminal (ECMA-48), by where a part of the prompt came from."""

_SHOWN = 70
"""Characters of a span in the list."""


def render(argv: Sequence[str]) -> int:
    """Prints the prompt. Returns the exit code: 1 for a model or a conversation that cannot be rendered."""
    from overt.contract.errors import ApiError
    from overt.models import ModelError

    words = _parser().parse_args(argv)
    try:
        body = _conversation(words.messages)
        views = [view(name, body, words) for name in (words.model, words.diff) if name is not None]
    except (ModelError, ApiError, ValueError, OSError) as error:
        print(f"overt render: {error}", file=sys.stderr)
        return 1
    if words.json:
        told = views[0].told if words.diff is None else [one.told for one in views]
        show(json.dumps(told, indent=2, ensure_ascii=False))
    elif words.diff is None:
        show("\n".join(_page(views[0], colours=sys.stdout.isatty())))
    else:
        show("\n".join(_difference(*views)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overt render",
        description="Shows the prompt that a model's chat template makes of a conversation, and where every part of "
        "it came from. Loads no weights.",
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL", help="folder, .gguf file, Hub id, demo, or a .jinja file")
    parser.add_argument(
        "--messages", metavar="FILE", help="a list of messages or a whole chat request as JSON; - reads it from stdin"
    )
    parser.add_argument("--diff", metavar="MODEL", help="compare with the prompt of this model")
    parser.add_argument("--tokenizer", help="folder, file or Hub id with another tokenizer")
    parser.add_argument("--chat-template", help="a file, the name of one of the model's templates, or Jinja")
    parser.add_argument("--escape-special-tokens", action="store_true", help="as the server's flag of that name")
    parser.add_argument("--json", action="store_true", help="what the render route answers")
    return parser


def _conversation(place: str | None) -> dict[str, Any]:
    from overt import _core
    from overt.contract.limits import DEFAULTS

    if place is None:
        return dict(SAMPLE)
    text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
    depth, _ = _core.json_outline(text.encode())
    if depth > DEFAULTS.max_json_depth:
        raise ValueError(
            f"{place} is nested too deeply: {depth} arrays and objects within each other; "
            f"at most {DEFAULTS.max_json_depth} are read"
        )
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place} is no JSON: {error}") from None
    if isinstance(given, list):
        return {"messages": given}
    if isinstance(given, dict) and "messages" in given:
        return given
    raise ValueError(f"{place} must hold a list of messages, or a chat request with `messages`")


@dataclass(frozen=True, slots=True)
class View:
    """One model's prompt."""

    name: str
    told: dict[str, Any]
    """As the render route answers; without tokens where the model's tokenizer is not there."""
    effects: list[str]
    """What becomes of fields, a clause each."""


def view(model: str, body: dict[str, Any], words: argparse.Namespace) -> View:
    """The prompt of a model. Raises ModelError, ApiError, ValueError."""
    from overt import _core
    from overt.api.openai.render import prompts
    from overt.contract.asked import Asked
    from overt.contract.deployment import Deployment
    from overt.contract.profiles import OVERT
    from overt.contract.read import read
    from overt.models.prompting import prompt_files

    files = prompt_files(model, tokenizer=words.tokenizer, chat_template=words.chat_template)
    core = _core.Prompts(_meta(files), files.tokenizer_json or _byte_tokenizer(), _reading(words))
    default, with_tools = files.template_for(tools=False), files.template_for(tools=True)
    other = None if with_tools is default else with_tools
    deployment = Deployment(
        served=(files.name,),
        vocab_size=_ANY,
        chat_template=None if default is None else default.text,
        template_source="" if default is None else default.source,
        tool_template=None if other is None else other.text,
        tool_template_source="" if other is None else other.source,
        special_tokens=files.special_tokens,
        escapes=words.escape_special_tokens,
        # Nothing is generated: whether calls would be read does not matter.
        parser="any",
        model={} if files.max_model_len is None else {"max_model_len": files.max_model_len},
    )
    body = {name: value for name, value in body.items() if name != "model"}
    raw = json.dumps(body).encode()
    params, effects = read("chat", raw, deployment, Asked(OVERT, False, "render"))
    (told,), effects = prompts(core, "chat", raw, params, effects, deployment)
    if files.tokenizer_json is None:
        for name in _OF_TOKENS:
            del told[name]
    return View(model, told, [effect.clause() for effect in effects if effect.field != "model"])


_OF_TOKENS = ("token_ids", "token_offsets", "truncated_tokens", "usage", "max_tokens")
_ANY = 2**31 - 1
"""More than any vocabulary or context holds."""


def _meta(files: "PromptFiles") -> bytes:
    return json.dumps(
        {
            "model": {
                # What is not the model's tokenizer does not count its tokens.
                "max_model_len": (files.tokenizer_json and files.max_model_len) or _ANY,
                "vocab_size": _ANY,
                "prompt_format": files.prompt_format,
            },
            "chat_templates": [
                {"name": template.name, "text": template.text, "source": template.source}
                for template in files.chat_templates
            ],
            "special_tokens": files.special_tokens,
        }
    ).encode()


def _reading(words: argparse.Namespace) -> bytes:
    reading = {"tool_call_parser": "none", "escape_special_tokens": words.escape_special_tokens}
    return json.dumps(reading).encode()


def _byte_tokenizer() -> bytes:
    """One token a byte, for text whose tokenizer is not there: its tokens are not told."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in plain)
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(others)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    vocabulary = {letters[byte]: byte for byte in range(256)}
    return json.dumps(
        {
            "added_tokens": [],
            "pre_tokenizer": level,
            "decoder": level,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
        }
    ).encode()


def _page(view: View, *, colours: bool) -> Iterator[str]:
    told = view.told
    yield from _head(view)
    yield ""
    yield _coloured(told) if colours else told["prompt_text"]
    yield ""
    yield "FROM                      TEXT"
    for span in told["provenance"]["spans"]:
        text = json.dumps(told["prompt_text"][span["start"] : span["end"]], ensure_ascii=False)
        if len(text) > _SHOWN:
            text = f'{text[: _SHOWN - 2]}…"'
        yield f"{_named(span).ljust(24)}  {text}"


def _head(view: View) -> Iterator[str]:
    told = view.told
    template = told.get("template") or {}
    yield f"model      {view.name}"
    yield f"template   {template.get('source') or 'given'} ({template.get('name')})"
    if "variables" in template:
        yield f"           reads {', '.join(template['variables']) or 'nothing'}"
    if "token_ids" in told:
        yield f"tokens     {len(told['token_ids'])}"
    for change in told.get("normalisations") or ():
        yield f"changed    {change['path']}: {change['name']}"
    for effect in view.effects:
        yield f"told       {effect}"
    if not told["provenance"]["exact"]:
        yield "provenance in part by likeness (marked ~)"


def _named(span: dict[str, Any]) -> str:
    match span["origin"]:
        case "message":
            part = span.get("key") or span["part"]
            part += f" {span['tool_call']}" if "tool_call" in span else ""
            name = f"messages[{span['message']}] {part}"
        case "tool" | "document" as kind:
            name = f"{kind}s[{span[kind]}]"
        case "template":
            name = "template"
        case kind:
            name = f"{kind} {span.get('name', '')}"
    return f"{name} ~" if span["derived"] else name


def _coloured(told: dict[str, Any]) -> str:
    text: str = told["prompt_text"]
    parts = (
        f"\x1b[{_COLOURS.get(span['origin'], '0')}m{text[span['start'] : span['end']]}\x1b[0m"
        for span in told["provenance"]["spans"]
    )
    return "".join(parts)


def _difference(one: View, other: View) -> Iterator[str]:
    for view in (one, other):
        yield from _head(view)
        yield ""
    lines = list(
        difflib.unified_diff(
            _lines(one.told["prompt_text"]), _lines(other.told["prompt_text"]), one.name, other.name, lineterm="", n=2
        )
    )
    yield from lines or ["The prompts are the same."]


def _lines(text: str) -> list[str]:
    """With their ends visible: a space or a line feed more is another prompt."""
    lines = text.split("\n")
    return [f"{line}\\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
