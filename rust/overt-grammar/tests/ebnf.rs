//! Grammars in EBNF accept what they describe, and errors name the place.

mod common;

use common::{check, options, refused};
use overt_grammar::Constraint;

fn ebnf(text: &str) -> Constraint {
    Constraint::Ebnf(text.to_owned())
}

#[test]
fn texts_classes_and_repeats() {
    for (grammar, whole, not) in [
        ("root ::= \"a\" 'b' | \"c\\n\\x41\\u00e9\"", &["ab", "c\nAé"][..], &["a", "c"][..]),
        ("root ::= [a-cx-]+ [^a\\]\\n]", &["xxz", "ab-x", "--"], &["", "a\n", "a]"]),
        (
            "root ::= [0-9]{2} \"-\" [a-z]{1,2} [A-Z]{0,1} [!]{2,}",
            &["12-a!!", "12-abZ!!!"],
            &["1-a!!", "12-!!", "12-a!"],
        ),
        ("root ::= (\"a\" | \"b\" \"c\")* \"d\"? .", &["x", "abcdd", "aaé"], &["", "abd\n\n"]),
        ("root ::= \"\" | \"x\" root", &["", "xxx"], &["y"]),
        (
            "# top\nroot ::= item # one\n  (\",\" item)*\nitem ::= [a-z]+\n | [0-9]+ # end",
            &["ab,12", "x"],
            &["ab,", "a1"],
        ),
        ("root\n  ::= some-name_1\nsome-name_1 ::= \"ok\"", &["ok"], &["o"]),
        ("root ::= \"a\"{,2} \"b\"", &["b", "aab"], &["aaab"]),
    ] {
        check(&ebnf(grammar), &options(), whole, not);
    }
}

#[test]
fn long_grammars_are_read() {
    // More repeats, side by side, than may stand on one another.
    let many = format!("root ::= {}", "\"x\"? [yz] ".repeat(400));
    let text = "xyz".repeat(200);
    check(&ebnf(&many), &options(), &[&text], &["", "y", &text[1..text.len() - 1]]);
}

#[test]
fn recursion_and_pieces_that_lexers_would_swallow() {
    let json = "root ::= value\nvalue ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n\
        object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? \"}\" ws\n\
        array ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n\
        string ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" [\"\\\\bfnrt])* \"\\\"\" ws\n\
        number ::= (\"-\"? ([0-9] | [1-9] [0-9]*)) (\".\" [0-9]+)? ws\nws ::= [ \\t\\n]*";
    check(
        &ebnf(json),
        &options(),
        &["{}", "[1, -2.5,\"a\\n\", {\"k\" : true}]", "null", "\"trueish\""],
        &["{", "[1,]", "nul", "\"a"],
    );
    check(
        &ebnf("root ::= word \"ly\" end\nword ::= [a-z]+\nend ::= \".\" | root"),
        &options(),
        &["slowly.", "lyly.", "slowlytruly."],
        &["ly.", "slow."],
    );
    check(
        &ebnf("root ::= expr\nexpr ::= expr \"+\" num | num\nnum ::= [0-9]+"),
        &options(),
        &["1", "1+22+3"],
        &["1+", "+"],
    );
}

#[test]
fn errors_name_the_place() {
    for (grammar, message) in [
        ("", "line 1, column 1: there is no rule root"),
        ("a ::= \"b\"", "there is no rule root"),
        ("root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule root is defined twice"),
        ("root ::= \"a\n", "line 2, column 1: a text ends on the line"),
        ("root ::= [a-", "the class is not closed"),
        ("root ::= [z-a]", "line 1, column 14: the range 'z' to 'a' runs backwards"),
        ("root ::= []", "the class is empty"),
        ("root ::= (\"a\"", "expected )"),
        ("root ::= \"a\" )", "line 1, column 14: expected the name of a rule"),
        ("root ::= * \"a\"", "line 1, column 10: expected text"),
        ("root ::= \"a\"{2,1}", "line 1, column 13: the second number"),
        ("root ::= \"a\"{99999}", "at most 10000 repeats"),
        ("root ::= \"a\"{99999999999}", "too large"),
        ("root ::= \"a\"{}", "expected {m}"),
        ("root ::= \"a\"?????", "repeats of repeats"),
        ("root = \"a\"", "line 1, column 6: unexpected '='"),
        ("root \"a\"", "expected ::= after root"),
        ("root ::= \"\\q\"", "unknown escape"),
        ("root ::= \"\\ud800\"", "no character"),
        ("root ::= (?=\"a\") \"b\"", "look-ahead"),
        ("root ::= TagDispatch((\"a\", b))", "unexpected ','"),
    ] {
        let error = refused(&ebnf(grammar));
        assert_eq!(error.param, "field");
        assert!(error.message.contains(message), "{grammar:?}: {error}");
    }
    let deep = format!("root ::= {}\"a\"{}", "(".repeat(100), ")".repeat(100));
    assert!(refused(&ebnf(&deep)).message.contains("nested"));
}

#[test]
fn a_grammar_that_never_ends_is_refused() {
    for grammar in
        ["root ::= \"a\" root", "root ::= root \"a\"", "root ::= x | y\nx ::= \"a\" y\ny ::= x+"]
    {
        let error = refused(&ebnf(grammar));
        assert!(error.message.contains("can never end"), "{grammar}: {error}");
    }
}

#[test]
fn what_only_compiling_shows_is_told_with_the_field() {
    for lark in
        ["start: start \"a\"", "start: \"a\" & \"b\"", "start: x", "begin: \"a\"", "start: /(/"]
    {
        let source =
            overt_grammar::source(&Constraint::Lark(lark.to_owned()), "lark", &options()).unwrap();
        let error = common::factory().compile(&source).unwrap_err();
        assert_eq!(error.param, "lark");
        assert!(
            !error.message.is_empty() && error.message.len() < 400 && !error.message.contains('\n'),
            "{error}"
        );
    }
}
