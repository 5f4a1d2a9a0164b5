//! Which part of a request a character is of, and how it is said.

use overt_template::RenderInput;
use serde_json::json;

use crate::{CHATML, assert_spans, input, object, spans, trace, user};

#[test]
fn tools_own_their_json_and_the_template_what_is_between() {
    let tools = json!([{"name": "f", "n": -1.5, "none": null}, {"name": "g", "tags": ["a", true]}]);
    let input = RenderInput { tools: Some(tools), ..user(json!("hi")) };
    let first = r#"{"name": "f", "n": -1.5, "none": null}"#;
    let second = r#"{"name": "g", "tags": ["a", true]}"#;
    assert_spans(
        "{{ tools|tojson }}",
        &input,
        &[("[", "T"), (first, "tool 0"), (", ", "T"), (second, "tool 1"), ("]", "T")],
    );
    assert_spans(
        "{% for t in tools %}{{ t|tojson }};{% endfor %}",
        &input,
        &[(first, "tool 0"), (";", "T"), (second, "tool 1"), (";", "T")],
    );
    assert_spans(
        "{{ tools[0]|tojson(indent=1, sort_keys=true) }}{% for k, v in tools[1]|dictsort %}{{ k }}={{ v }} {% endfor %}",
        &input,
        &[
            ("{\n \"n\": -1.5,\n \"name\": \"f\",\n \"none\": null\n}", "tool 0"),
            ("name", "tool 1"),
            ("=", "T"),
            ("g", "tool 1"),
            (" ", "T"),
            ("tags", "tool 1"),
            ("=", "T"),
            ("['a', True]", "tool 1"),
            (" ", "T"),
        ],
    );
}

#[test]
fn parts_of_messages_are_told_apart() {
    let input = input(json!([
        {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "name": "bo"},
        {"role": "assistant", "reasoning": "hm", "content": null, "tool_calls": [
            {"id": "c0", "function": {"name": "f", "arguments": {"n": 4, "s": "x", "b": false, "z": null}}},
            {"id": "c1", "function": {"name": "f", "arguments": "{\"n\": 4}"}},
        ]},
        {"role": "tool", "tool_call_id": "c0", "content": "4", "weight": 1},
    ]));
    assert_spans(
        "{% for p in messages[0].content %}{{ p.text }}{% endfor %} {{ messages[0].name }}",
        &input,
        &[("one two", "0 content"), (" ", "T"), ("bo", "0 name")],
    );
    assert_spans(
        "{{ messages[1].thinking }}{{ messages[1].reasoning_content }}{{ messages[2].tool_call_id }}{{ messages[2].content }}{{ messages[2].weight }}",
        &input,
        &[
            ("hmhm", "1 reasoning"),
            ("c0", "2 call id"),
            ("4", "2 content"),
            ("1", "2 other weight"),
        ],
    );
    assert_spans(
        "{% for c in messages[1].tool_calls %}{{ c.function.arguments if c.function.arguments is string else c.function.arguments|tojson }};{% endfor %}",
        &input,
        &[
            (r#"{"n": 4, "s": "x", "b": false, "z": null}"#, "1 call 0"),
            (";", "T"),
            (r#"{"n": 4}"#, "1 call 1"),
            (";", "T"),
        ],
    );
    // Numbers, booleans and None on their own, too.
    assert_spans(
        "{% for k, v in messages[1].tool_calls[0].function.arguments.items() %}<{{ k }}>{{ v if v is not number else v|string }}{% endfor %}{{ 4 }}{{ 4 + messages[1].tool_calls[0].function.arguments.n }}",
        &input,
        &[
            ("<", "T"),
            ("n", "1 call 0"),
            (">", "T"),
            ("4", "1 call 0"),
            ("<", "T"),
            ("s", "1 call 0"),
            (">", "T"),
            ("x", "1 call 0"),
            ("<", "T"),
            ("b", "1 call 0"),
            (">", "T"),
            ("False", "1 call 0"),
            ("<", "T"),
            ("z", "1 call 0"),
            (">", "T"),
            ("None", "1 call 0"),
            ("48", "T"),
        ],
    );
}

#[test]
fn variables_are_named_and_counted_when_used() {
    let input = RenderInput {
        kwargs: object(
            json!({"reasoning_effort": "high", "budget": 512, "unused": "high", "flag": true}),
        ),
        documents: Some(json!([{"text": "alpha"}, {"text": "beta"}])),
        ..user(json!("high"))
    };
    let source = "{% if flag and budget > 500 and flag is true %}{{ reasoning_effort }} {{ budget }} {{ documents[1].text }} {{ messages[0].content }}{% endif %}{% if false %}{{ unused }}{% endif %}";
    assert_spans(
        source,
        &input,
        &[
            ("high", "kwarg reasoning_effort"),
            (" ", "T"),
            ("512", "kwarg budget"),
            (" ", "T"),
            ("beta", "document 1"),
            (" ", "T"),
            ("high", "0 content"),
        ],
    );
    assert_eq!(trace(source, &input).used, ["budget", "flag", "reasoning_effort"]);
}

#[test]
fn a_continued_message_ends_the_spans() {
    let input = RenderInput {
        continue_final_message: true,
        ..input(
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "so it "}]),
        )
    };
    let spans = spans(CHATML, &input);
    assert_eq!(spans.last().unwrap(), &("so it ".to_owned(), "1 content".to_owned()));
}

#[test]
fn spans_are_flat_objects() {
    let input = RenderInput {
        tools: Some(json!([1])),
        documents: Some(json!(["d"])),
        kwargs: object(json!({"k": "v"})),
        special_tokens: object(json!({"bos_token": "<s>"})),
        ..input(json!([{"role": "r", "content": "7", "x": "y", "tool_calls": [{"id": "i"}]}]))
    };
    let source = "-{{ messages[0].role }}{{ messages[0].x }}{{ messages[0].tool_calls[0].id }}{{ tools[0] }}{{ documents[0] }}{{ k }}{{ bos_token }}{{ messages[0].content.zfill(2) }}";
    assert_eq!(
        serde_json::to_value(trace(source, &input)).unwrap(),
        json!({"text": "-ryi1dv<s>07", "exact": false, "used": ["k"], "spans": [
            {"start": 0, "end": 1, "origin": "template"},
            {"start": 1, "end": 2, "origin": "message", "message": 0, "part": "role"},
            {"start": 2, "end": 3, "origin": "message", "message": 0, "part": "other", "key": "x"},
            {"start": 3, "end": 4, "origin": "message", "message": 0, "part": "tool_call", "tool_call": 0},
            {"start": 4, "end": 5, "origin": "tool", "tool": 0},
            {"start": 5, "end": 6, "origin": "document", "document": 0},
            {"start": 6, "end": 7, "origin": "kwarg", "name": "k"},
            {"start": 7, "end": 10, "origin": "special_token", "name": "bos_token"},
            {"start": 10, "end": 12, "origin": "message", "message": 0, "part": "content", "derived": true},
        ]})
    );
}
