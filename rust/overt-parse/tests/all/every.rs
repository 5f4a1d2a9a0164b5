//! What holds for every format that has calls: written by `Format::write`, read back, in every cutting.

use crate::common::How;
use crate::common::accepts::accepts;
use crate::common::rows::{how, rows, said, tools, write};
use overt_parse::{Choice, Format, Many, Options, Tool, formats, reasoning_format};
use serde_json::{Value, json};

/// Scenarios, each a test of its own, and the formats that it is for.
macro_rules! scenarios {
    ($($name:ident: $applies:expr,)*) => {
        const SCENARIOS: &[(&str, fn(&Format) -> bool)] = &[$((stringify!($name), $applies),)*];

        mod each {
            use super::{Format, rows};

            $(#[test]
            fn $name() {
                let applies: fn(&Format) -> bool = $applies;
                rows().into_iter().filter(|row| applies(row)).for_each(super::$name);
            })*
        }
    };
}

scenarios! {
    openers: |_| true,
    one_call: |_| true,
    no_arguments: |_| true,
    two_calls: |_| true,
    many_calls: |_| true,
    typed_values: |_| true,
    undeclared_parameters: |_| true,
    strings: |_| true,
    quoted_strings_hold_any_markup: crate::common::rows::quotes,
    text_around_calls_is_kept: |row| !row.framed,
    text_alone: |_| true,
    calls_cut_short: |_| true,
    calls_that_go_wrong_far_behind: |_| true,
    calls_of_unknown_tools: |_| true,
    calls_forbidden: |_| true,
    without_tools_markup_is_text: |row| !row.framed,
    markers_may_be_special_tokens: |_| true,
    thinking_before_calls: |row| !row.framed,
    ids_are_unlike: |_| true,
}

#[test]
fn every_format_with_calls_is_run_through_at_least_twelve_scenarios() {
    let named: Vec<&str> =
        formats().iter().filter(|row| !row.tool_names.is_empty()).map(|row| row.name).collect();
    let run: Vec<&str> = rows().iter().map(|row| row.name).collect();
    assert_eq!(run, named);
    assert!(run.len() >= 50, "{run:?}");
    for row in rows() {
        let count = SCENARIOS.iter().filter(|(_, applies)| applies(row)).count();
        assert!(count >= 12, "{} is in {count} scenarios", row.name);
    }
}

type Call = (&'static str, Value);

/// Formats of one call an answer: they have no grammar for more.
const SINGLE: &[&str] = &["gigachat3"];

/// What is written is read back, and is what the grammar allows.
fn check(row: &Format, calls: &[(&str, Value)]) {
    let tools = tools();
    let text = write(row, &tools, calls);
    let answer = how(row).read(&text);
    assert_eq!(said(&answer), calls, "{} {text:?}", row.name);
    assert_eq!(answer.content, "", "{} {text:?}", row.name);
    let all: Vec<&Tool> = tools.list.iter().collect();
    let many = if calls.len() == 1 { Many::One } else { Many::Some };
    let rules = row.grammar(&all, many).expect("a grammar");
    if calls.len() == 1 || !SINGLE.contains(&row.name) {
        assert!(accepts(&rules, &text), "{} {text:?} {rules:?}", row.name);
    }
}

fn two() -> Vec<Call> {
    vec![
        ("get_weather", json!({"city": "São Paulo", "days": 3})),
        (
            "object",
            json!({"v": {"list": [1, 2], "text": "a", "deep": [{"on": true, "size": 1.5}]}}),
        ),
    ]
}

fn openers(row: &Format) {
    assert!(!row.openers().is_empty(), "{}", row.name);
    let text = write(row, &tools(), &two());
    assert!(
        row.framed || row.openers().iter().any(|opener| text.contains(opener)),
        "{} {text:?}",
        row.name
    );
}

fn one_call(row: &Format) {
    check(row, &[("get_weather", json!({"city": "Oslo", "days": 2, "unit": "C"}))]);
}

fn no_arguments(row: &Format) {
    check(row, &[("list_tables", json!({}))]);
    check(row, &[("list_tables", json!({})), ("list_tables", json!({}))]);
}

fn two_calls(row: &Format) {
    check(row, &two());
}

fn many_calls(row: &Format) {
    let mut many = two();
    many.extend(two());
    many.push(("list_tables", json!({})));
    check(row, &many);
}

fn typed_values(row: &Format) {
    for (name, value) in [
        ("integer", json!(0)),
        ("integer", json!(-9_007_199_254_740_993_i64)),
        ("integer", json!(u64::MAX)),
        ("number", json!(2.5)),
        ("number", json!(-1e-7)),
        ("number", json!(3)),
        ("boolean", json!(true)),
        ("boolean", json!(false)),
        ("maybe", json!(7)),
        ("maybe", Value::Null),
        ("string", json!("12")),
        ("string", json!("true")),
        ("string", json!("null")),
        ("string", json!("[1]")),
        ("string", json!("{\"a\": 1}")),
        ("string", json!("")),
        ("array", json!([])),
        ("array", json!(["a", "12", "b, c", "it's"])),
        ("object", json!({})),
        ("object", json!({"list": [], "text": "x", "deep": []})),
        ("object", json!({"deep": [{"on": false, "size": 0.5}, {"on": true, "size": 2}]})),
    ] {
        check(row, &[(name, json!({"v": value}))]);
    }
}

fn undeclared_parameters(row: &Format) {
    check(row, &[("untyped", json!({"a": 5, "b": "text", "c": true}))]);
}

const STRINGS: &[&str] = &[
    "a } ] , { [ ) (",
    "say \"hi\"",
    "it's `so` ''' \"\"\"",
    "C:\\new\\table\\",
    "\\u00e9 \\\" \\n",
    "one\ntwo\n\nthree",
    "tab\there",
    "😀 é 日本語 \u{200d}",
    "a </think> b <think> c",
    "if a < b && c > d then <b>x</b> &amp;",
    "key=value, other: [1, 2]",
    "f(a=1)",
    "100%",
    "-",
    ",",
];

fn strings(row: &Format) {
    for string in STRINGS {
        check(row, &[("string", json!({"v": string}))]);
        check(row, &[("array", json!({"v": [string, string]})), ("list_tables", json!({}))]);
        check(row, &[("object", json!({"v": {"text": string}}))]);
    }
}

fn quoted_strings_hold_any_markup(row: &Format) {
    let mut strings = vec![write(row, &tools(), &two())];
    strings.extend(row.openers().iter().chain(row.tokens).map(|text| (*text).to_owned()));
    // The end of the format, and all that stands behind its arguments.
    let empty = write(row, &tools(), &[("list_tables", json!({}))]);
    strings.extend(empty.split_once("{}").map(|(_, end)| end.to_owned()));
    strings.extend([" a ".to_owned(), "\n".to_owned(), "\u{1}".to_owned()]);
    for string in strings {
        check(row, &[("string", json!({"v": string})), ("list_tables", json!({}))]);
    }
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn text_around_calls_is_kept(row: &Format) {
    let written = write(row, &tools(), &two());
    for (before, after, order) in [
        ("", "", "t"),
        ("Sure, a < b.\n", "", "ct"),
        ("", "\nDone {1}.", "tc"),
        ("Now. ", " Then.", "ctc"),
    ] {
        let text = format!("{before}{written}{after}");
        let answer = how(row).read(&text);
        assert_eq!(said(&answer), two(), "{} {text:?}", row.name);
        assert_eq!(
            squeezed(&answer.content),
            squeezed(&format!("{before}{after}")),
            "{} {text:?}",
            row.name
        );
        assert_eq!(answer.order, order, "{} {text:?}", row.name);
    }
}

fn text_alone(row: &Format) {
    let texts: &[&str] = match row.framed {
        true => &["No call.", "a < b <", "f(x), {}"],
        false => &[
            "No call.",
            "{}",
            "[1, 2] {\"a\": 1}",
            "a < b <",
            "f(x)",
            "```json\n{\"a\": [1]}\n```",
        ],
    };
    for text in texts {
        let answer = how(row).read(text);
        assert_eq!((answer.content.as_str(), answer.calls.len()), (*text, 0), "{}", row.name);
    }
}

fn calls_forbidden(row: &Format) {
    let text = write(row, &tools(), &two());
    let answer = how(row).choice(Choice::None).read(&text);
    assert_eq!(answer.calls.len(), 0, "{}", row.name);
    assert!(row.framed || answer.content == text, "{}: {:?}", row.name, answer.content);
}

fn calls_cut_short(row: &Format) {
    let mut calls = two();
    calls.push(("string", json!({"v": "a \"b\" \\ \n é"})));
    let text = write(row, &tools(), &calls);
    let whole = how(row).read(&text);
    for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let answer = how(row).read(&text[..at]);
        assert!(answer.calls.len() <= whole.calls.len());
        for (index, (call, full)) in answer.calls.iter().zip(&whole.calls).enumerate() {
            let last = index + 1 == answer.calls.len();
            assert_eq!(call.name, full.name, "{} {:?}", row.name, &text[..at]);
            // A call of which only the name has come has no arguments yet.
            let fits = match last {
                true => full.arguments.starts_with(&call.arguments) || call.arguments == "{}",
                false => full.arguments == call.arguments,
            };
            assert!(fits, "{} {:?}: {:?}", row.name, &text[..at], call.arguments);
        }
    }
}

/// Whatever follows where a call breaks off, and however late it shows that it does: all cuttings say the same.
fn calls_that_go_wrong_far_behind(row: &Format) {
    let calls = [("get_weather", json!({"city": "a b", "days": 3}))];
    let text = write(row, &tools(), &calls);
    let how = how(row);
    for (at, _) in text.char_indices().step_by(3) {
        for rubble in ["k".repeat(300) + "\n=\"<", " ".repeat(280) + "(\"x\",(1<|$"] {
            how.read(&(text[..at].to_owned() + &rubble));
        }
    }
}

fn calls_of_unknown_tools(row: &Format) {
    let text = write(row, &tools(), &[("no_such_tool", json!({"a": "b"}))]);
    let answer = how(row).read(&text);
    match answer.calls.len() {
        0 => assert_eq!(answer.content.trim(), text.trim(), "{}", row.name),
        _ => {
            assert_eq!(said(&answer), [("no_such_tool", json!({"a": "b"}))], "{}", row.name);
            assert_eq!(answer.content, "", "{}", row.name);
        }
    }
}

fn without_tools_markup_is_text(row: &Format) {
    let text = format!("See: {}!", write(row, &tools(), &two()));
    let answer = How { options: Options::default(), ..how(row) }.read(&text);
    assert_eq!((answer.content, answer.calls.len()), (text, 0), "{}", row.name);
}

fn markers_may_be_special_tokens(row: &Format) {
    let marked = |text: &&&str| {
        (text.starts_with('<') && text.ends_with('>'))
            || (text.starts_with('[') && text.ends_with(']'))
    };
    let specials: Vec<&str> =
        row.tokens.iter().chain(row.openers()).filter(marked).copied().collect();
    let text = write(row, &tools(), &two());
    let answer = how(row).specials(&specials).read(&text);
    assert_eq!(said(&answer), two(), "{} {text:?} {specials:?}", row.name);
    assert_eq!(answer.content, "", "{}", row.name);
    // Other special tokens do not show.
    let text = format!("{text}</s>");
    let specials = [&specials[..], &["</s>"]].concat();
    let answer = how(row).specials(&specials).read(&text);
    assert_eq!((answer.content.as_str(), said(&answer)), ("", two()), "{}", row.name);
}

fn thinking_before_calls(row: &Format) {
    let own = row.reasoning_names.first().copied().filter(|_| row.thinking.is_some());
    for name in [Some("qwen3"), own].into_iter().flatten() {
        let thinking = reasoning_format(name).and_then(|row| row.thinking).expect("markers");
        if thinking.kept {
            continue;
        }
        let (open, close) = (thinking.open.first().copied().unwrap_or_default(), thinking.close[0]);
        let written = write(row, &tools(), &two());
        let text = format!("{open}\nwhy {{a}}\n{close}\n\n{written}");
        let answer = how(row).reasoning(name).read(&text);
        assert_eq!(answer.reasoning.trim(), "why {a}", "{} {name} {text:?}", row.name);
        assert_eq!((answer.content.as_str(), said(&answer)), ("", two()), "{} {name}", row.name);
    }
}

fn ids_are_unlike(row: &Format) {
    let calls: Vec<Call> = (0..12).map(|_| ("list_tables", json!({}))).collect();
    let answer = how(row).read(&write(row, &tools(), &calls));
    let mut ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12, "{}", row.name);
}
