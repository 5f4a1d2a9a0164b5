//! Namespaces that hold themselves or each other: neither the stack nor time is lost to them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use overt_template::{Limits, RenderInput, Template, TemplateError};
use serde_json::json;

fn hello() -> RenderInput {
    let messages = json!([{"role": "user", "content": "hello"}]);
    RenderInput { messages, ..RenderInput::default() }
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

/// A namespace can hold itself: equal to itself alone, a key, printed once.
#[test]
fn circles_are_no_trap() {
    let circle = "{% set ns = namespace() %}{% set other = namespace() %}{% set ns.a = ns %}{% set other.a = other %}";
    for (source, expected) in [
        (
            "{{ ns == ns.a }}{{ ns == other }}{{ ns != other }}{{ ns is sameas(ns.a) }}",
            "TrueFalseTrueTrue",
        ),
        (
            "{{ ns in [ns] }}{{ ns in [other] }}{{ [ns] == [ns.a] }}{{ {1: ns} == {1: other} }}",
            "TrueFalseTrueFalse",
        ),
        (
            "{{ {ns: 1}[ns.a] }}{{ {ns: 1}[other] is defined }}{{ ns in {ns: 1} }}{{ {(ns, 1): 2}[(ns, 1)] }}",
            "1FalseTrue2",
        ),
        ("{{ [ns, other, ns.a]|unique|list|length }}", "2"),
        ("{{ ns }}", "<Namespace {'a': <Namespace {...}>}>"),
        (
            "{% set ns.a = [ns, (ns,)] %}{{ ns }}",
            "<Namespace {'a': [<Namespace {...}>, (<Namespace {...}>,)]}>",
        ),
        ("{% set ns.a = [ns] %}{{ ns.a }}{{ ns.a == ns.a }}", "[<Namespace {'a': [...]}>]True"),
        ("{% set ns.a = {'k': ns} %}{{ [ns.a]|string }}", "[{'k': <Namespace {'a': {...}}>}]"),
        (
            "{% for i in [1, 2] %}{{ loop.changed(ns) }}{{ loop.changed([ns], 1) }}{% endfor %}",
            "TrueTrueTrueTrue",
        ),
        ("{% for i in [1, 2] %}{{ loop.changed([ns]) }}{% endfor %}", "TrueFalse"),
        (
            "{{ [ns, ns]|sort|length }}{{ '%s' % ns|string == ns ~ '' }}{{ (ns|pprint) == ns|string }}",
            "2TrueTrue",
        ),
        (
            "{% macro m() %}{{ ns.n }}{% endmacro %}{% set ns.m = m %}{% set ns.n = 1 %}{{ ns.m() }}{{ ns.m in [m] }}",
            "1True",
        ),
    ] {
        let source = format!("{circle}{source}");
        let trace = || Template::compile_with(&source, patient())?.trace(&hello());
        assert_eq!(render(&source, hello(), patient()).as_deref(), Ok(expected), "{source}");
        assert_eq!(trace().map(|traced| traced.text).as_deref(), Ok(expected), "{source}");
    }
    for source in [
        "{{ ns|tojson }}",
        "{{ {'a': ns}|tojson }}",
        "{{ ns < other }}",
        "{{ [ns, other]|sort }}",
        "{{ [{'k': ns}, {'k': ns}]|groupby('k') }}",
        "{{ ns|length }}",
        "{% for x in ns %}{% endfor %}",
        "{% for i in [ns] %}{{ loop.changed(loop) }}{% endfor %}",
        "{% for i in [ns] %}{% set ns.a = loop %}{{ {loop: 1} }}{% endfor %}",
        "{% for i in [ns] %}{% set ns.a = loop %}{{ [loop]|unique|list }}{% endfor %}",
    ] {
        refused(&format!("{circle}{source}"));
    }
}

/// 2 to the power of 60 values by 60 namespaces, each of which holds the one before twice.
#[test]
fn doubled_namespaces_are_no_trap() {
    let doubled = "{% set top = namespace(at=namespace(), too=namespace()) %}{% for i in range(60) %}\
        {% set top.at = namespace(v=[top.at, top.at]) %}{% set top.too = namespace(v=[top.too, top.too]) %}\
        {% endfor %}{% set a = top.at %}{% set b = top.too %}";
    for (source, expected) in [
        (
            "{{ a == b }}{{ a == a }}{{ a in [b] }}{{ [a] == [b] }}{{ a.v == b.v }}{{ a.v == a.v }}",
            "FalseTrueFalseFalseFalseTrue",
        ),
        (
            "{{ {a: 1, b: 2}|length }}{{ [a, b, a]|unique|list|length }}{{ (a, b) in {(a, b): 1} }}",
            "22True",
        ),
        ("{% for i in [1, 2] %}{{ loop.changed(a.v) }}{% endfor %}", "TrueFalse"),
    ] {
        let source = format!("{doubled}{source}");
        assert_eq!(render(&source, hello(), patient()).as_deref(), Ok(expected), "{source}");
    }
    for source in
        ["{{ a }}", "{{ [a]|string }}", "{{ a|pprint }}", "{{ '%s' % a }}", "{{ a ~ '' }}"]
    {
        let error = refused(&format!("{doubled}{source}"));
        assert!(matches!(error, TemplateError::Budget { .. }), "{source}: {error}");
    }
    for source in [
        "{% set ns = namespace(v=(1,)) %}{% for i in range(60) %}{% set ns.v = (ns.v, ns.v) %}{% endfor %}",
        "{% set n = 2**100 %}{% set r = range(n, n + 99999) %}{% for i in range(99) %}{{ r|unique|list|length }}{% endfor %}",
        "{% set ns = namespace(v=[]) %}{% for i in range(9999) %}{% set ns.v = ns.v + [namespace()] %}{% endfor %}{{ ns.v|unique|list|length }}",
    ] {
        let error = refused(source);
        assert!(matches!(error, TemplateError::Budget { .. }), "{source}: {error}");
    }
}
