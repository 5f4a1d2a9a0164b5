//! Calls written as pairs of keys and values.

use crate::common::pairs::{check, how};
use serde_json::json;

#[test]
fn calls_are_read_where_they_stand() {
    let one = "<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>";
    let call = json!(["edit", {"path": "a"}]);
    for format in ["glm", "glm45", "glm47", "ling3", "poolside_v1", "spark25"] {
        let how = how(format);
        check(&how, "Hello <b>.", "Hello <b>.", &json!([]));
        check(&how, one, "", &json!([call]));
        check(&how, &one.replace('\n', ""), "", &json!([call]));
        check(&how, &format!("I see.\n{one}\n"), "I see.\n", &json!([call]));
        check(&how, &format!("{one}\n{one}"), "", &json!([call, call]));
        check(&how, &format!("{one}{one}"), "", &json!([call, call]));
        check(
            &how,
            &format!("a {one} b {one} c"),
            "a b c".replace(' ', "  ").trim(),
            &json!([call, call]),
        );
        check(&how, "<tool_call>now</tool_call>", "", &json!([["now", {}]]));
        check(&how, "<tool_call>now\n\n</tool_call>", "", &json!([["now", {}]]));
        check(&how, "<tool_call>nowhere</tool_call>", "", &json!([["nowhere", {}]]));
    }
}

#[test]
fn values_are_typed_by_the_schema() {
    for (key, text, value) in [
        ("path", "12", json!("12")),
        ("path", "  \"12\"\n", json!("  \"12\"\n")),
        ("path", "", json!("")),
        (
            "path",
            "\u{8fc7}\u{8def}\u{8d39}\n\"x\"\\ \t\u{1}",
            json!("\u{8fc7}\u{8def}\u{8d39}\n\"x\"\\ \t\u{1}"),
        ),
        ("path", r"\ud83d\ude00", json!(r"\ud83d\ude00")),
        ("path", "{\"a\": [1}</tool_call>", json!("{\"a\": [1}</tool_call>")),
        (
            "path",
            "<tool_call>edit<arg_key>x</arg_key>",
            json!("<tool_call>edit<arg_key>x</arg_key>"),
        ),
        ("path", "see </arg_value> there", json!("see </arg_value> there")),
        ("path", "</arg_value>\n</arg_value>x", json!("</arg_value>\n</arg_value>x")),
        ("id", "42", json!("42")),
        ("line", "42", json!(42)),
        ("line", " 42\n", json!(42)),
        ("line", "many", json!("many")),
        ("ratio", "-1.5e3", json!(-1500.0)),
        ("force", "true", json!(true)),
        ("tags", "[1, \"</arg_value>\", {\"a\": null}]", json!([1, "</arg_value>", {"a": null}])),
        ("options", "{\"b\": {\"c\": [true]}}", json!({"b": {"c": [true]}})),
        ("options", "{", json!("{")),
        ("note", "null", json!(null)),
        ("note", "nullify", json!("nullify")),
        ("either", "5", json!(5)),
        ("either", "five", json!("five")),
        ("mode", "1", json!("1")),
        ("mode", "true", json!("true")),
        ("other", "5", json!(5)),
        ("other", "[5]", json!([5])),
        ("other", "x", json!("x")),
    ] {
        let wire = format!(
            "<tool_call>edit<arg_key>{key}</arg_key><arg_value>{text}</arg_value></tool_call>"
        );
        check(&how("glm47"), &wire, "", &json!([["edit", {key: value}]]));
    }
}

#[test]
fn arguments_are_joined_as_json() {
    let text = "<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>line</arg_key>\n\
                <arg_value>123456789012345678901234567890</arg_value>\n<arg_key>note</arg_key>\n\
                <arg_value>b</arg_value>\n</tool_call>";
    let answer = how("glm45").read(text);
    assert_eq!(
        answer.calls[0].arguments,
        r#"{"path": "a", "line": 123456789012345678901234567890, "note": "b"}"#
    );
    assert_eq!(how("glm45").read("<tool_call>now</tool_call>").calls[0].arguments, "{}");
}

#[test]
fn faults_are_read_as_meant() {
    let path = json!([["edit", {"path": "/tmp/x"}]]);
    for text in [
        "<tool_call>edit<arg_key>path</arg_key></arg_key><arg_value>/tmp/x</arg_value></tool_call>",
        "<tool_call>edit<arg_key>path</arg_key>/tmp/x</arg_value></tool_call>",
        "<tool_call>edit<arg_key>path</arg_key>\n/tmp/x\n</tool_call>",
        "<tool_call>edit<arg_key>path<arg_value>/tmp/x</arg_value></tool_call>",
        "<tool_call>edit<arg_key><arg_key>path</arg_key><arg_value>/tmp/x</arg_value></arg_value></tool_call>",
        "<tool_call><tool_call>edit<arg_key>path</arg_key><arg_value>/tmp/x</arg_value></tool_call></tool_call>",
        "<tool_call>edit<arg_key>path</arg_key><arg_value>/tmp/x</arg_value><arg_key>path</arg_key>\
         <arg_value>second</arg_value></tool_call>",
        "<tool_call>edit<arg_key>path</arg_key><arg_value>/tmp/x</arg_value><arg_key>line</arg_key></tool_call>",
    ] {
        check(&how("glm47"), text, "", &path);
    }
    // The end of the first call is missing.
    check(
        &how("glm47"),
        "<tool_call>edit<arg_key>line</arg_key><arg_value>1</arg_value>\n<tool_call>now</tool_call>",
        "",
        &json!([["edit", {"line": 1}], ["now", {}]]),
    );
}

#[test]
fn what_breaks_behind_a_value_is_text() {
    let begun = "<tool_call>edit<arg_key>line</arg_key><arg_value>1</arg_value>";
    let call = json!([["edit", {"line": 1}]]);
    for (rest, content) in [
        ("<arg_key>days<o and on", "days<o and on"),
        ("<arg_key>a</arg_key>b<tool_call>c", "b<tool_call>c"),
        (
            &*format!("<arg_key>{}</arg_key>", "k".repeat(2000)),
            &*format!("{}</arg_key>", "k".repeat(2000)),
        ),
    ] {
        check(&how("glm47"), &format!("{begun}{rest}"), content, &call);
    }
}

#[test]
fn what_is_no_call_is_text() {
    for text in [
        "Use <tool_call> and </tool_call>.",
        "<tool_call>a b</tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>{\"name\": \"now\"}</tool_call>",
        "<tool_call>edit<arg_key>path</arg_key></tool_call>",
        "<tool_call>edit<arg_key></arg_key><arg_value>1</arg_value></tool_call>",
        "<tool_call>edit",
        "<tool_call>edit<arg_key>path</arg_key>text",
        "x <tool_ca",
        "</tool_call>",
    ] {
        check(&how("glm47"), text, text, &json!([]));
    }
    check(
        &how("glm45"),
        "<tool_call>I think\n<tool_call>now</tool_call>",
        "<tool_call>I think\n",
        &json!([["now", {}]]),
    );
}

#[test]
fn what_is_cut_off_stays_as_it_is() {
    for (text, arguments) in [
        ("<tool_call>edit<arg_key>path</arg_key><arg_value>/tm", r#"{"path": "/tm"#),
        ("<tool_call>edit<arg_key>path</arg_key><arg_value>/tmp</arg_val", r#"{"path": "/tmp"#),
        (
            "<tool_call>edit<arg_key>path</arg_key><arg_value>/tmp</arg_value>\n",
            r#"{"path": "/tmp""#,
        ),
        ("<tool_call>edit<arg_key>line</arg_key><arg_value>1", r#"{"line": "#),
        (
            "<tool_call>edit<arg_key>path</arg_key><arg_value>/tmp</arg_value><arg_k",
            r#"{"path": "/tmp""#,
        ),
        (
            "<tool_call>edit<arg_key>line</arg_key><arg_value>1</arg_value><arg_key>pa</arg_",
            r#"{"line": 1"#,
        ),
        (
            "<tool_call>edit<arg_key>line</arg_key><arg_value>1</arg_value><arg_key>pa",
            r#"{"line": 1"#,
        ),
    ] {
        let answer = how("glm47").read(text);
        assert_eq!((answer.content.as_str(), answer.calls.len()), ("", 1), "{text}");
        assert_eq!(answer.calls[0].arguments, arguments, "{text}");
    }
}

#[test]
fn tags_may_be_special_tokens_and_others_are_dropped() {
    let tags = [
        "<tool_call>",
        "</tool_call>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<|x|>",
    ];
    let how = how("glm47").specials(&tags);
    let text = "a<|x|><tool_call>ed<|x|>it<arg_key>path</arg_key><|x|><arg_value>b<|x|></tool_call>c</arg_value></tool_call><|x|>";
    check(&how, text, "a", &json!([["edit", {"path": "b</tool_call>c"}]]));
    check(&how, "<tool_call>no name</tool_call>", "no name", &json!([]));
}

#[test]
fn thinking_stands_before_calls_and_some_families_calls_end_it() {
    let call = "<tool_call>now</tool_call>";
    for (format, reasoning, text, thought, content, calls) in [
        ("glm45", "glm45", format!("<think>a</think>\nb\n{call}"), "a", "b\n", 1),
        ("glm47", "glm47", format!("<think>a{call}"), "a", "", 1),
        ("ling3", "ling3", format!("<think>a</think>{call}"), "a", "", 1),
        (
            "poolside_v1",
            "poolside_v1",
            format!("<think>\na{call}\n</think>\nb"),
            &*format!("a{call}"),
            "b",
            0,
        ),
        ("hy_v3", "hunyuan", format!("<think>a<tool_calls>\n{call}\n</tool_calls>"), "a", "", 1),
        ("hy_v4", "hy_v4", "<think:opensource>a</think:opensource>b".to_owned(), "a", "b", 0),
        ("iquest_q1", "iquest_q1", "<think>a</think>b".to_owned(), "a", "b", 0),
        (
            "k2_horizon",
            "k2_horizon",
            "<ifm|think_fast>a <ifm|tool_call>now</ifm|tool_call></ifm|think_fast>b".to_owned(),
            "a <ifm|tool_call>now</ifm|tool_call>",
            "b",
            0,
        ),
        ("k2_horizon", "k2_horizon", "<ifm|think>a</ifm|think_faster>b".to_owned(), "a", "b", 0),
    ] {
        let answer = how(format).reasoning(reasoning).read(&text);
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.trim_end(), answer.calls.len()),
            (thought, content.trim_end(), calls),
            "{text}"
        );
    }
    let answer = how("glm47")
        .reasoning("glm47")
        .tail("<|assistant|><think>")
        .read(&format!("a</think>{call}"));
    assert_eq!((answer.reasoning.as_str(), answer.calls.len()), ("a", 1));
    let answer = how("k2_horizon")
        .reasoning("k2_horizon")
        .tail("assistant\n<ifm|think>\n")
        .read("a</ifm|think>b");
    assert_eq!((answer.reasoning.as_str(), answer.content.as_str()), ("a", "b"));
}
