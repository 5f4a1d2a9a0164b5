//! Renderings of real templates by transformers, matched byte for byte.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use overt_template::{RenderInput, Template, TemplateError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// 2025-03-09 08:05:07, the clock that the renderings were made with.
const CLOCK: i64 = 1_741_507_507;

#[derive(Deserialize)]
struct Case {
    template: String,
    scenario: String,
    inputs: Inputs,
    expected: Option<String>,
}

#[derive(Deserialize)]
struct Inputs {
    messages: Value,
    tools: Option<Value>,
    documents: Option<Value>,
    #[serde(default)]
    kwargs: Map<String, Value>,
    #[serde(default)]
    add_generation_prompt: bool,
    #[serde(default)]
    continue_final_message: bool,
}

fn render(
    template: &Result<Template, TemplateError>,
    inputs: &Inputs,
) -> Result<String, TemplateError> {
    let Value::Object(special_tokens) = json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"})
    else {
        unreachable!()
    };
    let input = RenderInput {
        messages: inputs.messages.clone(),
        tools: inputs.tools.clone(),
        documents: inputs.documents.clone(),
        add_generation_prompt: inputs.add_generation_prompt,
        continue_final_message: inputs.continue_final_message,
        kwargs: inputs.kwargs.clone(),
        special_tokens,
    };
    template.as_ref().map_err(Clone::clone)?.render_at(&input, CLOCK)
}

#[test]
fn equals_transformers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let Ok(file) = std::fs::File::open(corpus.join("template_golden.jsonl.gz")) else {
        println!("no corpus of renderings beside the checkout: nothing to compare with");
        return;
    };
    let mut templates: BTreeMap<String, Result<Template, TemplateError>> = BTreeMap::new();
    let mut differing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut total, mut equal) = (0u32, 0u32);
    for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
        let case: Case = serde_json::from_str(&line.unwrap()).unwrap();
        let template = templates.entry(case.template.clone()).or_insert_with(|| {
            Template::compile(
                &std::fs::read_to_string(corpus.join("templates").join(&case.template)).unwrap(),
            )
        });
        let rendered = render(template, &case.inputs);
        total += 1;
        match (&rendered, &case.expected) {
            (Ok(got), Some(expected)) if got == expected => equal += 1,
            (Err(_), None) => equal += 1,
            (got, expected) => {
                let what = match (got, expected) {
                    (Err(error), _) => format!("{error}"),
                    (Ok(got), None) => {
                        format!("rendered {} bytes, transformers refuses", got.len())
                    }
                    (Ok(got), Some(expected)) => first_difference(got, expected),
                };
                differing
                    .entry(case.template)
                    .or_default()
                    .push(format!("{}: {what}", case.scenario));
            }
        }
    }
    for (template, cases) in &differing {
        println!("{template}: {} differ; {}", cases.len(), cases[0]);
    }
    println!(
        "{equal} of {total} equal; {} of {} templates fully",
        templates.len() - differing.len(),
        templates.len()
    );
    assert_eq!(equal, total, "renderings equal");
}

fn first_difference(got: &str, expected: &str) -> String {
    let at = got.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(20)..(at + 30).min(text.len())])
            .into_owned()
    };
    format!("at {at}: got {:?}, expected {:?}", around(got), around(expected))
}
