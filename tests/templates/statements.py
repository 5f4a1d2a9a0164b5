"""Random templates: statements around random expressions."""

from templates.expressions import Expressions


class Grammar(Expressions):
    """Draws templates from a source of chance."""

    def template(self, statements: int) -> str:
        return "".join(self.statement(2) for _ in range(1 + self.chance.randrange(statements)))

    def body(self, depth: int) -> str:
        return "".join(self.statement(depth - 1) for _ in range(1 + self.chance.randrange(2)))

    def tag(self, inside: str) -> str:
        return "{%" + self.pick([" ", "- ", "+ ", " "]) + inside + self.pick([" ", " -", " ", " +"]) + "%}"

    def print(self, depth: int = 2) -> str:
        return "{{" + self.pick([" ", "- ", " "]) + self.anything(depth) + self.pick([" ", " -", " "]) + "}}"

    def words(self) -> str:
        return self.pick(["x", " y ", "\n", "  \n ", "a\n  ", "{", "\n\n", "<|im|>", "{# c #}", "{#- c -#} ", "\t"])

    def statement(self, depth: int) -> str:
        if depth <= 0:
            return self.call([self.words, self.print])
        name = self.pick(["v", "w", "n", "x"])
        return self.call(
            [
                self.words,
                self.print,
                lambda: self.print(3),
                lambda: self.loop(depth),
                lambda: self.condition(depth),
                lambda: self.assignment(name),
                lambda: self.scope(depth, name),
                lambda: self.macro(depth),
                lambda: self.namespace(depth),
                lambda: self.captured(depth, name),
                lambda: self.oddity(depth),
            ]
        )

    def oddity(self, depth: int) -> str:
        """What few templates do."""
        rest = self.pick(["*[1, 2]", "*l", "**{'b': 3}", "**d", "1, *words", "a=1, b=2", "b=s, a=n", "1, 2, 3", ""])
        return self.call(
            [
                lambda: "{% raw %}" + self.pick(["", "\n", "{{ s }}", " {% if %} \n "]) + "{%- endraw %}",
                lambda: "{% set c = cycler('a', 2) %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}",
                lambda: "{% set j = joiner('|') %}{{ j() }}{% for i in l %}{{ j() }}{{ i }}{% endfor %}",
                lambda: "{% set g = " + self.listing(2) + " %}{{ g|list }}{{ g|list }}{{ g|first }}{{ g|length }}",
                lambda: (
                    "{% for i in nested recursive %}{{ i if i is number else loop(i) }}{{ loop.depth }}{% endfor %}"
                ),
                lambda: (
                    "{% for i, (a, b) in [(1, 'xy'), (2, " + self.anything(1) + ")] %}{{ i }}{{ a }}{{ b }}{% endfor %}"
                ),
                lambda: "{% generation %}" + self.body(depth) + "{% endgeneration %}",
                lambda: "{% print " + self.anything(1) + ", s %}",
                lambda: "{% if " + self.boolean(0) + " %}{% include 'x' %}{% endif %}",
                lambda: (
                    "{% macro o(a, b=a) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ o(" + rest + ") }}"
                ),
                lambda: "{% macro q(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ q(" + rest + ") }}",
                lambda: (
                    "{% for i in l if "
                    + self.pick(["i > 1", "not ns", "loop", self.boolean(1)])
                    + " %}{{ i }}{% endfor %}"
                ),
                lambda: "{% for i in l %}{% if loop.changed(i % 2) %}x{% endif %}{{ loop.nextitem }}{% endfor %}",
                lambda: "{% for m in messages %}{{ m.role }}{{ m.content|length }}{{ m.tool_calls }}{% endfor %}",
                lambda: "{% for a, b in " + self.mapping(1) + "|dictsort(by='value') %}{{ a }}{{ b }}{% endfor %}",
                lambda: (
                    "{{ "
                    + self.pick(
                        ["'\\x41\\u00e9\\n'", "'a' 'b'", "1_000", "0x1F", "1e3", "1.5e-7", "07", "(1,)", "l[0,]"]
                    )
                    + " }}"
                ),
                lambda: (
                    "{{ "
                    + self.pick(["n.__class__", "s.__len__", "d._x", "s.format_map(d)", "nil.upper()", "n.x.y"])
                    + " }}"
                ),
                lambda: "{{ '{:>5}|{:,}|{:.2f}|{!r}'.format(" + self.text(0) + ", n, f, " + self.anything(1) + ") }}",
                lambda: (
                    "{{ '"
                    + self.pick(["{0[a]}", "{a}", "{0.a}", "{:05d}", "{:x}", "{:e}", "{:%}", "{:^7}"])
                    + "'.format("
                    + self.pick(["d", "n", "f", "a=1", "s"])
                    + ") }}"
                ),
            ]
        )

    def condition(self, depth: int) -> str:
        middle = self.maybe(self.tag(f"elif {self.boolean(1)}") + self.body(depth))
        last = self.maybe(self.tag("else") + self.body(depth))
        return self.tag(f"if {self.boolean(2)}") + self.body(depth) + middle + last + self.tag("endif")

    def loop(self, depth: int) -> str:
        name = self.pick(["i", "v", "row"])
        head = self.pick(
            [
                f"for {name} in {self.listing(2)}",
                f"for {name} in {self.listing(1)} if {self.boolean(1)}",
                f"for {name} in {self.anything(1)}",
                f"for {name}, w in {self.mapping(1)}.items()",
                f"for {name}, w in {self.pick(['nested', 'rows', 'd|dictsort', 'words', 'rows|groupby(chr)'])}".replace(
                    "chr", "'name'"
                ),
            ]
        )
        attribute = self.pick(
            ["index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem", "nextitem", "depth"]
        )
        methods = ["cycle('a', 'b')", f"changed({name})", "cycle()"]
        self.names.append(name)
        inside = self.body(depth) + self.maybe(
            "{{ loop." + self.pick([attribute, attribute, self.pick(methods)]) + " }}"
        )
        inside += self.maybe(
            self.tag(f"if {self.boolean(1)}") + self.tag(self.pick(["break", "continue"])) + self.tag("endif"), 4
        )
        inside += self.body(depth)
        self.names.pop()
        last = self.maybe(self.tag("else") + self.body(depth), 4)
        return self.tag(head) + inside + last + self.tag("endfor")

    def assignment(self, name: str) -> str:
        value = self.anything(2)
        self.names.append(name)
        if self.chance.randrange(5) == 0:
            return self.tag(f"set {name}, w = {self.pick([self.listing(1), '1, 2', 's, n'])}")
        return self.tag(f"set {name} = {value}") + "{{ " + name + " }}"

    def scope(self, depth: int, name: str) -> str:
        head = f"with {name} = {self.anything(1)}{self.maybe(', w = ' + self.anything(1))}"
        self.names.append(name)
        return self.tag(head) + self.body(depth) + self.tag("endwith")

    def captured(self, depth: int, name: str) -> str:
        filters = "|".join(self.pick(["upper", "trim", "length", "indent(2)", "replace('a', 'b')"]) for _ in range(2))
        if self.chance.randrange(2):
            return self.tag(f"filter {filters}") + self.body(depth) + self.tag("endfilter")
        self.names.append(name)
        return (
            self.tag(f"set {name}{self.maybe(' | ' + filters)}")
            + self.body(depth)
            + self.tag("endset")
            + "{{ "
            + name
            + " }}"
        )

    def namespace(self, depth: int) -> str:
        start = self.tag(f"set ns = namespace(a={self.anything(1)}, items=1)")
        step = self.tag(f"set ns.a = {self.pick(['ns.a + 1', 'i', '[ns.a]', 'ns.a ~ i', self.anything(1)])}")
        return (
            start
            + self.tag("for i in l")
            + step
            + self.body(depth - 1)
            + self.tag("endfor")
            + "{{ ns.a }}{{ ns.b }}{{ ns.items }}"
        )

    def macro(self, depth: int) -> str:
        name = self.pick(["m1", "m2"])
        outer, self.names = self.names, [*self.names, "a", "b"]
        special = self.maybe(
            self.pick(["{{ varargs }}", "{{ kwargs }}", "{{ caller is defined }}", "{{ caller('q') }}"]), 4
        )
        inside = "{{ a }}/{{ b }}" + special + self.body(depth)
        self.names = outer
        head = f"macro {name}(a, b{self.maybe('=' + self.pick(['a', 'n', self.anything(0)]))})"
        self.macros.append(name)
        definition = self.tag(head) + inside + self.tag("endmacro")
        call = "{{ " + self.macro_call(1) + " }}"
        if "caller" in special or self.chance.randrange(6) == 0:
            call = self.tag(f"call(q) {name}(1)") + "<{{ q }}>" + self.body(depth) + self.tag("endcall")
        return definition + call
