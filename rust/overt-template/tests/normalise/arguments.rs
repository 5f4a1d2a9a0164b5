//! Arguments of calls.

use serde_json::{Value, json};

use super::{assistant, call, messages, run, told, tool, user};

/// A template that writes calls, their arguments as `written`.
fn calling(written: &str) -> String {
    format!(
        "{{% for m in messages %}}[{{{{ m.role }}}}]{{% for c in m.tool_calls %}}{{{{ c.function.name }}}}({written})\
         {{% else %}}{{{{ m.content }}}}{{% endfor %}}{{% endfor %}}"
    )
}

const ITEMS: &str =
    "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }},{% endfor %}";
const JSON: &str = "{{ c.function.arguments|tojson }}";
const PLAIN: &str = "{{ c.function.arguments }}";
const ADDED: &str = "{{ '' + c.function.arguments }}";
const EITHER: &str =
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments|tojson }}";
const ITEMS_OR_TEXT: &str = "{% if c.function.arguments is mapping %}{% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }},{% endfor %}{% else %}{{ c.function.arguments }}{% endif %}";

#[test]
fn arguments_take_the_form_that_is_written() {
    let text = r#"{"a": 1.0, "b": [1e20, 12345678901], "é": "<\""}"#;
    let mapping: Value = serde_json::from_str(text).unwrap();
    let sent =
        |arguments: Value| json!([user(), assistant(&[call("call_1", arguments)]), tool("call_1")]);
    let parsed = [("arguments_parsed", "messages[1].tool_calls[0].function.arguments")];
    let serialised = [("arguments_serialised", "messages[1].tool_calls[0].function.arguments")];
    let items = r#"a=1.0,b=[1e+20, 12345678901],é="<\"","#;
    let dumped = r#"{"a": 1.0, "b": [1e+20, 12345678901], "é": "<\""}"#;
    for (written, arguments, changes, expected) in [
        (ITEMS, json!(text), &parsed[..], items),
        (ITEMS, mapping.clone(), &[], items),
        (JSON, json!(text), &parsed, dumped),
        (JSON, mapping.clone(), &[], dumped),
        (PLAIN, json!(text), &[], text),
        (PLAIN, mapping.clone(), &serialised, dumped),
        (ADDED, json!(text), &[], text),
        (ADDED, mapping.clone(), &serialised, dumped),
        (EITHER, json!(text), &[], text),
        (EITHER, mapping.clone(), &[], dumped),
        (ITEMS_OR_TEXT, json!(text), &parsed, items),
        (ITEMS_OR_TEXT, mapping, &[], items),
    ] {
        let normalised = messages(&calling(written), sent(arguments));
        assert_eq!(normalised.changes, told(changes), "{written}");
        assert_eq!(
            normalised.prompt,
            format!("[user]u[assistant]f({expected})[tool]r"),
            "{written}"
        );
    }
}

#[test]
fn no_arguments_are_an_empty_object() {
    for absent in [json!(""), json!(" \n"), json!(null)] {
        for (written, expected) in [
            (ITEMS, ""),
            (JSON, "{}"),
            (PLAIN, "{}"),
            (ADDED, "{}"),
            (EITHER, "{}"),
            (ITEMS_OR_TEXT, ""),
        ] {
            let normalised = messages(
                &calling(written),
                json!([user(), assistant(&[call("call_1", absent.clone())])]),
            );
            let path = "messages[1].tool_calls[0].function.arguments";
            assert_eq!(normalised.changes, told(&[("empty_arguments_filled", path)]), "{written}");
            assert_eq!(normalised.prompt, format!("[user]u[assistant]f({expected})"), "{written}");
        }
    }
    let missing = json!([user(), assistant(&[json!({"id": "call_1", "function": {"name": "f"}})])]);
    assert_eq!(messages(&calling(ITEMS), missing).prompt, "[user]u[assistant]f()");
}

#[test]
fn arguments_that_are_no_object_are_unfit_where_one_is_needed() {
    let path = "messages[1].tool_calls[1].function.arguments";
    let sent = |text: &Value| {
        json!([user(), assistant(&[call("call_1", json!("{}")), call("call_2", text.clone())])])
    };
    for (arguments, what) in [
        (json!("{\"a\": 1"), "cannot be read as JSON"),
        (json!("nothing"), "cannot be read as JSON"),
        (json!("[1]"), "is JSON, but no object"),
        (json!("\"{}\""), "is JSON, but no object"),
        (json!([1]), "is no object"),
        (json!(7), "is no object"),
    ] {
        for written in [ITEMS, JSON] {
            let unfit = run(&calling(written), sent(&arguments), None).err().unwrap();
            assert_eq!(unfit.path, path);
            assert!(unfit.message.contains(what) && unfit.message.contains(path), "{unfit}");
        }
        for written in [PLAIN, ADDED, EITHER, ITEMS_OR_TEXT] {
            let source = calling(written);
            assert_eq!(
                messages(&source, sent(&arguments)).messages,
                sent_normalised(&source, &sent(&arguments))
            );
        }
    }
}

#[test]
fn integers_that_parsing_would_lose_are_unfit_where_it_is_needed() {
    let path = "messages[1].tool_calls[0].function.arguments";
    let text = r#"{"a": [{"id": 12345678901234567890123}]}"#;
    let sent = json!([user(), assistant(&[call("call_1", json!(text))]), tool("call_1")]);
    for written in [ITEMS, JSON, ITEMS_OR_TEXT] {
        let unfit = run(&calling(written), sent.clone(), None).err().unwrap();
        assert_eq!(unfit.path, path);
        assert!(unfit.message.contains("12345678901234567890123 at `a[0].id`"), "{unfit}");
    }
    for written in [PLAIN, ADDED, EITHER] {
        let prompt = messages(&calling(written), sent.clone()).prompt;
        assert_eq!(prompt, format!("[user]u[assistant]f({text})[tool]r"), "{written}");
    }
    let edges = r#"{"a": [-9223372036854775808, 18446744073709551615]}"#;
    let sent = json!([user(), assistant(&[call("call_1", json!(edges))]), tool("call_1")]);
    assert!(messages(&calling(JSON), sent).prompt.contains(edges));
}

/// The first call's `{}` in the form of the template, the second call as sent.
fn sent_normalised(source: &str, sent: &Value) -> Value {
    let mut expected = sent.clone();
    if source.contains("is mapping") {
        expected[1]["tool_calls"][0]["function"]["arguments"] = json!({});
    }
    expected
}
