//! What a render gives, refuses and bounds.

#![allow(clippy::unwrap_used, clippy::panic)]

use overt_template::{RenderInput, Template, TemplateError};
use serde_json::{Value, json};

fn input(messages: Value) -> RenderInput {
    RenderInput { messages, ..RenderInput::default() }
}

fn hello() -> RenderInput {
    input(json!([{"role": "user", "content": "hello"}]))
}

fn with(name: &str, value: Value) -> RenderInput {
    RenderInput { kwargs: [(name.to_owned(), value)].into_iter().collect(), ..hello() }
}

fn render(source: &str, input: &RenderInput) -> Result<String, TemplateError> {
    Template::compile(source)?.render(input)
}

#[test]
fn json_is_pythons() {
    let value = json!({"b": [1, 1.0, 1e-7, 1e20, null, true, "<é>&'\"\n\u{7f}"], "a": {}, "c": []});
    for (filter, expected) in [
        ("tojson", r#"{"b": [1, 1.0, 1e-07, 1e+20, null, true, "<é>&'\"\n"#.to_owned() + "\u{7f}\"], \"a\": {}, \"c\": []}"),
        ("tojson(ensure_ascii=true)", r#"{"b": [1, 1.0, 1e-07, 1e+20, null, true, "<\u00e9>&'\"\n\u007f"], "a": {}, "c": []}"#.to_owned()),
        ("tojson(separators=(',', ':'), sort_keys=true)", r#"{"a":{},"b":[1,1.0,1e-07,1e+20,null,true,"<é>&'\"\n"#.to_owned() + "\u{7f}\"],\"c\":[]}"),
    ] {
        assert_eq!(render(&format!("{{{{ x|{filter} }}}}"), &with("x", value.clone())).unwrap(), expected, "{filter}");
    }
    let indented =
        render("{{ x|tojson(indent=2) }}", &with("x", json!({"a": [1, {}], "b": []}))).unwrap();
    assert_eq!(indented, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
    assert_eq!(render("{{ x[1:]|tojson }}", &with("x", json!([1, 2, 3]))).unwrap(), "[2, 3]");
    assert!(render("{{ nothing|tojson }}", &hello()).is_err());
}

#[test]
fn the_environment_is_pythons() {
    for (source, expected) in [
        ("{% for c in 'ab' %}{{ c }}{{ loop.last }} {% endfor %}", "aFalse bTrue "),
        (
            "{{ none is iterable }} {{ 'a' is sequence }} {{ messages[0] is sequence }}",
            "False True True",
        ),
        ("{% generation %}{% set x = 1 %}g{% endgeneration %}{{ x is defined }}", "gFalse"),
        ("{{ tools is none }} {{ documents is defined }}", "True True"),
        (
            "{{ 'a-b-c'.rsplit('-', 1) }} {{ 'a-b'.partition('-') }} {{ ' a  b '.split() }}",
            "['a-b', 'c'] ('a', '-', 'b') ['a', 'b']",
        ),
        (
            "{{ 'x=1=2'.split('=', maxsplit=1)[1] }} {{ '7'.zfill(3) }} {{ 'abc'.index('c') }}",
            "1=2 007 2",
        ),
        ("{{ {'a': 1}.copy() }} {{ [1.0, 'x'] }} {{ 1e20 }}", "{'a': 1} [1.0, 'x'] 1e+20"),
        ("{{ 'a\nb\n'|indent(2, first=true) }}|", "  a\n  b\n|"),
        ("{% raw %}\n{{ x }}{% endraw %}", "\n{{ x }}"),
        ("a\r\nb", "a\nb"),
        (
            "{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
            "13",
        ),
    ] {
        assert_eq!(render(source, &hello()).unwrap(), expected, "{source}");
    }
    assert!(matches!(
        render("{% for x in none %}{% endfor %}", &hello()),
        Err(TemplateError::Render { line: 1, .. })
    ));
}

#[test]
fn the_clock_is_local_or_given() {
    let template = Template::compile("{{ strftime_now('%d %b %Y %H:%M') }}").unwrap();
    assert_eq!(template.render_at(&hello(), 1_741_507_507).unwrap(), "09 Mar 2025 08:05");
    assert_eq!(template.render(&hello()).unwrap().len(), "09 Mar 2025 08:05".len());
    for format in ["%", "%Q", "%!", "%-", "", "%é"] {
        // Whatever stands in a template: text, never a panic.
        let rendered =
            Template::compile("{{ strftime_now(f) }}").unwrap().render(&with("f", json!(format)));
        assert!(rendered.is_ok(), "{format}: {rendered:?}");
    }
}

#[test]
fn errors_name_the_line() {
    assert!(matches!(
        Template::compile("a\nb\n{% if %}"),
        Err(TemplateError::Syntax { line: 3, .. })
    ));
    assert!(matches!(
        render("a\n\n{{ x.y.z }}", &hello()),
        Err(TemplateError::Render { line: 3, .. })
    ));
    let raised = render(
        "{% macro m() %}{{ raise_exception('no ' ~ 1) }}{% endmacro %}\n{{ m() }}",
        &hello(),
    );
    assert_eq!(raised, Err(TemplateError::Raised { message: "no 1".to_owned() }));
    assert!(Template::compile("{% generation %}x").is_err());
    assert!(render("{{ debug() }}", &hello()).is_err());
    assert!(render("{% include 'x' %}", &hello()).is_err());
    assert!(render("{{ messages.append(1) }}", &hello()).is_err());
}

#[test]
fn messages_are_normalised() {
    let messages =
        json!([{"role": "assistant", "content": null, "reasoning": "why", "tool_calls": null}]);
    assert_eq!(
        render("{{ messages[0]|tojson }}", &input(messages)).unwrap(),
        r#"{"thinking": "why", "role": "assistant", "reasoning": "why", "reasoning_content": "why"}"#
    );
    for messages in [json!([]), json!({}), json!(null), json!("x"), json!([1])] {
        assert!(matches!(render("", &input(messages)), Err(TemplateError::Input(_))));
    }
}

#[test]
fn arguments_cannot_shadow_fields() {
    for name in
        ["messages", "tools", "documents", "add_generation_prompt", "continue_final_message"]
    {
        let shadowed = TemplateError::Shadowed { name: name.to_owned() };
        assert_eq!(render("", &with(name, json!(1))), Err(shadowed));
    }
    let mut both = with("bos_token", json!("<mine>"));
    both.special_tokens.insert("bos_token".to_owned(), json!("<s>"));
    both.special_tokens.insert("eos_token".to_owned(), json!("</s>"));
    assert_eq!(render("{{ bos_token }}{{ eos_token }}", &both).unwrap(), "<mine></s>");
}

#[test]
fn the_final_message_is_continued() {
    let keeps = "{% for m in messages %}[{{ m.role }}]{{ m.content }}[end]{% endfor %}";
    let trims = "{% for m in messages %}[{{ m.role }}]{{ m.content|trim }}[end]{% endfor %}";
    let continued = |content: Value| RenderInput {
        continue_final_message: true,
        ..input(
            json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]),
        )
    };
    assert_eq!(render(keeps, &continued(json!("so "))).unwrap(), "[user]q[end][assistant]so ");
    assert_eq!(render(trims, &continued(json!("so "))).unwrap(), "[user]q[end][assistant]so");
    let parts = "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}[end]{% endfor %}";
    assert_eq!(
        render(parts, &continued(json!([{"type": "text", "text": "so"}]))).unwrap(),
        "q[end]so"
    );
    for (source, input) in [
        (keeps, continued(json!(null))),
        (keeps, continued(json!([{"type": "image"}]))),
        ("no such field", continued(json!("so"))),
        ("{{ messages[0].content }}", continued(json!("so"))),
        (keeps, RenderInput { add_generation_prompt: true, ..continued(json!("so")) }),
    ] {
        assert!(matches!(render(source, &input), Err(TemplateError::Continue(_))), "{source}");
    }
}
