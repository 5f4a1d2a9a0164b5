//! Renderings of real templates by transformers, matched byte for byte.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod renderings;

use std::collections::BTreeMap;

use overt_template::{Template, TemplateError};

#[test]
fn equals_transformers() {
    let Some(corpus) = renderings::corpus() else { return };
    let mut templates: BTreeMap<String, Result<Template, TemplateError>> = BTreeMap::new();
    let mut differing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut total, mut equal) = (0u32, 0u32);
    for case in renderings::cases(&corpus) {
        let template = templates
            .entry(case.template.clone())
            .or_insert_with(|| Template::compile(&renderings::source(&corpus, &case.template)));
        let rendered = match template {
            Ok(template) => template.render_at(&case.inputs.into(), renderings::CLOCK),
            Err(error) => Err(error.clone()),
        };
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
