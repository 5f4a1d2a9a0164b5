//! Tools.

use serde_json::{Value, json};

use super::{told, user};

#[test]
fn tools_take_the_form_that_is_read() {
    let function = json!({"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}});
    let wrapped = json!({"type": "function", "function": function});
    let fields = "{{ t.name + ': ' + t.description }}{{ t.parameters|tojson }}";
    let tail = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let bare = format!("{{% for t in tools or [] %}}{fields}{{% endfor %}}{tail}");
    let inner = format!(
        "{{% for t in tools or [] %}}{{% set t = t.function %}}{fields}{{% endfor %}}{tail}"
    );
    let whole = format!("{{% for t in tools or [] %}}{{{{ t|tojson }}}}{{% endfor %}}{tail}");
    let run = |source: &str, tool: &Value| {
        super::run(source, json!([user()]), Some(json!([tool]))).unwrap()
    };
    for (source, sent, expected, change) in [
        (&bare, &wrapped, &function, Some("tool_unwrapped")),
        (&bare, &function, &function, None),
        (&inner, &function, &wrapped, Some("tool_wrapped")),
        (&inner, &wrapped, &wrapped, None),
        (&whole, &function, &function, None),
        (&whole, &wrapped, &wrapped, None),
    ] {
        let normalised = run(source, sent);
        assert_eq!(normalised.tools, Some(json!([expected])), "{source}");
        let changes: Vec<_> =
            change.into_iter().map(|name| (name, "tools[0]".to_owned())).collect();
        assert_eq!(normalised.changes, changes, "{source}");
    }
    let short = json!({"type": "function", "function": {"name": "f", "parameters": null}});
    let normalised = run(&inner, &short);
    assert_eq!(normalised.prompt, r#"f: {"type": "object", "properties": {}}u"#);
    assert_eq!(
        normalised.changes,
        told(&[
            ("tool_description_filled", "tools[0].function.description"),
            ("tool_parameters_filled", "tools[0].function.parameters")
        ])
    );
    assert_eq!(run(&whole, &short).changes, []);
}
