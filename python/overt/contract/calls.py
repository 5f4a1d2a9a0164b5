"""What a chat asks of tool calls: tools, the choice among them, the older `functions`."""

from collections.abc import Mapping
from typing import Any

from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, wrong_value
from overt.contract.fields import by_name

_KINDS = ("function", "custom")


def check_choice(body: Mapping[str, Any]) -> None:
    """Refuses choices of tools that are none, or that cannot be kept."""
    choice = body["tool_choice"]
    if choice not in (None, "none", "auto"):
        _check("tool_choice", choice, body["tools"] or [])
    older = body.get("function_call")
    if older is not None and choice is not None:
        raise ApiError(
            400, "`function_call` is the older spelling of `tool_choice`: send one of them.", param="function_call"
        )
    if older not in (None, "none", "auto"):
        name = older.get("name") if isinstance(older, dict) else None
        if not isinstance(name, str):
            raise wrong_value("function_call", by_name("chat")["function_call"].wanted(), older)
        functions = [{"type": "function", "function": function} for function in body["functions"] or []]
        _check("function_call", {"type": "function", "function": {"name": name}}, functions)


def forces(body: Mapping[str, Any]) -> bool:
    """Whether the answer must be a call."""
    choice = body["tool_choice"]
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        return _allowed(choice).get("mode") == "required"
    return choice == "required" or isinstance(choice, dict) or isinstance(body.get("function_call"), dict)


def allowed(choice: Any, tools: list[dict[str, Any]]) -> tuple[Any, list[dict[str, Any]]]:
    """A checked choice without lists of its own, and the tools that it leaves."""
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return choice, tools
    inner = _allowed(choice)
    names = {_name(tool) for tool in inner["tools"]}
    return inner.get("mode", "auto"), [tool for tool in tools if _name(tool) in names]


def check_strict_tools(body: Mapping[str, Any], deployment: Deployment, effects: list[Effect]) -> None:
    """Tells of schemas, patterns and lists of tools that are not enforced."""
    if deployment.parser is not None and deployment.constrains:
        return
    why = "no parser reads this model's calls" if deployment.parser is None else "outputs are not constrained"

    def inert(name: str, requested: Any, what: str, counted: str) -> None:
        reason = f"{why}, so calls are not held to {what}"
        effects.append(Effect(name, "inert", requested=requested, reason=reason, counted=counted))

    for index, tool in enumerate(body["tools"] or []):
        function, custom = tool.get("function"), tool.get("custom")
        if isinstance(function, dict) and function.get("strict"):
            inert(f"tools[{index}].function.strict", True, "the schema", "tools[].function.strict")
        form = custom.get("format") if isinstance(custom, dict) else None
        if isinstance(form, dict) and form.get("type") == "grammar":
            inert(f"tools[{index}].custom.format", form, "the grammar", "tools[].custom.format")
    for index, function in enumerate(body["functions"] or []):
        if isinstance(function, dict) and function.get("strict"):
            inert(f"functions[{index}].strict", True, "the schema", "functions[].strict")
    choice = body["tool_choice"]
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools" and not forces(body):
        inert("tool_choice", choice, "the list of tools", "tool_choice")


def _check(field: str, choice: Any, tools: list[Any]) -> None:
    if choice == "required":
        return _need(field, "required", tools)
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "allowed_tools":
        allowed = _allowed(choice)
        wanted, mode = allowed.get("tools"), allowed.get("mode", "auto")
        if mode not in ("auto", "required") or not isinstance(wanted, list) or not wanted:
            raise ApiError(
                400,
                f'`{field}` of type "allowed_tools" must have a `mode` of "auto" or "required" and a list of `tools`.',
                param=f"{field}.allowed_tools",
            )
        _need(field, "of allowed tools", tools)
        for tool in wanted:
            _need_tool(field, tool, tools)
        return None
    if kind not in _KINDS:
        raise wrong_value(field, by_name("chat")["tool_choice"].wanted(), choice)
    _need(field, "of one tool", tools)
    return _need_tool(field, choice, tools)


def _allowed(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = choice.get("allowed_tools")
    return inner if isinstance(inner, dict) else choice


def _need(field: str, what: str, tools: list[Any]) -> None:
    if not tools:
        raise ApiError(400, f"`{field}` {what} needs `{_list_of(field)}`.", param=field)


def _list_of(field: str) -> str:
    return "tools" if field == "tool_choice" else "functions"


def _need_tool(field: str, wanted: Any, tools: list[Any]) -> None:
    name = _name(wanted)
    if name is None or all(_name(tool) != name for tool in tools):
        raise ApiError(400, f"`{field}` names a tool that is not in `{_list_of(field)}`.", param=field)


def _name(tool: Any) -> str | None:
    """The name of a tool, or of a choice of one."""
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type") or "function"
    # A name beside the type is another protocol's form, which the core does not read here.
    inner = tool.get(kind) if isinstance(kind, str) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else None
