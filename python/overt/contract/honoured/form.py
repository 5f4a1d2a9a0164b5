"""The form of the answer: what it is held to, its calls, its reasoning."""

from typing import Any

from overt import parsers
from overt.contract import standings
from overt.contract.field import CHAT, COMPLETIONS, GENERATE, INT32, Field, Kind, Origin, Route


def _constraint(
    name: str,
    kind: Kind,
    meaning: str,
    *noop: Any,
    origin: Origin = "vllm",
    routes: tuple[Route, ...] = GENERATE,
    form: str = "",
    alias: str = "",
) -> Field:
    return Field(
        name,
        routes,
        kind,
        meaning,
        origin=origin,
        form=form or ("an object or its JSON as text" if kind == "any" else ""),
        alias=alias,
        condition="one constraint a request; its grammar is compiled before the answer begins, and refused by name "
        "where a part of it could not be held to",
        noop=noop,
        rest=standings.constraint,
    )


_PARSE: tuple[Route, ...] = ("parse",)
_FORMAT = "The answer is JSON (`json_object`), JSON of a schema (`json_schema`) or text with tags (`structural_tag`)."
_TEXT = {"type": "text"}
_NAME = '"auto", "none" or a name that /v1/capabilities lists in `parsers.known.{}`'

FORM = (
    # --- what the answer is held to ---
    _constraint("response_format", "object", _FORMAT, _TEXT, origin="openai", routes=CHAT),
    _constraint("response_format", "object", _FORMAT, _TEXT, routes=COMPLETIONS),
    _constraint(
        "structured_outputs",
        "object",
        "The answer is held to one of `json`, `json_object`, `regex`, `choice`, `grammar` and `structural_tag`.",
        {},
    ),
    _constraint("guided_json", "any", "Older spelling of `structured_outputs.json`.", "", {}),
    _constraint("guided_json_object", "boolean", "Older spelling of `structured_outputs.json_object`.", False),
    _constraint("guided_regex", "string", "Older spelling of `structured_outputs.regex`.", ""),
    _constraint("guided_choice", "texts", "Older spelling of `structured_outputs.choice`.", []),
    _constraint("guided_grammar", "string", "Older spelling of `structured_outputs.grammar`.", ""),
    _constraint("structural_tag", "any", "Text with tags whose insides are held to schemas.", "", origin="sglang"),
    _constraint("json_schema", "any", "The answer is JSON of this schema, an object or its text.", "", origin="sglang"),
    _constraint("regex", "string", "The answer matches this regular expression as a whole.", "", origin="sglang"),
    _constraint("ebnf", "string", "The answer is of this grammar, whose first rule is `root`.", "", origin="sglang"),
    Field(
        "guided_whitespace_pattern",
        GENERATE,
        "string",
        "White space between the parts of constrained JSON, as a regular expression; an empty one: none.",
        origin="vllm",
        condition="with a constraint",
        rest=standings.constraint,
    ),
    Field(
        "guided_decoding_backend",
        GENERATE,
        "string",
        "Which engine compiles grammars.",
        origin="vllm",
        effect="inert",
        reason="there is one engine for grammars",
        advice="leave it out",
        noop=("", "auto"),
    ),
    # --- calls ---
    Field(
        "parallel_tool_calls",
        CHAT,
        "boolean",
        "An answer may have several calls; false: it ends with its first.",
        default=True,
        noop=(True,),
        rest=standings.calls,
    ),
    Field(
        "functions",
        CHAT,
        "objects",
        "Older spelling of `tools`: the answer's call stands in `function_call`.",
        alias="tools",
        noop=([],),
        rest=standings.tools,
    ),
    Field(
        "function_call",
        CHAT,
        "any",
        "Older spelling of `tool_choice`.",
        form='"none", "auto" or an object with the `name` of a function',
        alias="tool_choice",
        default="auto",
        condition="with `functions`",
        noop=("auto",),
    ),
    # --- reasoning ---
    Field(
        "include_reasoning",
        CHAT,
        "boolean",
        "Reasoning stands in the answer; false: it is left out.",
        origin="vllm",
        default=True,
        noop=(True,),
        rest=standings.reasoning,
    ),
    Field(
        "separate_reasoning",
        CHAT,
        "boolean",
        "Reasoning stands in a field of its own; false: in the content, between its markers.",
        origin="sglang",
        default=True,
        noop=(True,),
        rest=standings.reasoning,
    ),
    Field(
        "stream_reasoning",
        CHAT,
        "boolean",
        "Reasoning comes as it is made; false: in one piece.",
        origin="sglang",
        default=True,
        condition="on streams",
        noop=(True,),
        rest=standings.reasoning,
    ),
    Field(
        "thinking_token_budget",
        GENERATE,
        "integer",
        "Most tokens of reasoning; then it is closed in the model's own format. -1: no bound.",
        origin="vllm",
        low=-1,
        high=INT32 - 1,
        noop=(-1,),
        rest=standings.thinking_budget,
    ),
    Field(
        "enable_thinking",
        CHAT,
        "boolean",
        "Whether the model thinks, for templates that read a variable for it.",
        origin="sglang",
        source="template",
        rest=standings.enable_thinking,
    ),
    # --- parsers by themselves ---
    Field("text", _PARSE, "string", "What a model said: its special tokens are found in it.", "overt", required=True),
    Field(
        "tool_call_parser",
        _PARSE,
        "string",
        "The format of tool calls, by a name that --tool-call-parser takes; absent: the server's.",
        origin="sglang",
        choices=("auto", "none", *parsers.names().tool),
        form=_NAME.format("tool_calls"),
        source="flag",
    ),
    Field(
        "reasoning_parser",
        _PARSE,
        "string",
        "The format of reasoning, by a name that --reasoning-parser takes; absent: the server's.",
        origin="sglang",
        choices=("auto", "none", *parsers.names().reasoning),
        form=_NAME.format("reasoning"),
        source="flag",
    ),
    Field(
        "tools",
        _PARSE,
        "objects",
        "Functions that may be called: without any, nothing is read as a call.",
        origin="sglang",
        noop=([],),
    ),
    Field("tool_choice", _PARSE, "tool_choice", "As a chat's.", origin="overt", default="auto"),
    Field(
        "prompt_tail",
        _PARSE,
        "string",
        "The end of the prompt that the text follows, which tells whether thinking is open.",
        origin="overt",
    ),
)
