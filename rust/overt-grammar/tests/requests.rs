//! What requests may ask for, in every spelling, and what they hear when they ask wrongly.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests may fail"
)]

mod common;

use common::{check, options};
use overt_grammar::{Constraint, Options, Whitespace, requested, source};
use serde_json::{Value, json};

fn field(body: &Value) -> (String, Constraint) {
    requested(body)
        .unwrap_or_else(|error| panic!("{body}: {error}"))
        .unwrap_or_else(|| panic!("{body}: nothing"))
}

#[test]
fn nothing_is_asked_for() {
    for body in [
        json!({}),
        json!({"response_format": null, "structured_outputs": null, "guided_json": null}),
        json!({"response_format": {"type": "text"}, "regex": "", "guided_choice": [], "guided_json_object": false}),
        json!({"structured_outputs": {}, "tool_choice": "required"}),
        json!({"structured_outputs": {"json": null, "disable_any_whitespace": true}}),
        Value::Null,
        json!([1, "response_format"]),
    ] {
        assert_eq!(requested(&body), Ok(None), "{body}");
    }
}

#[test]
fn every_spelling_is_read() {
    let schema = json!({"type": "object"});
    let text = schema.to_string();
    let tag = json!({"format": {"type": "any_text"}});
    let json_ = Constraint::Json(schema.clone());
    let regex = Constraint::Regex("a+".to_owned());
    let choice = Constraint::Choice(vec!["a".to_owned(), "b".to_owned()]);
    let ebnf = Constraint::Ebnf("root ::= \"a\"".to_owned());
    let lark = Constraint::Lark("start: \"a\"".to_owned());
    for (body, path, constraint) in [
        (
            json!({"response_format": {"type": "json_object"}}),
            "response_format",
            Constraint::AnyObject,
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {
                "name": "n", "description": "d", "strict": true, "schema": schema}}}),
            "response_format.json_schema.schema",
            json_.clone(),
        ),
        (json!({"structured_outputs": {"json": schema}}), "structured_outputs.json", json_.clone()),
        (json!({"structured_outputs": {"json": text}}), "structured_outputs.json", json_.clone()),
        (
            json!({"structured_outputs": {"regex": "a+", "choice": null}}),
            "structured_outputs.regex",
            regex.clone(),
        ),
        (
            json!({"structured_outputs": {"choice": ["a", "b"]}}),
            "structured_outputs.choice",
            choice.clone(),
        ),
        (
            json!({"structured_outputs": {"grammar": "root ::= \"a\""}}),
            "structured_outputs.grammar",
            ebnf.clone(),
        ),
        (
            json!({"structured_outputs": {"grammar": "start: \"a\""}}),
            "structured_outputs.grammar",
            lark.clone(),
        ),
        (
            json!({"structured_outputs": {"json_object": true}}),
            "structured_outputs.json_object",
            Constraint::AnyObject,
        ),
        (
            json!({"structured_outputs": {"structural_tag": tag.to_string()}}),
            "structured_outputs.structural_tag",
            Constraint::StructuralTag(tag.clone()),
        ),
        (
            json!({"guided_json": text, "guided_decoding_backend": "auto"}),
            "guided_json",
            json_.clone(),
        ),
        (json!({"guided_regex": "a+"}), "guided_regex", regex.clone()),
        (json!({"guided_choice": ["a", "b"]}), "guided_choice", choice),
        (json!({"guided_grammar": "root ::= \"a\""}), "guided_grammar", ebnf.clone()),
        (json!({"guided_json_object": true}), "guided_json_object", Constraint::AnyObject),
        (json!({"json_schema": text}), "json_schema", json_),
        (json!({"regex": "a+"}), "regex", regex),
        (json!({"ebnf": "root ::= \"a\""}), "ebnf", ebnf),
        (json!({"structural_tag": tag}), "structural_tag", Constraint::StructuralTag(tag)),
    ] {
        assert_eq!(field(&body), (path.to_owned(), constraint), "{body}");
    }
}

#[test]
fn wrong_requests_are_refused_by_name() {
    for (body, param, message) in [
        (json!({"response_format": "text"}), "response_format", "an object whose type"),
        (json!({"response_format": {}}), "response_format", "json_schema"),
        (json!({"response_format": {"type": "xml"}}), "response_format.type", "text, json_object"),
        (
            json!({"response_format": {"type": "json_schema"}}),
            "response_format.json_schema",
            "schema",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}),
            "response_format.json_schema.schema",
            "give the schema",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": 1, "schema": {}}}}),
            "response_format.json_schema.name",
            "text",
        ),
        (
            json!({"structured_outputs": {"regex": "a", "json": {}}}),
            "structured_outputs.json",
            "one of them",
        ),
        (json!({"structured_outputs": {"xml": 1}}), "structured_outputs.xml", "unknown"),
        (
            json!({"structured_outputs": {"json_object": false}}),
            "structured_outputs.json_object",
            "true",
        ),
        (
            json!({"structured_outputs": {"choice": []}}),
            "structured_outputs.choice",
            "one text or more",
        ),
        (json!({"structured_outputs": {"grammar": " "}}), "structured_outputs.grammar", "empty"),
        (json!({"structured_outputs": {"json": "{"}}), "structured_outputs.json", "not JSON"),
        (json!({"structured_outputs": {"json": 3}}), "structured_outputs.json", "JSON Schema"),
        (json!({"structured_outputs": 1}), "structured_outputs", "an object"),
        (json!({"guided_choice": [1]}), "guided_choice", "text"),
        (json!({"regex": ["a"]}), "regex", "regular expression"),
        (
            json!({"response_format": {"type": "json_object"}, "guided_regex": "a"}),
            "guided_regex",
            "response_format constrains",
        ),
    ] {
        let error = requested(&body).expect_err(&body.to_string());
        assert_eq!(error.param, param, "{body}");
        assert!(error.message.contains(message), "{body}: {error}");
    }
}

#[test]
fn unusable_constraints_are_refused_with_their_path() {
    let deep =
        (0..70).fold(json!({"type": "null"}), |inner, _| json!({"type": "array", "items": inner}));
    let wide =
        |count: usize| json!({"enum": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()});
    for (body, param, message) in [
        (json!({"regex": "a\u{0}"}), "regex", "NUL"),
        (json!({"regex": "(?=a)b"}), "regex", "look-around"),
        (json!({"regex": "a\\bb"}), "regex", "ends"),
        (json!({"regex": "(a"}), "regex", "unclosed"),
        (json!({"regex": "a".repeat(20_000)}), "regex", "at most"),
        (json!({"ebnf": "root ::= x"}), "ebnf", "line 1, column 10: there is no rule x"),
        (json!({"guided_json": deep}), "guided_json.items", "nested more than 64"),
        (json!({"guided_json": wide(6000)}), "guided_json.enum", "5000"),
        (json!({"guided_json": {"description": "x".repeat(300_000)}}), "guided_json", "bytes"),
        (json!({"structured_outputs": {"json": false}}), "structured_outputs.json", "nothing"),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {
                "type": "object", "properties": {"a": {"type": "array", "contains": {}}}}}}}),
            "response_format.json_schema.schema.properties.a.contains",
            "cannot be enforced",
        ),
        (json!({"structural_tag": {"x": 1}}), "structural_tag", "format"),
        (
            json!({"structural_tag": {"format": {"type": "tag", "begin": "a", "end": "b", "content": {"type": "new"}}}}),
            "structural_tag.format.content.type",
            "new is not supported",
        ),
        (
            json!({"structural_tag": {"triggers": ["<x"], "structures": [{"begin": "<y>", "schema": {}, "end": ""}]}}),
            "structural_tag.structures.0.begin",
            "triggers",
        ),
        (
            json!({"structural_tag": {"triggers": ["<x"], "structures": [
                {"begin": "<x>", "schema": {"contains": 1}, "end": "</x>"}]}}),
            "structural_tag.structures.0.schema.contains",
            "cannot be enforced",
        ),
    ] {
        let (path, constraint) = field(&body);
        let error = source(&constraint, &path, &options()).expect_err(param);
        assert!(error.param.starts_with(param), "{error}");
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn white_space_is_bounded_and_can_be_chosen() {
    let object = Constraint::Json(
        json!({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"],
        "additionalProperties": false}),
    );
    let with = |body: Value| options().with_request(&body).unwrap();
    check(
        &object,
        &options(),
        &["{\"a\":[]}", "{\"a\": []}", "{ \"a\" : [ ] }", "{\n    \"a\": [\n\t\t1\n]}"],
        &["{  \"a\":[]}", "{\n\n\"a\":[]}", " {\"a\":[]}", "{\"a\":[]}\n", "{\"a\":\r[]}"],
    );
    let none = with(json!({"structured_outputs": {"disable_any_whitespace": true}}));
    assert_eq!(none.whitespace, Whitespace::None);
    check(
        &object,
        &none,
        &["{\"a\":[]}", "{\"a\":[\" \",2]}"],
        &["{\"a\": []}", "{ \"a\":[]}", "{\"a\":[1, 2]}"],
    );
    for body in [
        json!({"structured_outputs": {"whitespace_pattern": "[\\t]*"}}),
        json!({"guided_whitespace_pattern": "^[\\t]*$"}),
    ] {
        check(
            &object,
            &with(body),
            &["{\"a\":[]}", "{\"a\":\t\t[]}"],
            &["{\"a\": []}", "{\"a\":\n[]}"],
        );
    }
    assert_eq!(with(json!({"guided_whitespace_pattern": ""})).whitespace, Whitespace::None);
    for (body, param) in [
        (
            json!({"structured_outputs": {"whitespace_pattern": "("}}),
            "structured_outputs.whitespace_pattern",
        ),
        (
            json!({"structured_outputs": {"disable_any_whitespace": 1}}),
            "structured_outputs.disable_any_whitespace",
        ),
        (json!({"guided_whitespace_pattern": 1}), "guided_whitespace_pattern"),
    ] {
        assert_eq!(options().with_request(&body).unwrap_err().param, param);
    }
}

#[test]
fn objects_can_be_closed() {
    let open =
        Constraint::Json(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    check(&open, &options(), &["{}", "{\"a\":1}", "{\"b\":1}"], &["{\"a\":\"x\"}"]);
    let closed = options()
        .with_request(&json!({"structured_outputs": {"disable_additional_properties": true}}))
        .unwrap();
    check(&open, &closed, &["{}", "{\"a\":1}"], &["{\"b\":1}"]);
    check(&Constraint::AnyObject, &closed, &["{\"b\":1}"], &["1"]);
}

#[test]
fn plain_kinds_are_enforced() {
    check(
        &Constraint::Regex("^[0-9]{3}-[a-z]+$".to_owned()),
        &options(),
        &["123-a", "000-zzz"],
        &["12-a", "123-", ""],
    );
    check(&Constraint::Regex("é|日本\\d".to_owned()), &options(), &["é", "日本7"], &["e", "日本"]);
    check(
        &Constraint::Choice(vec!["pos".to_owned(), "positive".to_owned(), "\"".to_owned()]),
        &options(),
        &["pos", "positive", "\""],
        &["posi", ""],
    );
    check(
        &Constraint::Lark("start: \"a\" b+\nb: /[0-9]/".to_owned()),
        &options(),
        &["a1", "a12"],
        &["a", "1"],
    );
    assert!(source(&Constraint::Choice(Vec::new()), "f", &Options::default()).is_err());
}

#[test]
fn structural_tags_in_both_forms() {
    let integer = json!({"type": "integer"});
    let legacy = json!({"type": "structural_tag", "triggers": ["<f="], "structures": [
        {"begin": "<f=a>", "schema": integer, "end": "</f>"}, {"begin": "<f=b>", "schema": {"type": "null"}, "end": "</f>"}]});
    check(
        &Constraint::StructuralTag(legacy),
        &options(),
        &["", "just text", "x<f=a>12</f>y<f=b>null</f>", "<f"],
        &["<f=", "<f=a>null</f>", "<f=c>1</f>", "<f=a>1"],
    );
    let tag = |begin: &str, end: &str| json!({"begin": begin, "end": end, "content": {"type": "json_schema", "json_schema": integer}});
    for (format, whole, not) in [
        (json!({"type": "const_string", "value": "hi"}), &["hi"][..], &["h"][..]),
        (json!({"type": "any_text"}), &["", "x<y>"], &[]),
        (
            json!({"type": "sequence", "elements": [
                {"type": "tag", "begin": "<t>", "end": "</t>", "content": {"type": "any_text"}},
                {"type": "regex", "pattern": "[0-9]+"}]}),
            &["<t></t>1", "<t>a<b</t>42"],
            &["<t>a</t>", "<t>1"],
        ),
        (
            json!({"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [tag("<tool_call>", "</tool_call>")]}),
            &[
                "",
                "hm{{<tool_call>}}1</tool_call>",
                "{{<tool_call>}}1</tool_call>a{{<tool_call>}}2</tool_call>",
            ],
            &["<tool_call>1</tool_call>", "{{<tool_call>}}x</tool_call>"],
        ),
        (
            json!({"type": "triggered_tags", "triggers": ["<a"], "tags": [tag("<a>", "</a>")], "at_least_one": true,
                "stop_after_first": true}),
            &["x<a>1</a>"],
            &["", "x", "<a>1</a>x", "<a>1</a><a>1</a>"],
        ),
        (
            json!({"type": "tags_with_separator", "separator": ",", "tags": [tag("(", ")"), tag("[", "]")], "at_least_one": true}),
            &["(1)", "(1),[2]"],
            &["", "(1)(2)", "(1),"],
        ),
        (
            json!({"type": "or", "elements": [{"type": "const_string", "value": "a"}, {"type": "grammar", "grammar": "root ::= \"b\" root | \"c\""}]}),
            &["a", "c", "bbc"],
            &["b", ""],
        ),
        (
            json!({"type": "repeat", "min": 1, "max": 2, "content": {"type": "const_string", "value": "ab"}}),
            &["ab", "abab"],
            &["", "ababab"],
        ),
        (
            json!({"type": "optional", "content": {"type": "const_string", "value": "ab"}}),
            &["", "ab"],
            &["abab"],
        ),
    ] {
        check(&Constraint::StructuralTag(json!({"format": format})), &options(), whole, not);
    }
}

#[test]
fn schemas_that_grow_without_bound_are_refused() {
    // Each definition holds the next one twice; written out, that is two to the power of their number.
    let bomb = |body: fn(&Value) -> Value| {
        let mut defs: serde_json::Map<String, Value> = (0..40)
            .map(|n| (format!("d{n}"), body(&json!(format!("#/$defs/d{}", n + 1)))))
            .collect();
        defs.insert("d40".to_owned(), json!({"type": "object"}));
        Constraint::Json(json!({"$ref": "#/$defs/d0", "$defs": defs}))
    };
    for narrowed in [
        bomb(|next| json!({"allOf": [{"$ref": next}, {"$ref": next}]})),
        bomb(|next| {
            json!({"type": "object", "properties": {
            "a": {"$ref": next, "type": "object"}, "b": {"$ref": next, "type": "object"}}})
        }),
        bomb(|next| json!({"type": "object", "anyOf": [{"$ref": next}, {"$ref": next}]})),
    ] {
        let error = source(&narrowed, "s", &options()).unwrap_err();
        assert!(error.message.contains("written out"), "{error}");
    }
    // References that stay references cost nothing.
    let plain = bomb(
        |next| json!({"type": "object", "properties": {"a": {"$ref": next}, "b": {"$ref": next}}}),
    );
    common::factory().compile(&source(&plain, "s", &options()).unwrap()).unwrap();
    let chain: serde_json::Map<String, Value> = (0..1200)
        .map(|n| {
            (
                format!("d{n}"),
                json!({"type": "array", "items": {"$ref": format!("#/$defs/d{}", n + 1)}}),
            )
        })
        .chain([("d1200".to_owned(), json!({"type": "null"}))])
        .collect();
    let error =
        source(&Constraint::Json(json!({"$ref": "#/$defs/d0", "$defs": chain})), "s", &options())
            .unwrap_err();
    assert!(
        error.param == "s.$defs.d1000" && error.message.contains("1000 definitions"),
        "{error}"
    );
    let wide: serde_json::Map<String, Value> =
        (0..1100).map(|n| (format!("p{n}"), json!({}))).collect();
    let error =
        source(&Constraint::Json(json!({"properties": wide})), "s", &options()).unwrap_err();
    assert!(error.param == "s.properties" && error.message.contains("1000 properties"), "{error}");
    let rules: String = (0..2100).map(|n| format!("r{n} ::= \"x\"\n")).collect();
    let error = source(&Constraint::Ebnf(rules), "s", &options()).unwrap_err();
    assert!(
        error.message.contains("line 2001") && error.message.contains("more than 2000 rules"),
        "{error}"
    );
}
