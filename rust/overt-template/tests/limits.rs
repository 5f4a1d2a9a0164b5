//! What templates and input may not do: work without end, fill memory, overflow the stack.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use overt_template::{Limits, RenderInput, Template, TemplateError};
use serde_json::{Value, json};

fn input(messages: Value) -> RenderInput {
    RenderInput { messages, ..RenderInput::default() }
}

fn hello() -> RenderInput {
    input(json!([{"role": "user", "content": "hello"}]))
}

/// Renders as a worker thread does, with its small stack.
fn render(source: &str, input: RenderInput, limits: Limits) -> Result<String, TemplateError> {
    let source = source.to_owned();
    let worker = move || Template::compile_with(&source, limits)?.render(&input);
    std::thread::Builder::new().stack_size(2 << 20).spawn(worker).unwrap().join().unwrap()
}

/// The default limits, on a machine however slow.
fn patient() -> Limits {
    Limits { deadline: Duration::from_secs(600), ..Limits::default() }
}

fn refused(source: &str) -> TemplateError {
    match render(source, hello(), patient()) {
        Err(error) => error,
        Ok(text) => panic!("{source} gave {} bytes", text.len()),
    }
}

#[test]
fn work_is_bounded() {
    let loops = [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}some text{% endfor %}{% endfor %}",
        "{% set x %}{% for a in range(99999) %}{% for b in range(99999) %}some text{% endfor %}{% endfor %}{% endset %}",
        "{% for i in range(99999) %}{% if -1 in range(99999) %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{{ range(99999)|sort|unique|list|length }}{% endfor %}",
        "{% set s = 'é' * 1000000 %}{% for i in range(99999) %}{{ s[999999] }}{{ s[-1] }}{% endfor %}",
        "{% set s = 'a ' * 1000000 %}{% for i in range(99999) %}{{ s.split()|length }}{{ s.strip('b') }}{% endfor %}",
    ];
    let macros = [
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
        "{% macro m(n) %}{% if n %}{% set x = m(n - 1) %}{% set y = m(n - 1) %}{% endif %}{% endmacro %}{{ m(40) }}",
        "{% macro m(n) %}{% if n %}{% set x = m(n - 1) %}{{ x }}{{ x }}{% else %}aaaaaaaa{% endif %}{% endmacro %}{{ m(40) }}",
    ];
    let lists = [
        "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s|length }}",
        "{% set ns = namespace(s=(1,)) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s * 2 %}{% endfor %}",
        "{% macro m(l) %}{% if l|length < 2 ** 60 %}{{ m(l + l) }}{% endif %}{% endmacro %}{{ m([1]) }}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
        "{% set ns = namespace(s=['a']) %}{% for i in range(25) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s|join }}",
        "{% set ns = namespace(s=['a']) %}{% for i in range(25) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s|tojson }}",
        "{{ ([1] * 10**9)|length }}",
    ];
    let texts = [
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ('' ~ ns.s) + ns.s + '' %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = '%s%s' % (ns.s, ns.s) %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = '{0}{0}'.format(ns.s) %}{% endfor %}",
        "{{ 'x' * 10**9 }}",
        "{{ 'x' * 10**12 }}",
        "{{ 'x'.ljust(10**12) }}",
        "{{ 'x'.zfill(10**9) }}",
        "{{ 'x'|center(10**9) }}",
        "{{ '\t'.expandtabs(10**9) }}",
        "{{ ('x' * 100000).replace('', 'y' * 100000) }}",
        "{{ ('x' * 100000)|replace('x', 'y' * 100000) }}",
        "{{ range(99999)|join('y' * 100000) }}",
        "{{ range(99999)|list|tojson(indent='y' * 100000) }}",
        "{{ ('a' * 100000).translate({97: 'y' * 100000}) }}",
        "{{ ('a ' * 1000000)|wordwrap(1, wrapstring='y' * 100000) }}",
        "{{ [1]|slice(10**9) }}",
        "{{ 'x'|indent(10**12) }}",
        "{{ [1]|batch(10**9, 0)|list }}",
        "{{ ('\\n' * 99999)|indent('y' * 99999) }}",
        "{{ {'k' * 1000000: range(1000)|list}|pprint }}",
    ];
    let literal = format!(
        "{{% set s = 'a' * 1000000 %}}{{% for i in range(99999) %}}{{% if s == '{}' %}}{{% endif %}}{{% endfor %}}",
        "a".repeat(1_000_000)
    );
    let all = loops.into_iter().chain(macros).chain(lists).chain(texts);
    let all = all.map(str::to_owned).chain([literal]);
    for source in all {
        let source = source.as_str();
        let error = refused(source);
        assert!(matches!(error, TemplateError::Budget { line: 1, .. }), "{source}: {error}");
    }
    for source in [
        "{{ '%1000000000d'|format(1) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (10**9, 1) }}",
        "{{ '%.1000000000f' % 1 }}",
        "{{ '%.65536f' % 1 }}",
        "{{ '%#.65535g' % 1e-9 }}",
        "{{ '{:.65536e}'.format(1.5) }}",
        "{{ (2**126 + (2**126 - 1))|round(-38) }}",
        "{{ (-(2**126) - 2**126)|abs }}",
        "{{ 170141183460469231731687303715884105727 + 1 }}",
        "{{ 170141183460469231731687303715884105727 * 2 * 0 }}",
        "{{ range(0, 2**126 + (2**126 - 1), 2**126)[::2**126] }}",
        "{{ '%d' % 1e40 }}",
        "{{ '%i' % (0 - 1e39) }}",
        "{{ '%d' % (1e308 * 10) }}",
        "{{ 1e40|int }}",
        "{{ '1e40'|int }}",
        "{{ '170141183460469231731687303715884105728'|int }}",
        "{{ ('-1' ~ '0' * 50)|int }}",
        "{{ '{:1000000000d}'.format(1) }}",
        "{{ [1]|tojson(indent=10**9) }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% for a in range(10**12) %}{% endfor %}",
        "{% for i in [1] %}{{ loop.cycle() }}{% endfor %}",
    ] {
        let error = refused(source);
        assert!(matches!(error, TemplateError::Render { line: 1, .. }), "{source}: {error}");
    }
    let error =
        refused("\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}");
    assert!(matches!(error, TemplateError::Budget { line: 2, .. }), "{error}");
}

/// Texts and keys that are looked at count by their length, in steps and for the clock, though nothing is made of them.
#[test]
fn looking_counts() {
    let looks = [
        "s == t",
        "s != t",
        "s < t",
        "s >= t",
        "t in s",
        "s in [t]",
        "s in d",
        "d[s]",
        "(s, 1) in d",
        "{s: 1}",
        "d == e",
        "d.keys() == e.keys()",
        "(s, 1) in d.items()",
        "s is eq(t)",
        "s is sameas(t)",
        "s is lower",
        "s is upper",
        "s.isalpha()",
        "s.islower()",
        "s.startswith(t)",
        "s.endswith(s)",
        "s.find('b')",
        "s.count('b')",
        "s.strip('b')",
        "s.removeprefix('b')",
        "s.partition('b')",
        "s.find('b', 5)",
        "s|length",
        "s|trim('b')",
        "s|int",
        "s|float",
        "s|wordcount",
        "s|truncate(10**9)",
        "[s, t]|sort",
        "[s, t]|unique|list",
        "[s, t]|max",
        "d.get(s)",
        "dict.fromkeys([s])",
    ];
    let text = "a".repeat(100_000);
    let kwargs = json!({"s": text, "t": text, "d": {&text: 1}, "e": {&text: 1}});
    let input = RenderInput { kwargs: kwargs.as_object().unwrap().clone(), ..hello() };
    for look in looks {
        let steps = Limits { fuel_per_byte: 0, ..patient() };
        let often = format!("{{% for i in range(99999) %}}{{% set x = {look} %}}{{% endfor %}}");
        let error = render(&often, input.clone(), steps).unwrap_err();
        assert!(matches!(error, TemplateError::Budget { line: 1, .. }), "{look}: {error}");
        let time = Limits { deadline: Duration::ZERO, ..patient() };
        let error = render(&format!("{{% set x = {look} %}}"), input.clone(), time).unwrap_err();
        assert!(error.to_string().contains("takes longer"), "{look}: {error}");
    }
}

#[test]
fn depth_is_bounded() {
    for inner in [
        "[ns.v]",
        "(ns.v,)",
        "{'a': ns.v}",
        "dict(a=ns.v)",
        "namespace(v=ns.v)",
        "cycler(ns.v)",
        "joiner(ns.v)",
        "[ns.v]|batch(1)|list",
        "[ns.v]|map('default')",
        "[ns.v]|reverse",
        "{'a': ns.v}.items",
        "{'a': ns.v}.items()",
        "[{'a': ns.v}]|groupby('a')",
    ] {
        let source = format!(
            "{{% set ns = namespace(v=[]) %}}{{% for i in range(90000) %}}{{% set ns.v = {inner} %}}{{% endfor %}}{{{{ ns.v }}}}"
        );
        let error = refused(&source);
        let named = matches!(
            error,
            TemplateError::Render { .. }
                | TemplateError::Limit { .. }
                | TemplateError::Budget { .. }
        );
        assert!(named, "{inner}: {error}");
    }
    for source in [
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(v=none) %}{% for i in range(90000) %}{% for x in [ns.v] %}{% set ns.v = loop %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(v=none) %}{% for i in range(90000) %}{% for x in [[[[ns.v]]]] %}{% set ns.v = (((loop,),),) %}{% endfor %}{% endfor %}",
    ] {
        let error = refused(source);
        assert!(matches!(error, TemplateError::Limit { .. }), "{source}: {error}");
    }
    let chain = "{% set root = namespace(x='end') %}{% set ns = namespace(at=root) %}{% for i in range(9000) %}{% set c = namespace(v=[[ns.at]]) %}{% set ns.at = c %}{% endfor %}";
    assert_eq!(render(&format!("{chain}{{{{ root.x }}}}"), hello(), patient()).unwrap(), "end");
    assert!(refused(&format!("{chain}{{{{ ns }}}}")).to_string().contains("nested"));
}

/// What could take time out of proportion ends in its own time.
#[test]
fn work_is_in_proportion() {
    for (source, expected) in [
        ("{{ ('a' * 400000)|wordwrap(1)|length }}", "799999"),
        ("{{ ('&' * 400000)|striptags|length }}", "400000"),
        ("{{ ('a' * 400000).strip(('b' * 400000) ~ 'a') }}", ""),
        ("{{ ([1, 'nan'|float(0), 3, 2, 'x'|float(0)] * 50)|sort|length }}", "250"),
    ] {
        assert_eq!(render(source, hello(), patient()).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn sources_are_bounded() {
    for source in [
        format!("{{{{ {}1{} }}}}", "(".repeat(50_000), ")".repeat(50_000)),
        format!("{{{{ {}1{} }}}}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(50_000)),
        format!("{{{{ 1{} }}}}", " + x".repeat(50_000)),
        format!("{{{{ x{} }}}}", ".a".repeat(50_000)),
        format!("{{{{ x{} }}}}", "|string".repeat(50_000)),
        format!("{{{{ x{} }}}}", "()".repeat(50_000)),
        format!("{{{{ 1{} }}}}", " if x else 1".repeat(50_000)),
        format!("{}{}", "{% if x %}".repeat(50_000), "{% endif %}".repeat(50_000)),
        format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(50_000)),
        format!("{{% set {}x{} = 1 %}}", "(".repeat(50_000), ")".repeat(50_000)),
    ] {
        let error = refused(&source);
        assert!(matches!(error, TemplateError::Syntax { line: 1, .. }), "{error}");
    }
}

#[test]
fn input_is_bounded() {
    let mut deep = json!([]);
    for _ in 0..500 {
        deep = json!([deep]);
    }
    let with = |value: Value| RenderInput {
        kwargs: [("x".to_owned(), value)].into_iter().collect(),
        ..hello()
    };
    let error = render("{{ x|tojson }}", with(deep.clone()), Limits::default()).unwrap_err();
    assert_eq!(
        error,
        TemplateError::Input("chat_template_kwargs is nested deeper than 128".to_owned())
    );
    let error = render("", input(json!([{"role": "user", "content": deep}])), Limits::default())
        .unwrap_err();
    assert_eq!(error, TemplateError::Input("messages is nested deeper than 128".to_owned()));
    let mut allowed = json!([]);
    for _ in 0..120 {
        allowed = json!([allowed]);
    }
    assert!(
        render("{{ x }}{{ x|tojson }}{{ [x] == [x] }}", with(allowed), Limits::default()).is_ok()
    );
}

#[test]
fn long_conversations_have_a_larger_budget() {
    let messages: Vec<Value> =
        (0..1500).map(|i| json!({"role": "user", "content": format!("message {i}")})).collect();
    let quadratic = "{% for m in messages %}{% for n in messages[loop.index0:] %}{% if loop.first %}{{ n.content }}{% endif %}{% endfor %}{% endfor %}";
    let long = input(Value::Array(messages));
    assert!(render(quadratic, long.clone(), patient()).unwrap().ends_with("message 1499"));
    let steps = Limits { fuel_per_message: 0, fuel_per_byte: 0, ..Limits::default() };
    assert_eq!(
        render(quadratic, long, steps).unwrap_err(),
        TemplateError::Budget { line: 1, fuel: 1_000_000 }
    );
    let many: Vec<Value> =
        (0..100_000).map(|i| json!({"role": "user", "content": i.to_string()})).collect();
    let linear = "{% for m in messages %}{{ m.role + m.content }}{% endfor %}";
    assert!(render(linear, input(Value::Array(many)), patient()).unwrap().ends_with("user99999"));
}

#[test]
fn each_limit_is_named() {
    let endless =
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}{% endfor %}{% endfor %}";
    for (limits, expected) in [
        (Limits { deadline: Duration::ZERO, ..patient() }, "takes longer than 0ns"),
        (Limits { output: 1000, ..patient() }, "output is longer than 1000 bytes"),
        (Limits { memory: 1 << 20, ..patient() }, "makes more than 1 MiB"),
        (
            Limits { fuel: 1000, fuel_per_message: 0, fuel_per_byte: 0, ..Limits::default() },
            "budget of 1000 steps",
        ),
        (Limits { fuel_most: 500, ..patient() }, "budget of 500 steps"),
    ] {
        let error = render(endless, hello(), limits).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(Template::compile("").unwrap().limits(), &Limits::default());
}

#[test]
fn numbers_end_without_a_panic() {
    for source in [
        "{{ range(2**126, 2**126 + 3)[::-1]|list|length }}",
        "{{ '%.32768f' % 1.5 }}{{ '%#.32768g' % 1e-300 }}{{ '%.32768e' % 1e300 }}{{ '%032768d' % 1 }}",
        "{{ '{:.32768f}'.format(1.5) }}{{ '{:32768}'.format('x') }}",
        "{{ (-(2**126) - 2**126)|int }}{{ [1][-(2**126)] }}{{ 'x'[2**126] }}",
        "{{ 1e308 * 10 }}{{ (1e308 * 10)|round(2) }}{{ 1.5|round(400) }}{{ 1.5|round(-400) }}",
    ] {
        assert!(render(source, hello(), patient()).is_ok(), "{source}");
    }
}
