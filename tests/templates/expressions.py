"""Random expressions: each of a type that it most likely has, so that most of them render."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

Item = TypeVar("Item")

CONTEXT: dict[str, Any] = {
    "s": "Hello World",
    "t": "  a, b\nc\td é ",
    "p": "x=1;y=2",
    "empty": "",
    "n": 7,
    "neg": -3,
    "zero": 0,
    "f": 2.5,
    "tiny": 1e-07,
    "huge": 1e20,
    "yes": True,
    "no": False,
    "nil": None,
    "l": [3, 1, 2],
    "words": ["b", "A", "c d", ""],
    "mixed": [1, "1", True, None, 1.0],
    "nested": [[1, 2], [3], []],
    "d": {"b": 1, "a": "two", "c": [1, 2]},
    "items": {"items": "own", "keys": 1, "get": None, "1": "one"},
    "blank": {},
    "rows": [{"name": "x", "n": 2, "k": {"z": 1}}, {"name": "Y", "n": 1}, {"name": "x", "n": 3}],
}

TEXTS = ["s", "t", "p", "empty", "d.a", "words[0]", "rows[0].name", "messages[0].content"]
NUMBERS = ["n", "neg", "zero", "f", "tiny", "huge", "yes", "no", "l[0]", "rows[1].n", "d.b"]
LISTS = ["l", "words", "mixed", "nested", "rows", "d.c", "messages"]
MAPPINGS = ["d", "items", "blank", "rows[0]", "messages[0]"]
LOOSE = ["nil", "missing", "d.missing", "nil.x", "rows[9]", "s.nope", "n.real", "missing.x"]
METHODS = ["d.items", "items.items", "items.get", "s.upper", "l.index", "l.append", "rows[0]['keys']", "range", "m1"]
PARTS = ["'a'", "'b'", "''", "' '", "','", "'x'", "'o'", "'Hello'", '"it\'s"', "'\\n'", "'é'", "'<&>'", "'%s'", "'{}'"]
DUMPS = ["", "(indent=2)", "(ensure_ascii=true)", "(sort_keys=true)"]
KEYS = ["'a'", "'b'", "'name'", "'n'", "'missing'", "0", "1", "-1", "true", "1.0", "'1'", "none"]


class Expressions:
    """Draws expressions from a source of chance."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.names: list[str] = []
        self.macros: list[str] = []
        self.loops = 0

    def pick(self, options: Sequence[Item]) -> Item:
        return options[self.chance.randrange(len(options))]

    def call(self, options: Sequence[Callable[[], str]]) -> str:
        return self.pick(options)()

    def maybe(self, part: str, one_in: int = 2) -> str:
        return part if self.chance.randrange(one_in) == 0 else ""

    # Expressions, by what they most likely are.

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(TEXTS + PARTS)
        if self.chance.randrange(16) == 0:
            return self.anything(depth - 1)
        d = depth - 1
        return self.call(
            [
                lambda: self.pick(TEXTS + PARTS),
                lambda: f"({self.text(d)} + {self.text(d)})",
                lambda: f"({self.text(d)} ~ {self.anything(d)}{self.maybe(' ~ ' + self.text(0))})",
                lambda: f"({self.text(d)} * {self.pick(['0', '2', '-1', 'true', self.number(0)])})",
                lambda: f"({self.format_text()} % {self.pick([self.anything(d), '(1, s)', '[1]', 'd', '(n,)'])})",
                lambda: f"{self.pick(TEXTS)}{self.slice(d)}",
                lambda: f"{self.base(d)}.{self.text_method(d)}",
                lambda: f"{self.base(d)}|{self.text_filter(d)}",
                lambda: f"({self.text(d)} if {self.boolean(d)} else {self.text(d)})",
                lambda: f"{self.listing(d)}|join({self.pick(['', ', '.join([self.text(0)])])})",
                lambda: f"{self.anything(d)}|string",
                lambda: f"{self.anything(d)}|tojson{self.pick(DUMPS)}",
            ]
        )

    def base(self, depth: int) -> str:
        return f"({self.text(depth)})" if depth > 0 else self.pick(TEXTS)

    def format_text(self) -> str:
        kinds = ["%s", "%d", "%5.2f", "%-6s|", "%06d", "%x", "%g", "%e", "%r", "%%", "%(a)s", "%+d", "%.3s", "%c"]
        return (
            "'"
            + "".join(self.pick(["", " ", "a"]) + self.pick(kinds) for _ in range(1 + self.chance.randrange(2)))
            + "'"
        )

    def text_method(self, depth: int) -> str:
        a, b, i = self.text(0), self.text(0), self.pick(["0", "1", "3", "-1", "8", "none"])
        return self.pick(
            [
                "upper()",
                "lower()",
                "title()",
                "capitalize()",
                "swapcase()",
                "casefold()",
                f"strip({self.maybe(a)})",
                f"lstrip({self.maybe(a)})",
                f"rstrip({self.maybe(a)})",
                f"replace({a}, {b}{self.maybe(', 1')})",
                f"center({i}{self.maybe(', ' + a, 4)})",
                f"ljust({i})",
                f"rjust({i}, '*')",
                f"zfill({i})",
                f"removeprefix({a})",
                f"removesuffix({a})",
                f"join({self.listing(depth)})",
                f"split({self.maybe(a)})[0]",
                f"rsplit({a}, 1)[-1]",
                f"partition({a})[2]",
                f"rpartition({a})[0]",
                "expandtabs(4)",
                f"format({self.anything(depth)}, a={b})",
                "nope()",
                "translate({97: 'b'})",
            ]
        )

    def text_filter(self, depth: int) -> str:
        a, b, i = self.text(0), self.text(0), self.pick(["0", "1", "3", "5", "20"])
        return self.pick(
            [
                "upper",
                "lower",
                "title",
                "capitalize",
                "trim",
                f"trim({a})",
                f"replace({a}, {b})",
                f"replace({a}, {b}, {i})",
                f"default({a})",
                f"d({a}, true)",
                "string",
                "indent",
                f"indent({i}, first=true, blank={self.pick(['true', 'false'])})",
                "safe",
                "escape",
                "e",
                "forceescape",
                f"center({i})",
                f"truncate({i}, {self.pick(['true', 'false'])}, '..', 0)",
                f"wordwrap({self.pick(['3', '5', '10'])})",
                "urlencode",
                "striptags",
                f"format({self.anything(depth)})",
                "reverse",
                "first",
                "last",
                "nope" if self.chance.randrange(20) == 0 else "trim",
            ]
        )

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.pick([*NUMBERS, "1", "2", "-5", "0", "1.5", "10", "3"])
        if self.chance.randrange(16) == 0:
            return self.anything(depth - 1)
        d = depth - 1
        return self.call(
            [
                lambda: self.pick(NUMBERS),
                lambda: f"({self.number(d)} {self.pick(['+', '-', '*', '/', '//', '%'])} {self.number(d)})",
                lambda: f"({self.number(d)} ** {self.pick(['2', '0', '-1', '3'])})",
                lambda: f"(({self.number(d)})|abs ** {self.pick(['0.5', self.number(0)])})",
                lambda: f"({self.pick(['-', '+'])}{self.number(d)})",
                lambda: f"{self.anything(d)}|length",
                lambda: f"({self.number(d)})|{self.pick(['abs', 'int', 'float', 'round', 'round(1)', 'round(-1)'])}",
                lambda: f"({self.number(d)})|round(1, '{self.pick(['ceil', 'floor', 'common'])}')",
                lambda: f"{self.text(d)}|{self.pick(['int', 'float', 'int(5)', 'int(0, 16)', 'wordcount', 'length'])}",
                lambda: f"{self.listing(d)}|{self.pick(['sum', 'min', 'max', 'first', 'last', 'length', 'count'])}",
                lambda: f"rows|{self.pick(['sum', 'min', 'max'])}(attribute='n')",
                lambda: f"{self.base(d)}.{self.pick(['count', 'find', 'rfind', 'index'])}({self.text(0)})",
                lambda: f"{self.pick(LISTS)}.{self.pick(['count', 'index'])}({self.anything(0)})",
                lambda: f"({self.number(d)} if {self.boolean(d)} else {self.number(d)})",
            ]
        )

    def listing(self, depth: int) -> str:
        if depth <= 0:
            return self.pick([*LISTS, "[]", "[1]", "(1, 'a')", "()", "range(3)"])
        if self.chance.randrange(16) == 0:
            return self.anything(depth - 1)
        d = depth - 1
        return self.call(
            [
                lambda: self.pick(LISTS),
                lambda: f"[{', '.join(self.anything(d) for _ in range(self.chance.randrange(4)))}]",
                lambda: f"({self.anything(d)}, {self.anything(d)})",
                lambda: f"range({self.number(0)}{self.maybe(', ' + self.number(0))})",
                lambda: f"({self.listing(d)} + {self.listing(d)})",
                lambda: f"({self.listing(d)} * 2)",
                lambda: f"{self.pick(LISTS)}{self.slice(d)}",
                lambda: f"{self.base(d)}.{self.pick(['split()', 'splitlines()', 'split(none, 1)', self.split()])}",
                lambda: f"{self.listing(d)}|{self.list_filter(d)}{self.maybe('|list', 3)}",
                lambda: f"{self.mapping(d)}.{self.pick(['items()', 'keys()', 'values()'])}{self.maybe('|list')}",
                lambda: f"{self.mapping(d)}|{self.pick(['items', 'dictsort', 'list', self.dictsort()])}",
                lambda: f"{self.text(d)}|list",
            ]
        )

    def split(self) -> str:
        return f"{self.pick(['split', 'rsplit'])}({self.pick(PARTS)}{self.maybe(', 1')})"

    def dictsort(self) -> str:
        by = self.pick(["'key'", "'value'"])
        return f"dictsort({self.pick(['true', 'false'])}, {by})"

    def list_filter(self, depth: int) -> str:
        test = self.pick(
            ["", "'odd'", "'string'", "'none'", "'defined'", "'in', l", "'equalto', 1", "'gt', 1", "'>', 1"]
        )
        filters = [
            "'upper'",
            "'string'",
            "'length'",
            "attribute='name'",
            "'int'",
            "'first'",
            "attribute='k.z', default=0",
        ]
        return self.pick(
            [
                "list",
                "sort",
                "sort(reverse=true)",
                "sort(attribute='n')",
                "sort(attribute='name,n')",
                "unique",
                "unique(attribute='name')",
                "reverse",
                f"map({self.pick(filters)})",
                f"select({test})",
                f"reject({test})",
                f"selectattr('n'{', ' + test if test else ''})",
                f"rejectattr('name'{', ' + test if test else ''})",
                "batch(2)",
                "batch(2, 'x')",
                "slice(2)",
                "slice(2, 0)",
                "groupby('name')",
                "groupby('n')",
                f"default({self.listing(0)})",
                "tojson",
                "pprint",
            ]
        )

    def mapping(self, depth: int) -> str:
        if depth <= 0:
            return self.pick([*MAPPINGS, "{}"])
        d = depth - 1
        return self.call(
            [
                lambda: self.pick(MAPPINGS),
                lambda: f"{{{self.pick(KEYS)}: {self.anything(d)}, {self.pick(KEYS)}: {self.anything(d)}}}",
                lambda: f"dict({self.pick(['', 'd', '[[1, 2]]', self.mapping(0)])})",
                lambda: f"dict(a={self.anything(d)})",
                lambda: f"{self.mapping(d)}.copy()",
            ]
        )

    def boolean(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(["true", "false", "yes", "no", "n", "s", "nil", "missing", "l", "blank"])
        d = depth - 1
        return self.call(
            [
                lambda: f"({self.anything(d)} {self.pick(['==', '!='])} {self.anything(d)})",
                lambda: f"({self.number(d)} {self.pick(['<', '<=', '>', '>=', '=='])} {self.number(d)})",
                lambda: f"({self.text(d)} {self.pick(['<', '>='])} {self.text(d)})",
                lambda: f"({self.number(0)} < {self.number(0)} <= {self.number(0)})",
                lambda: f"({self.anything(0)} < {self.anything(0)})",
                lambda: f"({self.text(d)} {self.pick(['in', 'not in'])} {self.container(d)})",
                lambda: f"({self.anything(d)} in {self.anything(d)})",
                lambda: f"(not {self.anything(d)})",
                lambda: f"({self.boolean(d)} {self.pick(['and', 'or'])} {self.boolean(d)})",
                lambda: f"({self.anything(d)} is {self.maybe('not ')}{self.test(d)})",
                lambda: f"({self.pick(METHODS)} is {self.pick(['defined', 'callable', 'mapping', 'string', 'none'])})",
                lambda: (
                    f"{self.base(d)}.{self.pick(['startswith', 'endswith'])}({self.pick([self.text(0), '(s, t)'])})"
                ),
                lambda: (
                    f"{self.base(d)}.{self.pick(['isdigit', 'isalpha', 'isupper', 'islower', 'isspace', 'istitle'])}()"
                ),
            ]
        )

    def container(self, depth: int) -> str:
        return self.pick([self.text, self.listing, self.mapping])(depth)

    def test(self, depth: int) -> str:
        plain = (
            "defined undefined none boolean true false integer float number string mapping sequence iterable callable "
            "odd even lower upper escaped"
        )
        return self.call(
            [
                lambda: self.pick(plain.split()),
                lambda: f"divisibleby({self.number(0)})",
                lambda: f"{self.pick(['equalto', 'eq', 'ne', 'sameas'])}({self.pick(['none', 'true', 'n'])})",
                lambda: f"{self.pick(['in'])} {self.pick(['l', 'words', 's', 'd'])}",
                lambda: f"{self.pick(['gt', 'lt', 'ge', 'le'])} {self.number(0)}",
            ]
        )

    def anything(self, depth: int) -> str:
        if depth <= 0:
            return self.call(
                [
                    lambda: self.text(0),
                    lambda: self.number(0),
                    lambda: self.listing(0),
                    lambda: self.mapping(0),
                    lambda: self.boolean(0),
                    lambda: self.pick(LOOSE),
                    lambda: self.pick(self.names or ["n"]),
                ]
            )
        return self.call(
            [
                lambda: self.text(depth),
                lambda: self.number(depth),
                lambda: self.listing(depth),
                lambda: self.mapping(depth),
                lambda: self.boolean(depth),
                lambda: f"{self.mapping(depth - 1)}{self.access()}",
                lambda: (
                    f"({self.listing(depth - 1)})[{self.pick(['0', '-1', '1', '9', self.number(0), self.text(0)])}]"
                ),
                lambda: f"{self.mapping(depth - 1)}.get({self.pick(KEYS)}{self.maybe(', ' + self.anything(0))})",
                lambda: f"({self.anything(depth - 1)} {self.pick(['and', 'or'])} {self.anything(depth - 1)})",
                lambda: f"({self.anything(depth - 1)} if {self.boolean(depth - 1)})",
                lambda: f"({self.anything(depth - 1)})|default({self.anything(0)})",
                lambda: f"{self.listing(depth - 1)}|{self.pick(['first', 'last'])}",
                lambda: self.macro_call(depth - 1) if self.macros else self.text(depth - 1),
            ]
        )

    def access(self) -> str:
        return self.pick([".a", ".b", ".c", ".name", ".missing", f"[{self.pick(KEYS)}]", f"[{self.text(0)}]"])

    def slice(self, depth: int) -> str:
        bound = ["", "0", "1", "-1", "2", "-2", "10", "n", "nil"]
        step = self.pick(["", "", ":", ":1", ":2", ":-1", ":-2"])
        return f"[{self.pick(bound)}:{self.pick(bound)}{step}]"

    def macro_call(self, depth: int) -> str:
        name = self.pick(self.macros)
        more = self.maybe(", " + self.anything(0)) + self.maybe(", b=" + self.anything(0), 3)
        return f"{name}({self.anything(depth)}{more})"
