//! Where the characters of a prompt came from.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod corpus;
mod limits;
mod parts;
#[path = "../renderings/mod.rs"]
mod renderings;
mod text;

use overt_template::{Origin, Part, RenderInput, Template, Traced};
use serde_json::{Map, Value, json};

const CHATML: &str = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' + '\n' }}{% endfor %}";

fn input(messages: Value) -> RenderInput {
    RenderInput { messages, ..RenderInput::default() }
}

fn user(content: Value) -> RenderInput {
    input(json!([{"role": "user", "content": content}]))
}

fn object(json: Value) -> Map<String, Value> {
    json.as_object().unwrap().clone()
}

fn trace(source: &str, input: &RenderInput) -> Traced {
    let template = Template::compile(source).unwrap();
    let traced = template.trace_at(input, 1_741_507_507).unwrap();
    assert_eq!(traced.text, template.render_at(input, 1_741_507_507).unwrap());
    let joined: String =
        traced.spans.iter().map(|span| &traced.text[span.start..span.end]).collect();
    assert_eq!(joined, traced.text);
    traced
}

fn label(origin: &Origin) -> String {
    match origin {
        Origin::Template => "T".to_owned(),
        Origin::Message { index, part } => {
            let part = match part {
                Part::Role => "role".to_owned(),
                Part::Content => "content".to_owned(),
                Part::Reasoning => "reasoning".to_owned(),
                Part::ToolCall { index } => format!("call {index}"),
                Part::ToolCallId => "call id".to_owned(),
                Part::Name => "name".to_owned(),
                Part::Other(key) => format!("other {key}"),
            };
            format!("{index} {part}")
        }
        Origin::Tool { index } => format!("tool {index}"),
        Origin::Document { index } => format!("document {index}"),
        Origin::Kwarg { name } => format!("kwarg {name}"),
        Origin::SpecialToken { name } => format!("token {name}"),
    }
}

/// The spans as (text, origin), all of them exact.
fn spans(source: &str, input: &RenderInput) -> Vec<(String, String)> {
    let traced = trace(source, input);
    assert!(traced.exact, "{source}: {:?}", traced.spans);
    traced
        .spans
        .iter()
        .map(|span| (traced.text[span.start..span.end].to_owned(), label(&span.origin)))
        .collect()
}

fn assert_spans(source: &str, input: &RenderInput, expected: &[(&str, &str)]) {
    let spans = spans(source, input);
    let spans: Vec<(&str, &str)> =
        spans.iter().map(|(text, origin)| (text.as_str(), origin.as_str())).collect();
    assert_eq!(spans, expected, "{source}");
}
