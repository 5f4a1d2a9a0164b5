//! Provenance of the prompts of real templates: which characters change when a message changes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::renderings::{self, CLOCK, corpus};
use overt_template::{Origin, Part, RenderInput, Template, Traced};
use proptest::prelude::*;
use serde_json::Value;

/// Conversations whose texts are replaced one by one; the first six that a template renders.
const SCENARIOS: [&str; 15] = [
    "tc_final",
    "reasoning_hist",
    "documents",
    "tc_edge_args",
    "inline_think",
    "user_name",
    "tools_sys",
    "multi_gen",
    "tc_dict",
    "whitespace",
    "sys_user",
    "html_unicode",
    "continue_final_user_assist",
    "user_nogen",
    "user_gen",
];
/// Templates of which some prompt has characters that were not followed to their origin.
const DERIVED: [&str; 0] = [];
/// Templates that take another path, or print other text, when letters of a message change.
const SENSITIVE: [&str; 0] = [];

/// A template with the conversations that transformers renders, and what it makes of them.
struct Entry {
    name: String,
    source: String,
    template: Template,
    cases: Vec<(String, RenderInput, String)>,
}

fn entries(corpus: &Path) -> Vec<Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for case in renderings::cases(corpus) {
        let Some(expected) = case.expected else { continue };
        let entry = entries.entry(case.template.clone()).or_insert_with(|| {
            let source = renderings::source(corpus, &case.template);
            let template = Template::compile(&source).unwrap();
            Entry { name: case.template.clone(), source, template, cases: Vec::new() }
        });
        entry.cases.push((case.scenario, case.inputs.into(), expected));
    }
    entries.into_values().collect()
}

/// Calls `check` for each entry, in two threads, and joins what it returns.
fn each<T: Send>(entries: &[Entry], check: impl Fn(&Entry) -> Vec<T> + Sync) -> Vec<T> {
    let half = entries.len() / 2;
    let of = |entries: &[Entry]| entries.iter().flat_map(&check).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| of(&entries[..half]));
        let mut second = of(&entries[half..]);
        second.extend(first.join().unwrap());
        second
    })
}

fn assert_whole(traced: &Traced) {
    let mut at = 0;
    for span in &traced.spans {
        assert!(span.start == at && span.end > at, "{span:?} does not follow {at}");
        at = span.end;
    }
    assert_eq!(at, traced.text.len());
    assert_eq!(traced.exact, traced.spans.iter().all(|span| !span.derived));
}

/// `text` with its letters and digits replaced by others, but for what is in angle brackets.
fn other(text: &str) -> String {
    let mut in_tag = false;
    let turn =
        |c: char, first: u8, count: u8| (first + (c as u8 - first + count / 2) % count) as char;
    text.chars()
        .map(|c| {
            in_tag = (in_tag || c == '<') && c != '>';
            match c {
                _ if in_tag => c,
                'a'..='z' => turn(c, b'a', 26),
                'A'..='Z' => turn(c, b'A', 26),
                '0'..='9' => turn(c, b'0', 10),
                _ => c,
            }
        })
        .collect()
}

/// What is wrong with the spans of `origin`, where another text in its place gives `after`.
fn difference(before: &Traced, after: &Traced, origin: &Origin) -> Option<String> {
    let places = |traced: &Traced| {
        let places = traced.spans.iter().map(|span| (span.start, span.end, span.origin.clone()));
        places.collect::<Vec<_>>()
    };
    if places(before) != places(after) {
        return Some("other spans".to_owned());
    }
    before.spans.iter().find_map(|span| {
        let (was, is) = (&before.text[span.start..span.end], &after.text[span.start..span.end]);
        // Of a tool or a call only some texts were replaced, and letters of an escape stay.
        let is_text = matches!(&span.origin, Origin::Message { part: Part::Content, .. })
            && !was.contains('\\');
        let wrong = match span.origin == *origin {
            true => is_text && was == is && other(was) != *was,
            false => was != is,
        };
        wrong.then(|| format!("{was:?} became {is:?} in {:?}", span.origin))
    })
}

/// Texts of an input that no template decides by, each with what its characters come from.
fn targets(input: &RenderInput) -> Vec<(String, Origin)> {
    let mut targets = Vec::new();
    let list = |json: &Value| json.as_array().cloned().unwrap_or_default();
    for (index, message) in list(&input.messages).iter().enumerate() {
        let mut add = |key: &str, part: Part| {
            targets.push((format!("/messages/{index}/{key}"), Origin::Message { index, part }));
        };
        add("content", Part::Content);
        add("reasoning_content", Part::Reasoning);
        add("name", Part::Name);
        for (call, json) in list(&message["tool_calls"]).iter().enumerate() {
            let arguments = json.pointer("/function/arguments").and_then(Value::as_object);
            for name in arguments.into_iter().flat_map(|arguments| arguments.keys()) {
                let key = format!("tool_calls/{call}/function/arguments/{name}");
                add(&key, Part::ToolCall { index: call });
            }
        }
    }
    for (index, _) in list(input.tools.as_ref().unwrap_or(&Value::Null)).iter().enumerate() {
        targets.push((format!("/tools/{index}/function/description"), Origin::Tool { index }));
    }
    for (index, _) in list(input.documents.as_ref().unwrap_or(&Value::Null)).iter().enumerate() {
        targets.push((format!("/documents/{index}/text"), Origin::Document { index }));
    }
    targets
}

/// The input with the text at `pointer` replaced, unless there is none.
fn replaced(
    input: &RenderInput,
    pointer: &str,
    text: impl Fn(&str) -> String,
) -> Option<RenderInput> {
    let mut input = input.clone();
    let (root, rest) = pointer[1..].split_once('/')?;
    let list = match root {
        "messages" => &mut input.messages,
        "tools" => input.tools.as_mut()?,
        _ => input.documents.as_mut()?,
    };
    let place = list.pointer_mut(&format!("/{rest}"))?;
    *place = Value::String(text(place.as_str()?));
    Some(input)
}

#[test]
fn every_golden_prompt_is_traced() {
    let Some(corpus) = corpus() else { return };
    let entries = entries(&corpus);
    let derived = each(&entries, |entry| {
        let mut derived = Vec::new();
        for (scenario, input, expected) in &entry.cases {
            let traced = entry.template.trace_at(input, CLOCK).unwrap();
            assert_eq!(traced.text, *expected, "{} {scenario}", entry.name);
            assert_whole(&traced);
            for span in &traced.spans {
                let Origin::Message { index, part: Part::Role } = span.origin else { continue };
                let role = input.messages[index]["role"].as_str().unwrap();
                let written = &traced.text[span.start..span.end];
                assert!(
                    written.eq_ignore_ascii_case(role),
                    "{} {scenario}: {written:?} is no {role}",
                    entry.name
                );
            }
            if let Some(span) = traced.spans.iter().find(|span| span.derived) {
                derived.push((entry.name.clone(), format!("{scenario}: {span:?}")));
            }
        }
        derived
    });
    for (name, why) in &derived {
        println!("{name}: {why}");
    }
    let mut names: Vec<&str> = derived.iter().map(|derived| derived.0.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    println!(
        "{} of {} templates exact in every prompt",
        entries.len() - names.len(),
        entries.len()
    );
    assert_eq!(names, DERIVED);
}

#[test]
fn another_text_changes_its_own_spans_only() {
    let Some(corpus) = corpus() else { return };
    let entries = entries(&corpus);
    let changes = std::sync::atomic::AtomicUsize::new(0);
    let wrong = each(&entries, |entry| {
        let mut wrong = Vec::new();
        let case_of = |name: &&str| entry.cases.iter().find(|case| case.0 == *name);
        for (scenario, input, _) in SCENARIOS.iter().filter_map(case_of).take(6) {
            let before = entry.template.trace_at(input, CLOCK).unwrap();
            for (pointer, origin) in targets(input) {
                let Some(input) = replaced(input, &pointer, other) else { continue };
                changes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let what = match entry.template.trace_at(&input, CLOCK) {
                    Ok(after) => difference(&before, &after, &origin),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(what) = what {
                    wrong.push((entry.name.clone(), format!("{scenario}, {pointer}: {what}")));
                }
            }
        }
        wrong
    });
    for (name, why) in &wrong {
        println!("{name}: {why}");
    }
    let mut names: Vec<&str> = wrong.iter().map(|wrong| wrong.0.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    println!(
        "{changes:?} texts replaced; {} of {} templates change its spans only",
        entries.len() - names.len(),
        entries.len()
    );
    assert_eq!(names, SENSITIVE);
}

/// The string literals of a template, as far as they are without escapes.
fn literals(source: &str) -> Vec<String> {
    let mut literals: Vec<String> = [
        "user",
        "assistant",
        "<|im_start|>system",
        "You are a helpful assistant.",
        "</think>",
        "{{ x }}",
    ]
    .map(str::to_owned)
    .to_vec();
    for quote in ['\'', '"'] {
        let parts = source.split(quote).skip(1).step_by(2);
        literals
            .extend(parts.filter(|part| !part.is_empty() && part.len() < 60).map(str::to_owned));
    }
    literals
}

/// A message that reads as the template's own text stays a message.
#[test]
fn text_of_the_template_in_a_message_is_the_message() {
    let Some(corpus) = corpus() else { return };
    let entries = entries(&corpus);
    let texts: Vec<Vec<String>> = entries.iter().map(|entry| literals(&entry.source)).collect();
    let (mut checked, mut branched) = (0u32, 0u32);
    let asked = ProptestConfig::default();
    let config =
        ProptestConfig { cases: asked.cases.max(1500), failure_persistence: None, ..asked };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let picks = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    );
    let counts = std::cell::RefCell::new((&mut checked, &mut branched));
    let outcome = runner.run(&picks, |(template, case, message, text)| {
        let at = template.index(entries.len());
        let (entry, text) = (&entries[at], text.get(&texts[at]));
        let (scenario, input, _) = case.get(&entry.cases);
        let message = message.index(input.messages.as_array().unwrap().len());
        let context = format!("{} {scenario}, message {message}: {text:?}", entry.name);
        let pointer = format!("/messages/{message}/content");
        let origin = Origin::Message { index: message, part: Part::Content };
        let Some(input) = replaced(input, &pointer, |_| text.clone()) else { return Ok(()) };
        let Some(changed) = replaced(&input, &pointer, other) else { return Ok(()) };
        // A template may refuse such a message, or do something else with it: then there is nothing to compare.
        let (Ok(first), Ok(second)) =
            (entry.template.render_at(&input, CLOCK), entry.template.render_at(&changed, CLOCK))
        else {
            return Ok(());
        };
        let before = entry.template.trace_at(&input, CLOCK).unwrap();
        let after = entry.template.trace_at(&changed, CLOCK).unwrap();
        assert_whole(&before);
        prop_assert_eq!(&before.text, &first);
        prop_assert!(before.exact, "{}", &context);
        let mut counts = counts.borrow_mut();
        if first.len() != second.len() {
            *counts.1 += 1;
            return Ok(());
        }
        *counts.0 += 1;
        let what = difference(&before, &after, &origin);
        prop_assert!(what.is_none(), "{}: {:?}", &context, what);
        Ok(())
    });
    println!("{checked} checked, {branched} templates took another path");
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    assert!(checked > 10 * branched, "{checked} checked, {branched} not");
}
