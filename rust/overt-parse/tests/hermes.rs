//! The hermes format: exact events, however cut.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use overt_parse::{Event, Events, Piece, find};
use proptest::prelude::*;
use serde_json::Value;

/// What a client has in the end: text and calls in the order in which they came, neighbouring text joined.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Said {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Call { id: String, name: String, arguments: String, ended: bool },
}

impl Said {
    fn read(&mut self, events: &Events) {
        for event in events.iter() {
            match (event, self.parts.last_mut()) {
                (Event::Text(text), Some(Part::Text(last))) => last.push_str(text),
                (Event::Text(text), _) => self.parts.push(Part::Text(text.to_owned())),
                (Event::ToolStart { index, id, name }, _) => {
                    assert_eq!(index as usize, self.calls().count());
                    let (id, name) = (id.to_owned(), name.to_owned());
                    self.parts.push(Part::Call {
                        id,
                        name,
                        arguments: String::new(),
                        ended: false,
                    });
                }
                (
                    Event::ToolArgs { text, .. },
                    Some(Part::Call { arguments, ended: false, .. }),
                ) => {
                    arguments.push_str(text);
                }
                (Event::ToolEnd { .. }, Some(Part::Call { ended, .. })) if !*ended => *ended = true,
                (event, last) => panic!("{event:?} after {last:?}"),
            }
        }
    }

    fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { name, arguments, .. } => Some((name.as_str(), arguments.as_str())),
            Part::Text(_) => None,
        })
    }

    fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| if let Part::Text(text) = part { text.as_str() } else { "" })
            .collect()
    }
}

fn parse<'a>(pieces: impl IntoIterator<Item = Piece<'a>>) -> Said {
    let mut parser = (find("hermes").unwrap().build)(7);
    let (mut said, mut events) = (Said::default(), Events::new());
    for piece in pieces {
        events.clear();
        parser.push(piece, &mut events);
        said.read(&events);
    }
    events.clear();
    parser.finish(&mut events);
    said.read(&events);
    assert_eq!(parser.tool_calls() as usize, said.calls().count());
    assert!(
        said.parts.iter().all(|part| !matches!(part, Part::Call { ended: false, .. })),
        "{said:?}"
    );
    said
}

fn text(text: &str) -> Piece<'_> {
    Piece { text, special: false }
}

fn whole(output: &str) -> Said {
    parse([text(output)])
}

fn chars(output: &str) -> Vec<Piece<'_>> {
    output.split_inclusive(|_: char| true).map(text).collect()
}

/// Output of few shapes, near the format and off it.
fn output() -> impl Strategy<Value = String> {
    let shards = [
        "<tool_call>",
        "</tool_call>",
        "<tool_call>{\"name\": \"f\", ",
        "{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}",
        "{\"arguments\": {}, \"name\": \"g\"}",
        "{\"name\": \"h\"}",
        "{\"name\": \"é\\\"\", \"arguments\": null}",
        "{",
        "}",
        "\"name\"",
        "\"arguments\": ",
        ":",
        ",",
        "\"",
        "\\",
        "\"x\"",
        "1.5e3",
        "null",
        "[",
        "]",
        " ",
        "\n",
        "<",
        "<tool",
        "日本",
        "text",
    ];
    proptest::collection::vec(proptest::sample::select(shards.to_vec()), 0..14)
        .prop_map(|shards| shards.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn events_do_not_depend_on_cuts(output in output(), cuts in proptest::collection::vec(1usize..6, 0..30)) {
        let expected = whole(&output);
        prop_assert_eq!(&parse(chars(&output)), &expected);
        let mut pieces = Vec::new();
        let mut rest = output.as_str();
        for cut in cuts {
            let at = rest.char_indices().map(|c| c.0).nth(cut).unwrap_or(rest.len());
            pieces.push(text(&rest[..at]));
            rest = &rest[at..];
        }
        pieces.push(text(rest));
        prop_assert_eq!(&parse(pieces), &expected);
    }

    #[test]
    fn nothing_is_lost_or_made_up(output in output()) {
        let said = whole(&output);
        if said.calls().next().is_none() {
            prop_assert_eq!(said.text(), output);
        } else {
            // All that is said stands in the output, in this order; only `{}` may stand for absent arguments.
            let mut rest = output.chars();
            for part in &said.parts {
                let verbatim = match part {
                    Part::Text(text) => text,
                    Part::Call { arguments, .. } if arguments == "{}" => continue,
                    Part::Call { arguments, .. } => {
                        prop_assert!(output.contains(arguments.as_str()));
                        arguments
                    }
                };
                prop_assert!(verbatim.chars().all(|c| rest.any(|r| r == c)), "{:?} of {:?}", part, output);
            }
        }
    }

    #[test]
    fn prose_and_calls_come_out_in_order(
        segments in proptest::collection::vec((
            "[a-z<>é {}\"]{0,8}[a-z]",
            proptest::option::of(("[a-z]{1,6}", proptest::collection::btree_map("[a-z]{1,3}", "(\\PC|[\"\\\\<{}]){0,8}", 0..3))),
        ), 0..5),
    ) {
        let (mut output, mut expected) = (String::new(), Vec::new());
        for (prose, call) in &segments {
            output.push_str(prose);
            match expected.last_mut() {
                Some(Part::Text(last)) => last.push_str(prose),
                _ => expected.push(Part::Text(prose.clone())),
            }
            if let Some((name, arguments)) = call {
                let arguments = serde_json::to_string(arguments).unwrap();
                output.push_str(&format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"));
                expected.push(Part::Call { id: String::new(), name: name.clone(), arguments, ended: true });
            }
        }
        let mut said = whole(&output);
        for part in &mut said.parts {
            if let Part::Call { id, .. } = part {
                prop_assert!(id.len() == 29 && id.starts_with("call_") && id[5..].bytes().all(|b| b.is_ascii_hexdigit()));
                id.clear();
            }
        }
        prop_assert_eq!(said.parts, expected);
    }

    #[test]
    fn every_prefix_can_end(output in output()) {
        for (at, _) in output.char_indices() {
            parse([text(&output[..at])]);
        }
    }
}

fn call(output: &str) -> (String, String) {
    let said = whole(output);
    let calls: Vec<_> = said.calls().collect();
    assert_eq!((calls.len(), said.text().as_str()), (1, ""), "{said:?}");
    (calls[0].0.to_owned(), calls[0].1.to_owned())
}

#[test]
fn arguments_are_the_models_own_bytes() {
    for (body, name, arguments) in [
        (
            r#"{"name": "f", "arguments": {"a":1,  "b" : [ 1.50, -0e1]}}"#,
            "f",
            r#"{"a":1,  "b" : [ 1.50, -0e1]}"#,
        ),
        (r#"{"arguments": {"q": "\u00fc"}, "name": "g"}"#, "g", r#"{"q": "\u00fc"}"#),
        (r#"{"name": "f"}"#, "f", "{}"),
        (r#"{"name": "f", "arguments": null}"#, "f", "{}"),
        (r#"{"name": "f", "arguments": {}, "id": [1, {"x": "}"}]}"#, "f", "{}"),
        (r#"{"id": 7, "name": "f", "arguments": "text"}"#, "f", r#""text""#),
        (
            r#"{"name": "a\"\u00e9", "arguments": {"x": "</tool_call><tool_call>{"}}"#,
            "a\"é",
            r#"{"x": "</tool_call><tool_call>{"}"#,
        ),
        (
            r#"{"name": "f", "name": "g", "arguments": {"a": 1}, "arguments": {"b": 2}}"#,
            "f",
            r#"{"a": 1}"#,
        ),
    ] {
        assert_eq!(
            call(&format!("<tool_call>{body}</tool_call>")),
            (name.to_owned(), arguments.to_owned()),
            "{body}"
        );
        assert_eq!(
            call(&format!("\n<tool_call>\n{body}\n</tool_call>\n\n")),
            (name.to_owned(), arguments.to_owned())
        );
    }
}

#[test]
fn arguments_stream_as_they_come() {
    let mut parser = (find("qwen25").unwrap().build)(1);
    let mut events = Events::new();
    parser.push(text("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"), &mut events);
    assert_eq!(events.iter().last(), Some(Event::ToolArgs { index: 0, text: "{\"a\": \"b" }));
    events.clear();
    parser.push(text("c\"}"), &mut events);
    assert_eq!(events.iter().collect::<Vec<_>>(), [Event::ToolArgs { index: 0, text: "c\"}" }]);
    events.clear();
    parser.push(text("}"), &mut events);
    assert_eq!(events.iter().collect::<Vec<_>>(), [Event::ToolEnd { index: 0 }]);
}

#[test]
fn what_is_no_call_is_text() {
    for output in [
        "<tool_call>not json</tool_call>",
        "<tool_call>{\"name\": 5}</tool_call>",
        "<tool_call>{\"name\": \"\"}</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call> tail",
        "\n <tool_call>[]",
        "<tool_call>{\"name\": \"f",
        "if a < b then <toolbox> <<tool_c",
        "</tool_call>",
        "  \n",
    ] {
        let said = whole(output);
        assert_eq!((said.text().as_str(), said.calls().count()), (output, 0));
    }
}

#[test]
fn a_broken_call_that_has_begun_is_ended_as_it_stands() {
    let said = whole("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1</tool_call> on");
    assert_eq!(said.calls().collect::<Vec<_>>(), [("f", "{\"a\": 1")]);
    assert_eq!(said.text(), " on");
    let said = whole("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}</tool_call>");
    assert_eq!(
        (said.calls().collect::<Vec<_>>(), said.text().as_str()),
        (vec![("f", "{\"a\": 1}")], "")
    );
}

#[test]
fn markers_may_be_special_tokens() {
    let special = |text| Piece { text, special: true };
    let body = text("{\"name\": \"f\", \"arguments\": {}}");
    let said = parse([
        text("a "),
        special("<tool_call>"),
        body,
        special("</tool_call>"),
        special("<|im_end|>"),
    ]);
    assert_eq!((said.text().as_str(), said.calls().collect::<Vec<_>>()), ("a ", vec![("f", "{}")]));
    // Hidden markers stay hidden when there was no call, and text between them is shown.
    let said = parse([special("<tool_call>"), text("no {"), special("</tool_call>"), text("!")]);
    assert_eq!((said.text().as_str(), said.calls().count()), ("no {!", 0));
    let said = parse([special("<tool_call>"), text("{"), special("</tool_call>"), text("!")]);
    assert_eq!((said.text().as_str(), said.calls().count()), ("{!", 0));
    // Within a string a marker is text.
    let said = parse([
        special("<tool_call>"),
        text("{\"name\": \"f\", \"arguments\": {\"a\": \""),
        special("</tool_call>"),
        text("\"}}"),
        special("</tool_call>"),
    ]);
    assert_eq!(said.calls().collect::<Vec<_>>(), [("f", "{\"a\": \"</tool_call>\"}")]);
}

#[test]
fn ids_differ_between_calls_and_choices() {
    let output = "<tool_call>{\"name\": \"f\"}</tool_call>".repeat(50);
    let mut ids = std::collections::HashSet::new();
    for seed in 0..20 {
        let mut parser = (find("hermes").unwrap().build)(seed);
        let mut events = Events::new();
        parser.push(text(&output), &mut events);
        for event in events.iter() {
            if let Event::ToolStart { id, .. } = event {
                assert!(ids.insert(id.to_owned()));
            }
        }
    }
    assert_eq!(ids.len(), 1000);
}

/// Cases from public reports on this format, where the checkout has them beside it.
#[test]
fn reported_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases.jsonl");
    let Ok(cases) = std::fs::read_to_string(path) else {
        println!("no corpus of reported cases beside the checkout: nothing to compare with");
        return;
    };
    let mut count = 0;
    for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let (input, expected, request) =
            (&case["input"], &case["expected"], &case["input"]["request"]);
        let ours = input["server"]["tool_parser"] == "hermes"
            && input["server"]["reasoning_parser"].is_null();
        // Without tools, or with a choice that is not the model's, no parser of this format runs.
        let auto = request["tools"].is_array()
            && matches!(&request["tool_choice"], Value::Null | Value::String(_));
        let auto = auto && !matches!(request["tool_choice"].as_str(), Some("none"));
        let (Some(calls), Some(pieces)) =
            (expected["tool_calls"].as_array(), input["model_output"]["pieces"].as_array())
        else {
            continue;
        };
        if !ours || !auto {
            continue;
        }
        count += 1;
        let special: Vec<&Value> = input["model_output"]["special_token_pieces"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let given: Vec<Piece<'_>> = pieces
            .iter()
            .map(|piece| Piece { text: piece.as_str().unwrap(), special: special.contains(&piece) })
            .collect();
        let single: Vec<Piece<'_>> = given
            .iter()
            .flat_map(|piece| if piece.special { vec![*piece] } else { chars(piece.text) })
            .collect();
        let said = parse(given);
        assert_eq!(parse(single), said, "{}", case["id"]);
        assert_eq!(said.text(), expected["content"].as_str().unwrap_or_default(), "{}", case["id"]);
        assert_eq!(said.calls().count(), calls.len(), "{}", case["id"]);
        for ((name, arguments), expected) in said.calls().zip(calls) {
            assert_eq!(name, expected["name"].as_str().unwrap());
            if expected["arguments"].is_object() {
                assert_eq!(
                    serde_json::from_str::<Value>(arguments).unwrap(),
                    expected["arguments"],
                    "{}",
                    case["id"]
                );
            }
        }
    }
    println!("{count} cases");
    assert!(count >= 10, "{count} cases");
}
