//! Formats whose values are typed by the schema: what they write is read back, in any cutting, and is what their
//! grammar allows.

use crate::common::accepts::accepts;
use crate::common::{How, with};
use overt_parse::{Many, Tool, Tools, Written, tool_format};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

const FORMATS: &[&str] = &[
    "deepseek_v32",
    "deepseek_v4",
    "deepseek_v41",
    "dots",
    "gigachat35",
    "mimo",
    "minicpm5",
    "minimax_m2",
    "nanbeige",
    "qwen3_coder",
    "seed_oss",
    "step3",
    "step3p5",
];

/// Text of pieces that look like markup or JSON. `x` keeps a closing tag from standing before another tag, where it
/// would be the end.
fn text(tags: bool) -> impl Strategy<Value = String> {
    let plain = select(vec![
        "a",
        "é",
        "\u{1F600}",
        " ",
        "\n",
        "\t",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "null",
        "12",
        "true",
        "'",
        "&amp;",
        "a<b",
        "</div>",
        "\\ud83d",
        "//",
        "\u{1}",
        ": ",
    ]);
    let tag = select(vec![
        "</parameter>x",
        "<parameter=x>x",
        "<parameter name=\"x\">x",
        "</function>x",
        "</invoke>x",
        "</tool_call>x",
        "<tool_call>x",
        "<function=f0>x",
        "<![CDATA[x",
        "]]>x",
        "</param>x",
        "</｜DSML｜parameter>x",
        "</｜DSML｜ invoke>x",
        "</steptml:parameter>x",
        "</minimax:tool_call>x",
    ]);
    let piece = if tags { prop_oneof![3 => plain, 1 => tag].boxed() } else { plain.boxed() };
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// JSON of some depth, with any text in it.
fn any_json(tags: bool) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1000..1000_i32).prop_map(|n| json!(f64::from(n) / 8.0)),
        text(tags).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(tags), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A schema and a value of it.
fn parameter(tags: bool) -> BoxedStrategy<(Value, Value)> {
    let object = || any_json(tags).prop_filter("an object", Value::is_object);
    prop_oneof![
        3 => text(tags).prop_map(|text| (json!({"type": "string"}), json!(text))),
        1 => select(vec!["none", "7", "a b"])
            .prop_map(|text| (json!({"type": "string", "enum": ["none", "7", "a b"]}), json!(text))),
        1 => any::<i64>().prop_map(|n| (json!({"type": "integer"}), json!(n))),
        1 => any::<Option<i32>>().prop_map(|n| (json!({"type": ["integer", "null"]}), json!(n))),
        1 => any::<bool>().prop_map(|on| (json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}), json!(on))),
        1 => (-99..99_i32).prop_map(|n| (json!({"type": "number"}), json!(f64::from(n) / 4.0))),
        1 => object().prop_map(|value| (json!({"type": "object"}), value)),
        1 => prop::collection::vec(any_json(tags), 0..3).prop_map(|list| (json!({"type": "array"}), list.into())),
    ]
    .boxed()
}

/// A tool and a call of it: its parameters in order, some of those not required left out.
fn call(index: usize, tags: bool) -> impl Strategy<Value = (Tool, Value)> {
    let parameters = prop::collection::vec((parameter(tags), any::<bool>(), any::<bool>()), 0..4);
    parameters.prop_map(move |parameters| {
        let (mut properties, mut required, mut arguments) = (Map::new(), Vec::new(), Map::new());
        for (at, ((schema, value), needed, given)) in parameters.into_iter().enumerate() {
            let key = format!("k{at}");
            properties.insert(key.clone(), schema);
            if needed {
                required.push(key.clone());
            }
            if needed || given {
                arguments.insert(key, value);
            }
        }
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        (Tool { name: format!("f{index}"), parameters, strict: false }, Value::Object(arguments))
    })
}

fn calls(tags: bool) -> impl Strategy<Value = Vec<(Tool, Value)>> {
    prop_oneof![
        call(0, tags).prop_map(|one| vec![one]),
        (call(0, tags), call(1, tags)).prop_map(|(one, other)| vec![one, other]),
        call(0, tags).prop_map(|one| vec![one.clone(), one]),
    ]
}

fn written(format: &str, calls: &[(Tool, Value)]) -> String {
    let list: Vec<Written<'_>> = calls
        .iter()
        .map(|(tool, arguments)| Written { name: &tool.name, arguments, tool: Some(tool) })
        .collect();
    tool_format(format).expect("a format").write(&list)
}

fn reader(format: &str, calls: &[(Tool, Value)]) -> How {
    let mut how = with(format, &json!([]));
    let mut list: Vec<Tool> = calls.iter().map(|(tool, _)| tool.clone()).collect();
    list.dedup();
    how.options.tools = std::sync::Arc::new(Tools { list });
    how
}

/// `text` cut into pieces of these sizes in turn.
fn cut(text: &str, sizes: &[usize]) -> Vec<(String, bool)> {
    let characters: Vec<char> = text.chars().collect();
    let (mut pieces, mut at) = (Vec::new(), 0);
    for size in sizes.iter().cycle() {
        if at >= characters.len() {
            break;
        }
        let end = (at + size).min(characters.len());
        pieces.push((characters[at..end].iter().collect(), false));
        at = end;
    }
    pieces
}

/// A word of a family, or something that stands between such.
#[derive(Debug, Clone)]
enum Markup {
    Word(usize),
    Text(&'static str),
}

impl Markup {
    fn spell(&self, words: &[String]) -> String {
        match self {
            Self::Word(index) => words[index % words.len()].clone(),
            Self::Text(text) => (*text).to_owned(),
        }
    }
}

fn markup() -> impl Strategy<Value = Markup> {
    prop_oneof![
        3 => (0..1000_usize).prop_map(Markup::Word),
        2 => select(vec![
            "word1", "word2", "word3", "\n", " ", "\n\n", "<", "12", "[1]", "{\"k\": \"", "\"}", "{}", "'", "]]>",
            "<![CDATA[", ">", "\"", "{\"name\": \"f0\", ", "\"arguments\": {\"a\": 1}}", "é",
        ])
        .prop_map(Markup::Text),
    ]
}

/// The tags of a family, cut out of what it writes, whole and in halves.
fn words(format: &str) -> Vec<String> {
    let tool = Tool { name: "f0".to_owned(), parameters: Value::Null, strict: false };
    let arguments = json!({"a": "_", "b": 1, "c": []});
    let text = written(format, &[(tool, arguments)]);
    let mut words: Vec<String> = text
        .split_inclusive('>')
        .map(|part| part.trim_start_matches(['_', '1', '[', ']', '\n']).to_owned())
        .filter(|part| part.contains('<'))
        .collect();
    if format == "minimax_m3" {
        words = [
            "<tool_call>",
            "</tool_call>",
            "<invoke name=\"f0\">",
            "</invoke>",
            "<a>",
            "</a>",
            "<b>",
            "</b>",
            "<c>",
            "</c>",
            "<item>",
            "</item>",
            "]<]",
        ]
        .iter()
        .map(|tag| format!("]<]minimax[>[{tag}"))
        .collect();
    }
    let halves: Vec<String> =
        words.iter().map(|word| word.chars().take(word.chars().count() / 2).collect()).collect();
    words.extend(halves);
    words
}

proptest! {
    #[test]
    fn what_is_written_is_read(calls in calls(true), sizes in prop::collection::vec(1..12_usize, 1..6)) {
        for format in FORMATS {
            let text = written(format, &calls);
            let how = reader(format, &calls);
            let answer = how.read_pieces(&cut(&text, &sizes));
            let expected: Vec<(String, Value)> =
                calls.iter().map(|(tool, arguments)| (tool.name.clone(), arguments.clone())).collect();
            prop_assert_eq!(answer.calls(), expected, "{} {}", format, text);
            prop_assert_eq!(&answer.content, "", "{} {}", format, text);
        }
    }

    #[test]
    fn what_is_cut_off_says_the_beginning(calls in calls(false), keep in 0.0..1.0_f64) {
        for format in FORMATS {
            let text = written(format, &calls);
            let how = reader(format, &calls);
            let whole = how.read_pieces(&cut(&text, &[1000]));
            let end = (0..=text.len()).rev().find(|end| {
                text.is_char_boundary(*end) && *end as f64 <= text.len() as f64 * keep
            });
            let part = how.read_pieces(&cut(&text[..end.unwrap_or(0)], &[7]));
            prop_assert!(part.calls.len() <= whole.calls.len());
            for (part, whole) in part.calls.iter().zip(&whole.calls) {
                let arguments = part.arguments.strip_suffix('}').unwrap_or(&part.arguments);
                prop_assert!(whole.arguments.starts_with(arguments), "{} {:?} {:?}", format, part, whole);
            }
        }
    }

    /// Whatever comes, in whatever order: the same in every cutting, and no text is lost that is no markup.
    #[test]
    fn any_text_is_read_in_any_cutting(
        pieces in prop::collection::vec(markup(), 0..14),
        sizes in prop::collection::vec(1..9_usize, 1..5),
    ) {
        let calls = [
            (Tool { name: "f0".to_owned(), parameters: json!({"type": "object", "properties": {
                "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "array"}}}), strict: false }, json!({})),
        ];
        for format in FORMATS.iter().chain(&["minimax_m3"]) {
            let words = words(format);
            let text: String = pieces.iter().map(|piece| piece.spell(&words)).collect();
            let how = reader(format, &calls);
            let whole = how.read_pieces(&cut(&text, &[100_000]));
            prop_assert_eq!(&how.read_pieces(&cut(&text, &sizes)), &whole, "{} {:?}", format, text);
            if whole.calls.is_empty() && !text.trim().is_empty() {
                prop_assert_eq!(&whole.content, &text, "{}", format);
            }
            // Words that are no markup are said somewhere; a tag that was cut off is none.
            let text = text.rsplit_once('>').map_or("", |(before, _)| before);
            let said: String = whole.calls.iter().map(|call| call.arguments.as_str()).collect();
            for word in ["word1", "word2", "word3"].into_iter().filter(|word| text.contains(word)) {
                prop_assert!(whole.content.contains(word) || said.contains(word), "{} {:?} lost {}", format, text, word);
            }
        }
    }

    #[test]
    fn what_is_written_is_allowed(calls in calls(false)) {
        let mut tools: Vec<&Tool> = calls.iter().map(|(tool, _)| tool).collect();
        tools.dedup();
        for format in FORMATS {
            let text = written(format, &calls);
            let grammar = |many| tool_format(format).expect("a format").grammar(&tools, many).expect("a grammar");
            prop_assert!(accepts(&grammar(Many::Some), &text), "{} {}", format, text);
            prop_assert_eq!(accepts(&grammar(Many::One), &text), calls.len() == 1, "{} {}", format, text);
        }
    }
}
