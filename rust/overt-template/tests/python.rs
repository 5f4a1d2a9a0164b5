//! What jinja2 does and other engines do not: one line a fault that was found, and its right value.

#![allow(clippy::unwrap_used, clippy::panic)]

use overt_template::{RenderInput, Template, TemplateError};
use serde_json::json;

fn render(source: &str) -> Result<String, TemplateError> {
    let kwargs = json!({
        "s": "Hello World", "n": 7, "f": 2.5, "l": [3, 1, 2], "nil": null,
        "d": {"b": 1, "a": "two", "items": "own"},
        "rows": [{"name": "x", "n": 2}, {"name": "Y", "n": 1}, {"name": "x", "n": 3}],
    });
    let input = RenderInput {
        messages: json!([{"role": "user", "content": "hello"}]),
        kwargs: kwargs.as_object().unwrap().clone(),
        ..RenderInput::default()
    };
    Template::compile(source)?.render(&input)
}

#[test]
fn values_are_pythons() {
    for (source, expected) in [
        // Operators.
        (
            "{{ 1e20 ~ '|' ~ 1e-07 ~ '|' ~ nil ~ true ~ [1.0, 'a'] }}",
            "1e+20|1e-07|NoneTrue[1.0, 'a']",
        ),
        ("{{ +n }}{{ +true }}{{ -true }}{{ true + 1 }}", "71-12"),
        (
            "{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7.5 // 2 }} {{ 2 ** -1 }} {{ 7 / 2 }} {{ 2 ** 3 ** 2 }}",
            "-4 2 -2 -4.0 0.5 3.5 64",
        ),
        (
            "{{ 10 ** 30 }} {{ 'ab' * 2 }}{{ 2 * [1] }}{{ 'x' * -1 }}",
            "1000000000000000000000000000000 abab[1, 1]",
        ),
        (
            "{{ 1 == 1.0 }}{{ 1 == true }}{{ [1] == (1,) }}{{ 1 < 2 < 3 }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}",
            "TrueTrueFalseTrueTrueTrue",
        ),
        (
            "{{ 'a' in d }}{{ 'ell' in s }}{{ 1 in l }}{{ 'x' in nothing }}{{ 'a' in d.keys() }}",
            "TrueTrueTrueFalseTrue",
        ),
        (
            "{{ '%s|%5.1f|%-4d|%05d|%x|%r|%%' % (s, f, n, n, 255, 'q') }}",
            "Hello World|  2.5|7   |00007|ff|'q'|%",
        ),
        (
            "{{ '%(a)s' % d }}{{ '%s' % [1] }}{{ 'x' % d }}{{ '%c%c' % (65, 'b') }}{{ '%g' % 1e-5 }}",
            "two[1]xAb1e-05",
        ),
        ("{{ 'a' 'b' }}{{ 1_000 }}{{ 0x1F }}{{ '\\x41\\u00e9' }}{{ not not 1 }}", "ab100031AéTrue"),
        (
            "{{ '<' ~ ('<'|e) }}{{ ('<b>'|safe) + '<' }}{{ '<' + ('<'|e) }}{{ ('%s'|safe) % '<' }}",
            "<&lt;<b>&lt;&lt;&lt;&lt;",
        ),
        // Access.
        (
            "{{ s[0] }}{{ s[-1] }}{{ s[::-1] }}{{ l[::2] }}{{ l[5:] }}{{ s[1:3] }}{{ (1, 2, 3)[:2] }}{{ range(9)[2:8:3] }}",
            "HddlroW olleH[3, 2][]el(1, 2)range(2, 8, 3)",
        ),
        (
            "{{ d['items'] }}{{ d.items()|list }}{{ d.get('a') }}{{ d['b'] }}{{ d.nope }}{{ s.nope }}{{ n.nope }}{{ nil.nope }}",
            "own[('b', 1), ('a', 'two'), ('items', 'own')]two1",
        ),
        (
            "{{ {1: 'a'}[1] }}{{ {1: 'a'}[1.0] }}{{ {true: 'b'}[1] }}{{ l[true] }}{{ l['0'] }}",
            "aab1",
        ),
        (
            "{{ d.items is callable }}{{ range is callable }}{{ s is callable }}{{ nothing is callable }}{{ l.append is defined }}",
            "TrueTrueFalseTrueFalse",
        ),
        // Iterators, views, ranges.
        ("{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "['3', '1', '2'][]"),
        (
            "{{ range(3) }}{{ d.keys() }}{{ (l|reverse)|list }}{{ 'abc'|reverse }}{{ l|batch(2)|list }}{{ l|slice(2)|list }}",
            "range(0, 3)dict_keys(['b', 'a', 'items'])[2, 1, 3]cba[[3, 1], [2]][[3, 1], [2]]",
        ),
        (
            "{{ d|dictsort }}{{ rows|groupby('name')|map('first')|list }}{{ rows|map(attribute='n')|sum }}",
            "[('a', 'two'), ('b', 1), ('items', 'own')]['x', 'Y']6",
        ),
        (
            "{{ rows|sort(attribute='name,n')|map(attribute='n')|list }}{{ ['b', 'A']|sort }}{{ ['b', 'B']|unique|list }}",
            "[2, 3, 1]['A', 'b']['b']",
        ),
        (
            "{{ dict([['k', 1]]) }}{{ dict(a=1) }}{{ dict({'x': 1}, y=2) }}{{ dict.fromkeys('ab', 0) }}",
            "{'k': 1}{'a': 1}{'x': 1, 'y': 2}{'a': 0, 'b': 0}",
        ),
        (
            "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}{{ j() }}",
            "abab|",
        ),
        // Filters and tests.
        (
            "{{ 'a b/c'|urlencode }}{{ {'a': 'b c'}|urlencode }}{{ 'a bc d'|wordcount }}{{ 'aaa bbb'|wordwrap(3) }}",
            "a%20b/ca=b+c3aaa\nbbb",
        ),
        (
            "{{ {'a': 1, 'b': none}|xmlattr }}{{ 'x y'|title }}{{ 'foo bar baz'|truncate(9) }}{{ 1234567|filesizeformat }}",
            " a=\"1\"X Yfoo bar baz1.2 MB",
        ),
        (
            "{{ 42.55|round(1) }}{{ 42|round }}{{ 2.5|round }}{{ 42.1|round(0, 'ceil') }}{{ '12'|int + '1.5'|float }}{{ 'x'|int(9) }}{{ '0x1f'|int(0, 16) }}",
            "42.5422.043.013.5931",
        ),
        (
            "{{ '<p>a  b</p>'|striptags }}{{ [1, 2]|pprint }}{{ 'ab'|center(6) }}|{{ -1|abs }}{{ l|max }}{{ l|min }}",
            "a b[1, 2]  ab  |131",
        ),
        (
            "{{ true is number }}{{ 1 is integer }}{{ true is integer }}{{ 1.0 is float }}{{ d is sequence }}{{ d.keys() is sequence }}",
            "TrueTrueFalseTrueTrueFalse",
        ),
        (
            "{{ 'x' is filter }}{{ 'upper' is filter }}{{ 3 is odd }}{{ 3 is divisibleby 3 }}{{ none is sameas none }}{{ l is sameas l }}",
            "FalseTrueTrueTrueTrueTrue",
        ),
        // Texts.
        (
            "{{ ' a b '.split(' ', 1) }}{{ ' a  b '.split(none, 1) }}{{ ' a  b'.rsplit(none, 1) }}{{ 'a\nb\n'.splitlines() }}",
            "['', 'a b ']['a', 'b '][' a', 'b']['a', 'b']",
        ),
        (
            "{{ 'ab'.center(5, '*') }}{{ '-7'.zfill(4) }}{{ 'aXbX'.rpartition('X') }}{{ 'Ab'.swapcase() }}{{ \"they're\".title() }}",
            "**ab*-007('aXb', 'X', '')aBThey'Re",
        ),
        (
            "{{ '{}-{}'.format(1, 'a') }}{{ '{0:>4}|{1:.2f}|{x!r}'.format('a', f, x='q') }}{{ '{:,}'.format(1234567) }}",
            "1-a   a|2.50|'q'1,234,567",
        ),
        (
            "{{ 'a,b'.join(['1', '2']) }}{{ 'banana'.count('an') }}{{ 'abc'.find('c', 1) }}{{ 'abc'.startswith(('x', 'a')) }}",
            "1a,b222True",
        ),
        (
            "{{ 'ßẞıİſςŉǰΐﬀﬁᾀᾳᾲϐϑµÅÇΣ'.casefold() }}|{{ 'Ꭰᏸꭰꮿ'.casefold() }}",
            "ssssıi\u{307}sσʼnj\u{30c}ι\u{308}\u{301}fffiἀιαιὰιβθμåçσ|ᎠᏰᎠᏯ",
        ),
        (
            "{{ '٣'|int }}{{ '٣.٥'|float }}|{{ '𝟘𝟙'|int }}|{{ '²'|int(9) }}{{ '１２'|int + 1 }}{{ '1e٢'|float }}{{ '⑴'.isdigit() }}{{ '᧐'.isdecimal() }}",
            "33.5|1|913100.0TrueTrue",
        ),
        // Formats.
        (
            "{{ '{:>{}}'.format('a', 5) }}|{{ '{:{}{}}'.format('a', '>', 5) }}|{{ '{:{}} {}'.format('a', 3, 'b') }}",
            "    a|    a|a   b",
        ),
        (
            "{{ '{:010,}'.format(1234) }}|{{ '{:08,}'.format(1234) }}|{{ '{:0=10,}'.format(-1234) }}|{{ '{:+010,}'.format(1234) }}|{{ '{:x=10,}'.format(1234) }}",
            "00,001,234|0,001,234|-0,001,234|+0,001,234|xxxxx1,234",
        ),
        (
            "{{ '{:010_}'.format(1234) }}|{{ '{:#012_x}'.format(48879) }}|{{ '{:012,.2f}'.format(1234.5) }}|{{ '{:012,}'.format(1234.5) }}|{{ '{:06,}'.format(0) }}",
            "00_001_234|0x0_0000_beef|0,001,234.50|00,001,234.5|00,000",
        ),
        (
            "{{ '{:n}'.format(1234567.5) }}|{{ '{:n}'.format(0.1) }}|{{ '{:.3n}'.format(1234.5) }}|{{ '{:10n}'.format(1e20) }}|{{ '{:#n}'.format(1.0) }}|{{ '{:n}'.format(7) }}",
            "1.23457e+06|0.1|1.23e+03|     1e+20|1.00000|7",
        ),
        (
            "{{ '{:.5}'.format(12345.0) }}|{{ '{:.6}'.format(12345.0) }}|{{ '{:.0}'.format(5.0) }}|{{ '{:.3}'.format(0.0) }}|{{ '{:#.3}'.format(5.0) }}|{{ '{:#}'.format(1e20) }}|{{ '%#.1g' % 0 }}",
            "1.2345e+04|12345.0|5e+00|0.0|5.00|1.e+20|0.",
        ),
        (
            "{{ '%d' % 1e20 }}|{{ '%d' % -1e37 }}|{{ '%i' % -2.9 }}|{{ 1e30|int }}|{{ '170141183460469231731687303715884105727'|int }}|{{ 'inf'|int(5) }}",
            "100000000000000000000|-9999999999999999538762658202121142272|-2|1000000000000000019884624838656|170141183460469231731687303715884105727|5",
        ),
        // Numbers as they are.
        (
            "{{ 2**53 + 1 == 9007199254740992.0 }}{{ 2**53 + 1 > 9007199254740992.0 }}{{ 9007199254740992.0 < 2**53 + 1 }}{{ 2**126 == 2.0**126 }}{{ (2**126 + (2**126 - 1)) < 2.0**127 }}{{ {9007199254740992.0: 1}[2**53 + 1] is defined }}",
            "FalseTrueTrueTrueTrueFalse",
        ),
        (
            "{{ (2**60 + 1) / 3 }}|{{ 10**30 / 7 }}|{{ 1 / 10**30 }}|{{ 10**37 / (10**36 + 1) }}|{{ -(2**100) / 3 }}|{{ (2**54 + 3) / 1 }}",
            "3.843071682022823e+17|1.4285714285714285e+29|1e-30|10.0|-4.2255020007607644e+29|1.8014398509481988e+16",
        ),
        (
            "{{ range(-(2**126) - 2**126, 2**126 + (2**126 - 1), 2**126)|length }}{{ range(0, 10, 3) == range(0, 11, 3) }}{{ range(0) == range(5, 2) }}{{ {range(3): 1}[range(3)] }}",
            "4TrueTrue1",
        ),
        (
            "{{ 1.5|round(-(2**40)) }}|{{ (2**53 + 1)|round(0, 'ceil') }}|{{ -1e400 }}|{{ 9223372036854775807 * 9223372036854775807 }}",
            "0.0|9007199254740992.0|-inf|85070591730234615847396907784232501249",
        ),
        // Namespaces.
        (
            "{% set ns = namespace(b=1, a=2) %}{% set ns.c = 3 %}{{ ns }}{% set ns.d, ns.e = 1, 2 %}{{ ns.e }}{% set ns.f | upper %}x{% endset %}{{ ns.f }}{{ ns['f'] }}",
            "<Namespace {'b': 1, 'a': 2, 'c': 3}>2XX",
        ),
        (
            "{{ 'yes' if namespace() else 'no' }}{{ namespace() == namespace() }}{{ namespace() is iterable }}{{ namespace() is mapping }}{{ namespace(items=1).items }}",
            "yesFalseFalseFalse1",
        ),
        (
            "{{ {'a': 1, 'b': [1]}.items() == {'b': [1], 'a': 1}.items() }}{{ ('a', 1.0) in {'a': 1}.items() }}{{ 'a' in {'a': 1}.items() }}{{ {'a': 1}.keys() == {'a': 2}.keys() }}",
            "TrueTrueFalseTrue",
        ),
        // Scopes.
        ("{% with a = 1, b = a|default('none') %}{{ a }}{{ b }}{% endwith %}", "1none"),
        ("{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y is defined }}", "1False"),
        ("{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}", ""),
        (
            "{% for i in [1, 2] %}{% if loop.first %}{% continue %}{% endif %}{% else %}else{% endfor %}",
            "",
        ),
        ("{% for i in [1] %}{% continue %}{% else %}else{% endfor %}", "else"),
        (
            "{% set ns = namespace(go=true) %}{% for i in l if ns.go %}{{ i }}{% set ns.go = false %}{% endfor %}",
            "3",
        ),
        ("{% for k, (a, b) in [(1, 'xy')] %}{{ k }}{{ a }}{{ b }}{% endfor %}", "1xy"),
        (
            "{% for i in [1, [2, [3]]] recursive %}{{ loop(i) if i is sequence else i }}{{ loop.depth }}{% endfor %}",
            "11223321",
        ),
        // Macros.
        (
            "{% macro m(a, b=a, c=b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(1, c=3) }}",
            "111122113",
        ),
        (
            "{% macro m(a, b='x') %}{{ a }}[{{ b }}]{% endmacro %}{{ m(1, nothing) }}{{ m(b=nothing, a=2) }}{{ m(3) }}",
            "1[]2[]3[x]",
        ),
        (
            "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m(1) }}",
            "1(2,){'x': 3}1(){}",
        ),
        (
            "{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) m(1) %}{{ x }}{% endcall %}",
            "<1>",
        ),
        (
            "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{{ m.name }}{{ m is callable }}",
            "1mTrue",
        ),
        // Printing.
        (
            "{{ none }}{{ true }}{{ nothing }}{{ [none, true, nothing] }}{{ () }}{{ (1,) }}",
            "NoneTrue[None, True, Undefined]()(1,)",
        ),
        ("{{ [\"it's\", 'a\"b', 'é\u{200b}', '\\n'] }}", "[\"it's\", 'a\"b', 'é\\u200b', '\\n']"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn python_refuses() {
    for source in [
        "{{ 1 < 'a' }}",
        "{{ none < 1 }}",
        "{{ nothing < 1 }}",
        "{{ 1 in 'a' }}",
        "{{ 1 in 2 }}",
        "{{ [] in d }}",
        "{{ nothing + 'x' }}",
        "{{ 'x' + 1 }}",
        "{{ 'x' + nil }}",
        "{{ [1] + (1,) }}",
        "{{ nothing.x }}",
        "{{ d.nope.x }}",
        "{{ nothing['x'] }}",
        "{{ nil[1:] }}",
        "{{ s.nope() }}",
        "{{ nothing() }}",
        "{{ l.append(1) }}",
        "{{ d.update({}) }}",
        "{{ (l|map('upper'))|tojson }}",
        "{{ d.keys()|tojson }}",
        "{{ nothing|tojson }}",
        "{{ (l|map('upper'))|length }}",
        "{{ 1|length }}",
        "{{ [1, 'a']|sort }}",
        "{{ [[]]|unique|list }}",
        "{{ '%d' % 'x' }}",
        "{{ '%s' % (1, 2) }}",
        "{{ '%s %s' % 1 }}",
        "{{ '{} {}'.format(1) }}",
        "{{ 1 / 0 }}",
        "{{ 0 ** -1 }}",
        "{{ ','.join([1]) }}",
        "{% for x in 1 %}{% endfor %}",
        "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
        "{% set a, b = 1 %}",
        "{% set d.x = 1 %}",
        "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
        "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}",
        "{% filter length %}x{% endfilter %}",
        "{% include 'x' %}",
        "{% include 'x' ignore missing %}",
        "{% extends 'x' %}",
        "{% import 'x' as y %}",
        "{{ namespace(_x=1) }}",
        "{% set ns = namespace() %}{% set ns.x, d.y = 1, 2 %}",
        "{% set nothing.x = 1 %}",
        "{{ namespace()|length }}",
        "{{ 1 in namespace() }}",
        "{{ {[]: 1} }}",
        "{{ {(1, []): 1} }}",
        "{{ {} in {} }}",
        "{{ '{:{:{}}}'.format('a', 5, 2) }}",
        "{{ '{:,n}'.format(1) }}",
        "{{ '{:_n}'.format(1.5) }}",
        "{{ '{:,x}'.format(255) }}",
        "{{ '{:_c}'.format(65) }}",
        "{{ '{:+c}'.format(65) }}",
        "{{ 'abc'.isdisjoint('x') }}",
        "{{ 'x'.replace('x') }}",
        "{{ 'x'.split('x', sep='y') }}",
        "{{ 'x'.split(sep='x', foo=2) }}",
        "{{ 'x'|replace('x') }}",
        "{{ 'x'|replace('x', 'y', foo=1) }}",
        "{{ range() }}",
        "{{ x|nope }}",
        "{% for i in [] %}{{ x|nope }}{% endfor %}",
        "{{ x is nope }}",
    ] {
        assert!(render(source).is_err(), "{source}");
    }
    // A name that is unknown fails only where it is reached.
    assert_eq!(render("{% if false %}{{ x|nope }}{{ x is nope }}{% endif %}").as_deref(), Ok(""));
    assert_eq!(render("{% if false %}{% include 'x' %}{% endif %}").as_deref(), Ok(""));
}

#[test]
fn faults_of_the_source_name_their_line() {
    for (source, line) in [
        ("a\n{{ x|nope }}", 2),
        ("{%\n\nif %}", 3),
        ("\n\n{% endfor %}", 3),
        ("{% for x in y %}\n", 1),
        ("\n{# open", 2),
        ("{% raw %}\n", 1),
        ("{{ 'open }}", 1),
        ("\n{{ (1] }}", 2),
        ("{{ 1 +\n }}", 2),
        ("\n{% break %}", 2),
        ("{% for x in y %}{% macro m() %}\n{% continue %}{% endmacro %}{% endfor %}", 2),
        ("{% autoescape true %}{% endautoescape %}", 1),
        ("{% do x %}", 1),
        ("\n{% set 1 = 2 %}", 2),
        ("{% for loop in x %}{% endfor %}", 1),
        ("{{ '\\x4' }}", 1),
        ("{{ a is b is c }}", 1),
        ("{% macro m(a=1, b) %}{% endmacro %}", 1),
        ("{{ f(a=1, 2) }}", 1),
    ] {
        match Template::compile(source) {
            Err(TemplateError::Syntax { line: found, message }) => {
                assert_eq!(found, line, "{source}: {message}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    for (source, line) in [
        ("\n{{ 1 + nothing\n }}", 2),
        ("{#\n\n#}{{ nothing.x }}", 3),
        ("a\n\n{%- if true -%}\n\n{{ nothing.x }}{% endif %}", 5),
        ("{% raw %}\n\n{% endraw %}\n{{ nothing.x }}", 4),
        ("{{ 'a\nb' }}\n{{ nothing.x }}", 3),
    ] {
        match render(source) {
            Err(TemplateError::Render { line: found, .. }) => assert_eq!(found, line, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}
