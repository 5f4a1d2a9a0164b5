//! Rule trees accept exactly the texts that they describe.

mod common;

use common::{Fate, check, fate, matcher, options, refused};
use overt_grammar::{Around, Constraint, Grammar, Options, Rule};
use serde_json::json;

fn rule(start: Rule) -> Constraint {
    Constraint::Rule(start.into())
}

fn seq(rules: impl IntoIterator<Item = Rule>) -> Rule {
    Rule::Seq(rules.into_iter().collect())
}

#[test]
fn text_markers_and_patterns() {
    check(
        &rule(Rule::text("a\"b\\c\n\u{7f}é/")),
        &options(),
        &["a\"b\\c\n\u{7f}é/"],
        &["", "a", "a\"b\\c\n\u{7f}é//"],
    );
    check(&rule(Rule::text("")), &options(), &[""], &["a"]);
    check(&rule(Rule::marker("<|call|>")), &options(), &["{{<|call|>}}"], &["<|call|>", ""]);
    check(&rule(Rule::marker("<|other|>")), &options(), &["<|other|>"], &["<|other|"]);
    check(&rule(Rule::pattern("^(a|b/)+$")), &options(), &["a", "b/a"], &["", "b", "ac"]);
    check(&rule(Rule::pattern("a*")), &options(), &["", "aa"], &["b"]);
    check(
        &rule(Rule::Any(vec![Rule::text("a"), Rule::text("ab"), Rule::text("abc")])),
        &options(),
        &["a", "ab", "abc"],
        &["", "b", "abb"],
    );
    check(
        &rule(Rule::text("ab").many(2, Some(3))),
        &options(),
        &["abab", "ababab"],
        &["ab", "abababab", "aba"],
    );
    check(&rule(Rule::text("ab").many(0, None)), &options(), &["", "ab", "ababab"], &["aba"]);
    check(&rule(Rule::text("ab").maybe()), &options(), &["", "ab"], &["abab"]);
    check(&rule(seq([])), &options(), &[""], &["x"]);
}

#[test]
fn pieces_side_by_side_lose_nothing() {
    // To a lexer that takes all it can, the pattern would swallow the text after it.
    let greedy =
        seq([Rule::pattern("[a-z]+"), Rule::text("end"), Rule::pattern("[0-9]*"), Rule::text("9")]);
    check(
        &rule(greedy),
        &options(),
        &["xend9", "endend99", "aend12349"],
        &["end9", "xend", "xen9", "xend1"],
    );
}

#[test]
fn free_text_ends_at_the_first_marker() {
    let block = seq([Rule::until(["</a>"]), Rule::text("</a>"), Rule::text("!")]);
    check(
        &rule(block.clone()),
        &options(),
        &["</a>!", "x</a>!", "é\n\"<</a</a>!", "</</a>!"],
        &["", "</a>", "x</a></a>!", "x", "x</a>?"],
    );
    check(
        &rule(Rule::until(["STOP"])),
        &options(),
        &["", "STO", "abc", "STOSTO"],
        &["STOP", "aSTOPb"],
    );
    let special = seq([Rule::until(["<|call|>"]), Rule::marker("<|call|>"), Rule::text("x")]);
    check(
        &rule(special),
        &options(),
        &["{{<|call|>}}x", "ab<{{<|call|>}}x"],
        &["<|call|>x", "{{<think>}}{{<|call|>}}x"],
    );
    // Free text at the end of each of several blocks.
    let many = seq([block.many(1, None), Rule::until(["</a>"])]);
    check(
        &rule(many),
        &options(),
        &["x</a>!", "x</a>!y</a>!", "x</a>!rest", "</a>!</a>!"],
        &["", "x", "x</a>!</a>"],
    );
}

#[test]
fn prose_between_calls() {
    let call = |name: &str| {
        seq([
            Rule::text(format!("<f={name}>")),
            Rule::Json(json!({"type": "integer"})),
            Rule::text("</f>"),
        ])
    };
    let calls = seq([Rule::until(["<f="]), Rule::Any(vec![call("a"), call("ab")])]);
    let all = seq([calls.many(0, None), Rule::until(["<f="])]);
    check(
        &rule(all),
        &options(),
        &["", "hello <f", "x<f=a>1</f>", "<f=ab>12</f><f=a>0</f>bye", "a<f=a>1</f>b<f=ab>2</f>"],
        &["<f=", "<f=c>1</f>", "<f=a>x</f>", "<f=a>1</f><f=", "<f=a>1"],
    );
    let marked = seq([
        seq([Rule::until(["<tool_call>"]), Rule::marker("<tool_call>"), Rule::text("go")])
            .many(0, Some(2)),
        Rule::until(["<tool_call>"]),
    ]);
    check(
        &rule(marked),
        &options(),
        &["", "hi", "hi{{<tool_call>}}go", "{{<tool_call>}}go there{{<tool_call>}}go"],
        &[
            "<tool_call>go",
            "{{<tool_call>}}",
            "{{<tool_call>}}go{{<tool_call>}}go{{<tool_call>}}go",
        ],
    );
}

#[test]
fn free_text_before_choices_and_optional_parts() {
    let text = seq([
        Rule::until(["<a>", "<b>"]),
        Rule::pattern("[ \\n]*"),
        Rule::text("<a>").maybe(),
        Rule::text("<b>"),
    ]);
    check(
        &rule(text),
        &options(),
        &["<b>", "x <a><b>", "x\n<b>", "<a<b>"],
        &["<a>", "<a>x<b>", "<b><b>"],
    );
    let tail =
        seq([Rule::until(["."]), Rule::Any(vec![Rule::text("."), Rule::marker("<|call|>")])]);
    check(&rule(tail), &options(), &["a.", "a{{<|call|>}}", "."], &["a", "a..", "<|call|>"]);
    let json = seq([Rule::until(["{"]), Rule::Json(json!({"type": "object"}))]);
    assert!(refused(&rule(json)).message.contains("followed by text, a marker or the end"));
}

#[test]
fn combined_patterns() {
    let value = Rule::pattern("[a-z<>/]*").both(Rule::until(["</p>"]));
    let rule_ = rule(seq([Rule::text("<p>"), value, Rule::text("</p>")]));
    check(
        &rule_,
        &options(),
        &["<p></p>", "<p>a</b></p>", "<p></</p>"],
        &["<p>A</p>", "<p>a</p></p>", "<p>a"],
    );
    check(
        &rule(Rule::pattern("[ab]*").both(Rule::pattern(".{2,3}"))),
        &options(),
        &["ab", "bba"],
        &["a", "abab", "ac"],
    );
    assert!(
        refused(&rule(Rule::Json(json!({})).both(Rule::text("a")))).message.contains("combined")
    );
}

#[test]
fn recursion() {
    let list = seq([
        Rule::text("["),
        seq([Rule::named("item"), seq([Rule::text(","), Rule::named("item")]).many(0, None)])
            .maybe(),
        Rule::text("]"),
    ]);
    let item = Rule::Any(vec![Rule::pattern("[0-9]+"), Rule::named("list")]);
    let grammar = Grammar {
        start: Rule::named("list"),
        rules: vec![("list".to_owned(), list), ("item".to_owned(), item)],
    };
    check(
        &Constraint::Rule(grammar),
        &options(),
        &["[]", "[1,[2,[]],34]"],
        &["", "[", "[1,]", "[]]"],
    );
    let unknown = Grammar::from(Rule::named("nothing"));
    assert!(refused(&Constraint::Rule(unknown)).message.contains("nothing"));
    // Free text that a recursive rule ends in.
    let turns = seq([Rule::until(["#"]), seq([Rule::text("#"), Rule::named("turns")]).maybe()]);
    let grammar = Grammar { start: Rule::named("turns"), rules: vec![("turns".to_owned(), turns)] };
    check(&Constraint::Rule(grammar), &options(), &["", "a#b#c", "##"], &[]);
}

#[test]
fn reasoning_before_the_answer() {
    let around = |start_open: bool| {
        let thinking = Around {
            start_open,
            open: vec!["<think>".to_owned()],
            close: vec!["</think>".to_owned()],
        };
        Options { thinking: Some(thinking), ..options() }
    };
    let yes = Constraint::Choice(vec!["yes".to_owned(), "no".to_owned()]);
    check(
        &yes,
        &around(true),
        &["so{{</think>}}yes", "{{</think>}}\n\nno", "a<b \"c\"{{</think>}}yes"],
        &["yes", "{{<think>}}", "so</think>yes"],
    );
    check(
        &yes,
        &around(false),
        &["yes", "{{<think>}}hm{{</think>}}\n\nno", "\n{{<think>}}{{</think>}}yes"],
        &["hm", "\n\n", "{{<think>}}yes", "{{</think>}}yes"],
    );
    let json = Constraint::AnyObject;
    check(&json, &around(true), &["well{{</think>}}\n{}"], &["{}"]);
    let own = Constraint::Lark("start: \"a\" start?".to_owned());
    check(&own, &around(true), &["t{{</think>}}aaa"], &["aaa", "t{{</think>}}b"]);
    // Markers that are no special tokens.
    let textual =
        Around { start_open: true, open: vec!["[T]".to_owned()], close: vec!["[/T]".to_owned()] };
    check(
        &yes,
        &Options { thinking: Some(textual), ..options() },
        &["a[/[/T] yes", "[/T]no"],
        &["yes", "[/T][/T]yes"],
    );
}

#[test]
fn an_ended_output_allows_its_end_alone() {
    let mut end = matcher(&rule(Rule::text("ab")), &options());
    assert_eq!(fate(&end, "a"), Fate::Open);
    assert_eq!(end.forced(), Some(u32::from(b'a')));
    for token in [b'a', b'b'] {
        assert!(!end.is_ended());
        end.accept(token.into()).unwrap();
    }
    assert!(end.is_ended());
    assert_eq!(end.forced(), Some(common::END));
    assert!(end.accept(u32::from(b'c')).is_err());
    end.accept(common::END).unwrap();
    assert!(end.is_ended() && end.may_end().unwrap());
}

#[test]
fn values_of_several_schemas_stand_beside_each_other() {
    let closed = |properties: serde_json::Value| {
        let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let call = |name: &str| {
        let parameters = closed(json!({"city": {"type": "string"}}));
        Rule::Json(closed(json!({"name": {"const": name}, "parameters": parameters})))
    };
    let answer =
        Rule::Json(closed(json!({"city": {"type": "string"}, "days": {"type": "integer"}})));
    let calls = seq([
        Rule::Any(vec![call("f"), call("g")]),
        seq([Rule::text("; "), Rule::Any(vec![call("f"), call("g")])]).many(0, None),
    ]);
    check(
        &rule(Rule::Any(vec![calls, answer])),
        &options(),
        &[
            r#"{"city": "Paris", "days": 2}"#,
            r#"{"name": "f", "parameters": {"city": "Paris"}}"#,
            r#"{"name": "g", "parameters": {"city": "Paris"}}; {"name": "f", "parameters": {"city": ""}}"#,
        ],
        &[
            r#"{"city": "Paris"}"#,
            r#"{"name": "h", "parameters": {"city": "Paris"}}"#,
            r#"{"city": "Paris", "days": 2}; {"city": "Paris", "days": 2}"#,
        ],
    );
    let list = seq([Rule::text("["), call("f"), Rule::text("]")]);
    let numbers = Rule::Json(json!({"type": "array", "items": {"type": "integer"}}));
    check(
        &rule(Rule::Any(vec![list, numbers])),
        &options(),
        &["[1, 2]", "[]", r#"[{"name": "f", "parameters": {"city": "Paris"}}]"#],
        &[r#"[1, {"name": "f", "parameters": {"city": "Paris"}}]"#],
    );
}
