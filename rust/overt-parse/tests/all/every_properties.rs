//! What holds for every format that has calls, whatever the tools, the values and the cuts.

use std::sync::Arc;

use crate::common::rows::{how, quotes, rows, said, tools, write};
use crate::common::{Answer, How};
use overt_parse::{Options, Tool, Tools};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// `text` in pieces of these many characters, and the rest.
fn cut(text: &str, cuts: &[usize]) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for count in cuts {
        let at = rest.char_indices().nth(*count).map_or(rest.len(), |(at, _)| at);
        pieces.push((rest[..at].to_owned(), false));
        rest = &rest[at..];
    }
    pieces.push((rest.to_owned(), false));
    pieces
}

/// Fragments that stand in calls of one format or another.
const SHARDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"name\"",
    "\"arguments\": ",
    "\"parameters\": {",
    ":",
    ",",
    ";",
    "\"",
    "\\",
    "get_weather",
    "list_tables",
    "\"list_tables\"",
    "null",
    "1.5e3",
    " ",
    "\n",
    "<",
    ">",
    "</",
    "=",
    "(",
    ")",
    "```",
    "é",
    "text",
    "{\"name\": \"list_tables\", \"arguments\": {}}",
    "functions.",
    "'",
];

/// A parameter's schema and a value that fits it; strings for formats that quote, and for those that do not.
fn parameter() -> impl Strategy<Value = (Value, Value, Value)> {
    let same = |schema: Value, value: Value| (schema, value.clone(), value);
    let plain =
        "[a-zA-Z0-9éß日😀(]([a-zA-Z0-9éß日😀 .,:;!?()+=*/{}\\[\\]\"'\\\\\n-]{0,20}[a-zA-Z0-9)])?";
    let free = proptest::string::string_regex("(\\PC|[\"\\\\<>{}\\[\\]\n\t ]){0,24}")
        .expect("an expression");
    prop_oneof![
        (free, plain).prop_map(|(free, plain)| (json!({"type": "string"}), json!(free), json!(plain))),
        any::<i64>().prop_map(move |n| same(json!({"type": "integer"}), json!(n))),
        (-1_000_000i32..1_000_000, 1u32..4)
            .prop_map(move |(n, d)| same(json!({"type": "number"}), json!(f64::from(n) / f64::from(10u32.pow(d))))),
        any::<bool>().prop_map(move |b| same(json!({"type": "boolean"}), json!(b))),
        proptest::collection::vec(any::<i32>(), 0..4).prop_map(move |list| same(
            json!({"type": "array", "items": {"type": "integer"}}),
            json!(list)
        )),
        ("[a-z]{1,8}", any::<i16>()).prop_map(move |(text, n)| same(
            json!({"type": "object", "properties": {"t": {"type": "string"}, "n": {"type": "integer"}}}),
            json!({"t": text, "n": n})
        )),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        row in any::<proptest::sample::Index>(),
        calls in proptest::collection::vec(
            ("[a-z][a-z0-9_]{0,12}", proptest::collection::btree_map("[a-z][a-z_]{0,6}", parameter(), 0..4)),
            1..4,
        ),
        cuts in proptest::collection::vec(1usize..12, 0..40),
    ) {
        let rows = rows();
        let row = rows[row.index(rows.len())];
        let quotes = quotes(row);
        let mut tools = Tools::default();
        let mut expected = Vec::new();
        for (index, (name, parameters)) in calls.iter().enumerate() {
            let name = format!("{name}_{index}");
            let (mut properties, mut arguments) = (Map::new(), Map::new());
            for (key, (schema, any, plain)) in parameters {
                properties.insert(key.clone(), schema.clone());
                arguments.insert(key.clone(), if quotes { any.clone() } else { plain.clone() });
            }
            let parameters = json!({"type": "object", "properties": properties});
            tools.list.push(Tool { name: name.clone(), parameters, strict: false });
            expected.push((name, Value::Object(arguments)));
        }
        let written: Vec<(&str, Value)> =
            expected.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        let text = write(row, &tools, &written);
        let options = Options { tools: Arc::new(tools), ..Options::default() };
        let how = How { tool: Some(row.tool_names[0].to_owned()), options, ..How::default() };
        let answer = how.read_pieces(&cut(&text, &cuts));
        prop_assert_eq!(said(&answer), written, "{} {:?}", row.name, text);
        prop_assert_eq!(&answer.content, "", "{} {:?}", row.name, text);
    }

    /// Slices of what a format writes, and fragments between them: whatever that is, it does not depend on cuts,
    /// calls are well formed (the reading itself sees to it), and where no call comes no text is lost.
    #[test]
    fn rubble_is_read_the_same_however_it_is_cut(
        row in any::<Index>(),
        parts in proptest::collection::vec(
            prop_oneof![
                (any::<Index>(), any::<Index>()).prop_map(Ok),
                proptest::sample::select(SHARDS).prop_map(Err),
            ],
            0..9,
        ),
        cuts in proptest::collection::vec(1usize..8, 0..60),
    ) {
        let rows = rows();
        let row = rows[row.index(rows.len())];
        let calls = [
            ("get_weather", json!({"city": "a } \" b", "days": 3})),
            ("list_tables", json!({})),
        ];
        let written = write(row, &tools(), &calls);
        let places: Vec<usize> = written.char_indices().map(|(at, _)| at).chain([written.len()]).collect();
        let mut text = String::new();
        for part in parts {
            match part {
                Ok((one, other)) => {
                    let (one, other) = (one.get(&places), other.get(&places));
                    text.push_str(&written[*one.min(other)..*one.max(other)]);
                }
                Err(shard) => text.push_str(shard),
            }
        }
        let how = how(row);
        let whole = how.read_pieces(&[(text.clone(), false)]);
        prop_assert_eq!(&how.read_pieces(&cut(&text, &cuts)), &whole, "{} {:?}", row.name, &text);
        let single: Vec<usize> = text.chars().map(|_| 1).collect();
        prop_assert_eq!(&how.read_pieces(&cut(&text, &single)), &whole, "{} {:?}", row.name, &text);
        // Markers as special tokens: cut in several ways by the reading itself.
        let marks = row.openers().iter().filter(|text| text.starts_with("<") && text.ends_with(">"));
        let specials: Vec<&str> = row.tokens.iter().chain(marks).copied().collect();
        how.clone().specials(&specials).read(&text);
        if whole.calls.is_empty() && !row.framed {
            prop_assert_eq!(&whole, &Answer { content: text, order: whole.order.clone(), ..Answer::default() }, "{}", row.name);
        }
    }
}
