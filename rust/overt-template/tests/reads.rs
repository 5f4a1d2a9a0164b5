//! What a template reads of its input.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use overt_template::{RenderInput, Template};
use serde_json::{Map, Value, json};

fn template(source: &str) -> Template {
    Template::compile(source).unwrap()
}

#[test]
fn variables_are_those_from_outside() {
    for (source, expected) in [
        ("{{ a }}{{ b.c }}{{ d['e'] }}{{ f|default(g) }}{{ h is defined }}", "a b d f g h"),
        ("{% set messages = messages[1:] %}{{ messages }}", "messages"),
        ("{% set a = 1 %}{{ a }}", ""),
        ("{{ a }}{% set a = 1 %}", "a"),
        ("{% if x %}{% set a = 1 %}{% endif %}{{ a }}", "a x"),
        ("{% if x %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", "x"),
        (
            "{% if x %}{% set a = 1 %}{% elif y %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}",
            "x y",
        ),
        (
            "{% for m in ms %}{{ m }}{{ loop.index }}{% set b = 1 %}{{ b }}{% endfor %}{{ b }}{{ m }}",
            "b m ms",
        ),
        ("{% for x in x if x %}{% else %}{{ y }}{% endfor %}", "x y"),
        ("{% with a = b, c = a %}{{ a }}{{ c }}{% endwith %}{{ c }}", "a b c"),
        (
            "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ later }}{{ other }}{{ m(1) }}{% endmacro %}{% set later = 1 %}{{ m(1) }}",
            "c other",
        ),
        ("{% call(q) f() %}{{ q }}{{ r }}{% endcall %}", "f r"),
        (
            "{% set ns = namespace(a=b) %}{% set ns.a = c %}{{ ns.a }}{{ range(3) }}{{ raise_exception('x') }}",
            "b c",
        ),
        ("{% set x %}{{ a }}{% endset %}{{ x }}{% filter upper %}{{ b }}{% endfilter %}", "a b"),
        (
            "{# {{ a }} #}{% raw %}{{ b }}{% endraw %}{{ 'c' }} d {% generation %}{{ e }}{% endgeneration %}",
            "e",
        ),
        ("{{ x.y.z(k=v) }}{{ 'a' if b else c }}", "b c v x"),
    ] {
        let template = template(source);
        assert_eq!(template.variables().join(" "), expected, "{source}");
        for name in template.variables() {
            assert!(template.reads_variable(name));
        }
        assert!(!template.reads_variable("no_such_name"));
    }
}

#[test]
fn keys_are_those_of_messages() {
    let all = "any_key";
    for (source, read, unread) in [
        (
            "{% for m in messages %}{{ m.role }}{{ m['content'] }}{% endfor %}",
            "role content",
            "name any_key",
        ),
        (
            "{{ messages[0].name }}{{ messages[-1]['a'] }}{{ (messages|last).b }}",
            "name a b",
            "any_key",
        ),
        (
            "{% for t in tools %}{{ t.name }}{{ t|tojson }}{% endfor %}{{ messages|length }}",
            "",
            "name any_key",
        ),
        (
            "{{ messages[0].get('x') }}{% if 'y' in messages[0] %}{% endif %}{% if 'z' not in messages[0] %}{% endif %}",
            "x y z",
            "any_key",
        ),
        (
            "{{ messages|selectattr('role', 'equalto', 'x')|map(attribute='content')|join }}",
            "role content",
            "any_key",
        ),
        (
            "{{ messages|sort(attribute='a,b')|map(attribute='c.d')|list }}{{ messages|groupby('g') }}",
            "a b c g any_key",
            "",
        ),
        (
            "{% set last = messages|last %}{{ last.a }}{% set ns = namespace(m=last) %}{{ ns.m.b }}",
            "a b",
            "any_key",
        ),
        (
            "{% set ns = namespace(last=none) %}{% for m in messages %}{% set ns.last = m %}{% endfor %}{{ ns.last.q }}",
            "q",
            "any_key",
        ),
        (
            "{% macro show(m, x=1) %}{{ m.k }}{% endmacro %}{% for m in messages %}{{ show(m) }}{% endfor %}",
            "k",
            "any_key",
        ),
        (
            "{% macro show(m) %}{{ m }}{% endmacro %}{% for m in messages %}{{ show(m) }}{% endfor %}",
            all,
            "",
        ),
        ("{{ messages }}", all, ""),
        ("{{ messages|tojson }}", all, ""),
        ("{{ messages[0]|string }}", all, ""),
        ("{{ messages[0] ~ '' }}", all, ""),
        ("{{ '%s' % messages[0] }}", all, ""),
        ("{% for k, v in messages[0].items() %}{% endfor %}", all, ""),
        ("{% for k in messages[0] %}{% endfor %}", all, ""),
        ("{{ [messages[0]]|map('tojson')|list }}", all, ""),
        ("{{ {'m': messages}|tojson }}", all, ""),
        (
            "{% for m in messages %}{{ loop.previtem.p if loop.previtem else '' }}{% endfor %}",
            "p",
            "any_key",
        ),
        ("{% for k in ['a', 'b'] %}{{ messages[0][k] }}{% endfor %}", "a b", "any_key"),
        ("{# {{ messages[0].a }} #}{% raw %}{{ messages[0].b }}{% endraw %}", "", "a b any_key"),
        ("{{ messages[0].reasoning_content }}", "reasoning reasoning_content thinking", "any_key"),
        (
            "{{ (messages[1:] + [messages[0]])[0].z }}{{ (messages if x else none)[0].y }}",
            "z y",
            "any_key",
        ),
        (
            "{% if messages[0] == messages[1] %}{% endif %}{{ messages[0] is mapping }}",
            "",
            "any_key",
        ),
        (
            "{{ messages[0].content.name }}{{ messages[0].tool_calls|tojson }}",
            "content tool_calls",
            "any_key",
        ),
    ] {
        let template = template(source);
        for key in read.split_whitespace() {
            assert!(template.reads_key(key), "{key} is read: {source}");
        }
        for key in unread.split_whitespace() {
            assert!(!template.reads_key(key), "{key} is not read: {source}");
        }
    }
}

/// A key that is said not to be read changes no prompt of any real template.
#[test]
fn unread_keys_change_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/templates");
    let Ok(files) = std::fs::read_dir(folder) else {
        println!("no corpus of templates beside the checkout: nothing to try");
        return;
    };
    let call = json!([{"id": "abcdef123", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]);
    let conversations = [
        json!([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "v"}]),
        json!([{"role": "user", "content": "u"}, {"role": "assistant", "content": "", "tool_calls": call},
            {"role": "tool", "content": "r", "tool_call_id": "abcdef123"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "v"}]),
    ];
    let keys = [
        "name",
        "reasoning_content",
        "tool_call_id",
        "refusal",
        "annotations",
        "audio",
        "function_call",
        "tool_calls",
        "prefix",
        "weight",
        "citations",
        "tool_name",
        "tools",
        "documents",
        "plan",
        "recipient",
        "end_turn",
    ];
    let (mut tried, mut unread) = (0, 0);
    for file in files {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jinja") {
            continue;
        }
        let template = template(&std::fs::read_to_string(&path).unwrap());
        let render = |messages: &Value| {
            template.render_at(
                &RenderInput {
                    messages: messages.clone(),
                    tools: Some(json!([{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}])),
                    special_tokens: Map::from_iter([("bos_token".to_owned(), json!("<s>"))]),
                    ..RenderInput::default()
                },
                0,
            )
        };
        for conversation in &conversations {
            let Ok(plain) = render(conversation) else { continue };
            for key in keys {
                if template.reads_key(key) {
                    continue;
                }
                unread += 1;
                for value in
                    [json!("text"), json!([{"type": "text", "text": "t"}]), json!({"a": 1})]
                {
                    let mut changed = conversation.clone();
                    for message in changed.as_array_mut().unwrap() {
                        message.as_object_mut().unwrap().insert(key.to_owned(), value.clone());
                    }
                    tried += 1;
                    assert_eq!(
                        render(&changed).as_ref(),
                        Ok(&plain),
                        "{key} in {}",
                        path.display()
                    );
                }
            }
        }
    }
    println!("{unread} unread keys, {tried} prompts unchanged");
    assert!(tried > 1000);
}
