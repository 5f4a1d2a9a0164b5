"""Which variables a chat template reads, seen from its text alone."""

import re

_CODE = re.compile(r"\{\{-?(.*?)-?\}\}|\{%-?(.*?)-?%\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NAME = re.compile(r"(?<![\w.|])(?<!\|\s)([A-Za-z_]\w*)(?!\w)(\s*=(?!=))?")
_ASSIGNED = (
    re.compile(r"^\s*set\s+([\w\s,.]+?)(?:=|$)"),
    re.compile(r"^\s*for\s+([\w\s,]+?)\s+in\b"),
    re.compile(r"^\s*macro\s+\w+\s*\((.*)\)", re.DOTALL),
    re.compile(r"^\s*(?:macro|import|from)\s+(\w+)"),
)
_GIVEN = frozenset({"messages", "tools", "documents"})
"""Names that templates both take from outside and assign."""
_SET = re.compile(r"^\s*set\b")
_TARGET = re.compile(r"^\s*set\s+[\w\s,.]+?(=|$)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_LANGUAGE = (
    "and or not in is if elif else endif for endfor set endset macro endmacro call endcall filter endfilter "
    "generation endgeneration break continue import from as recursive with without context true false none True "
    "False None defined undefined string number mapping iterable sequence boolean integer float divisibleby even odd "
    "equalto eq ne lt gt le ge lower upper callable sameas loop namespace range dict lipsum cycler joiner "
    "raise_exception strftime_now tojson length self caller do block endblock"
)
"""Its words, tests and filters, and what every template finds there."""


def read_variables(template: str) -> tuple[str, ...]:
    """The names that a template takes from outside, sorted: `messages`, `tools`, `enable_thinking`, …"""
    used: set[str] = set()
    assigned = set(_LANGUAGE.split())
    for output, statement in _CODE.findall(_COMMENT.sub("", template)):
        code = _TEXT.sub("''", output or statement)
        targets: set[str] = set()
        for pattern in _ASSIGNED if statement else ():
            found = pattern.match(code)
            if found:
                targets.update(_IDENTIFIER.findall(found[1].partition(".")[0]))
        if statement:
            code = _TARGET.sub("", code)
        # A name may be read before it is assigned: `set messages = messages[1:]`. Names before `=` are arguments'.
        read = {name for name, equals in _NAME.findall(code) if not equals}
        used |= read - (assigned - _GIVEN) - (set() if _SET.match(statement) else targets)
        assigned |= targets
    return tuple(sorted(used))
