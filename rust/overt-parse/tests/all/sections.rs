//! Calls written as pairs in sections, with types, as JSON, or with a tag of their own.

use crate::common::pairs::{check, how};
use serde_json::{Value, json};

#[test]
fn sections_stand_around_calls_or_are_missing() {
    let one = "<tool_call>edit<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>";
    let call = json!(["edit", {"path": "a"}]);
    for format in ["hunyuan", "hy_v3", "hy_v4"] {
        for suffix in ["", ":opensource"] {
            let suffixed = |text: &str| {
                let text = if format == "hy_v4" {
                    text.replace("<tool_sep>", "")
                } else {
                    text.to_owned()
                };
                ["tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value"]
                    .iter()
                    .fold(text, |text, tag| {
                        text.replace(&format!("{tag}>"), &format!("{tag}{suffix}>"))
                    })
            };
            let how = how(format);
            let read = |text: &str, content: &str, calls: &Value| {
                check(&how, &suffixed(text), &suffixed(content), calls)
            };
            read(&format!("<tool_calls>\n{one}\n</tool_calls>"), "", &json!([call]));
            read(
                &format!("Sure.<tool_calls>\n{one}\n{one}\n</tool_calls>\nDone."),
                "Sure.\nDone.",
                &json!([call, call]),
            );
            read(
                &format!("<tool_calls>{}</tool_calls>", one.replace('\n', "")),
                "",
                &json!([call]),
            );
            read(&one.replace("<tool_sep>", ""), "", &json!([call]));
            read(&format!("{one}\n</tool_calls>"), "", &json!([call]));
            read(&format!("<tool_calls>\n<tool_calls>{one}</tool_calls>"), "", &json!([call]));
            // The call's end is missing.
            read(
                &format!("<tool_calls>{}</tool_calls> x", one.replace("</tool_call>", "")),
                " x",
                &json!([call]),
            );
            read(
                "<tool_calls><tool_call>now<tool_sep></tool_call></tool_calls>",
                "",
                &json!([["now", {}]]),
            );
            read("<tool_calls> and more", "<tool_calls> and more", &json!([]));
            read("<tool_calls>\n</tool_calls>", "<tool_calls>\n</tool_calls>", &json!([]));
            read(
                "<tool_calls><tool_call>no name</tool_calls>",
                "<tool_calls><tool_call>no name</tool_calls>",
                &json!([]),
            );
            read(&format!("<tool_calls>{one} then </tool_calls> x"), " then  x", &json!([call]));
        }
    }
    // A suffix that no family has is text.
    check(&how("hy_v3"), "<tool_calls:x>", "<tool_calls:x>", &json!([]));
}

#[test]
fn k2_horizon_writes_types_or_json() {
    let how = how("k2_horizon");
    let call = |inside: &str| {
        format!("<ifm|tool_calls>\n<ifm|tool_call>{inside}</ifm|tool_call>\n</ifm|tool_calls>")
    };
    let pair = |key: &str, kind: &str, value: &str| {
        let kind = if kind.is_empty() {
            String::new()
        } else {
            format!("<ifm|arg_type>{kind}</ifm|arg_type>\n")
        };
        format!("<ifm|arg_key>{key}</ifm|arg_key>\n{kind}<ifm|arg_value>{value}</ifm|arg_value>\n")
    };
    for (inside, arguments) in [
        (
            format!("edit\n{}{}", pair("path", "string", "  a "), pair("line", "integer", "3")),
            json!({"path": "  a ", "line": 3}),
        ),
        (format!("edit\n{}", pair("either", "integer", "123")), json!({"either": 123})),
        (format!("edit\n{}", pair("either", "string", "123")), json!({"either": "123"})),
        (format!("edit\n{}", pair("other", "string", "123")), json!({"other": "123"})),
        (format!("edit\n{}", pair("other", "any", "123")), json!({"other": 123})),
        (format!("edit\n{}", pair("path", "integer", "123")), json!({"path": "123"})),
        (
            format!("edit\n{}", pair("options", "", "{\"u\": \"m\"}")),
            json!({"options": {"u": "m"}}),
        ),
        ("edit".to_owned(), json!({})),
        (
            r#"{"name": "edit", "arguments": {"path": "</ifm|tool_call>", "x": "123"}}"#.to_owned(),
            json!({"path": "</ifm|tool_call>", "x": "123"}),
        ),
        (r#" {"arguments": {"a": [{}]}, "name": "edit"} "#.to_owned(), json!({"a": [{}]})),
        (r#"{"name": "edit", "arguments": null}"#.to_owned(), json!({})),
        (r#"{"name": "edit", "parameters": {}}"#.to_owned(), json!({})),
    ] {
        check(&how, &call(&inside), "", &json!([["edit", arguments]]));
    }
    for inside in [
        r#"{"name": 123, "arguments": {}}"#,
        r#"{"arguments": {}}"#,
        r#"{"name": "edit""#,
        "edit<ifm|arg_key>path</ifm|arg_key>",
    ] {
        let text = format!("prefix{}suffix", call(inside));
        check(&how, &text, &text, &json!([]));
    }
    let cut = how.read(r#"<ifm|tool_call>{"name": "edit", "arguments": {"path": "a"#);
    assert_eq!(cut.calls[0].arguments, r#"{"path": "a"#);
    let two = format!(
        "<ifm|tool_calls>{0}{0}</ifm|tool_calls>",
        r#"<ifm|tool_call>{"name": "now", "arguments": {}}</ifm|tool_call>"#
    );
    check(&how, &two, "", &json!([["now", {}], ["now", {}]]));
    // The first call's end is missing.
    check(&how, &two.replacen("</ifm|tool_call>", "", 1), "", &json!([["now", {}], ["now", {}]]));
    check(&how, r#"<ifm|tool_call>{"name": "now"} then"#, " then", &json!([["now", {}]]));
}

#[test]
fn iquest_has_a_tag_of_its_own() {
    let call = "<iquest_tool_call>edit\n<arg_key>path</arg_key><arg_value>  \"123\"\n</arg_value>\
                <arg_key>line</arg_key> <arg_value>42</arg_value>\n</iquest_tool_call>";
    let said = json!(["edit", {"path": "  \"123\"\n", "line": 42}]);
    let how = how("iquest_q1");
    check(
        &how,
        &format!("before{call}between{call}after"),
        "beforebetweenafter",
        &json!([said, said]),
    );
    check(&how, "<iquest_tool_call>now</iquest_tool_call>", "", &json!([["now", {}]]));
    for text in
        ["<iquest_tool_call>edit<arg_key>path</arg_key>", "<iquest_", "<tool_call>now</tool_call>"]
    {
        check(&how, text, text, &json!([]));
    }
}
