//! Any output of an engine's formats, in two cuttings: never a panic, the same answer, no text lost.
//!
//! Input: a byte that picks the format, one of flags, one for the cuts, then the output: ASCII as it is, and of each
//! other byte and the one behind it a slice of what the format writes, or one of its special tokens.

use std::sync::{Arc, OnceLock};

use overt_parse::{
    Event, Events, Format, Options, Parser, Piece, Tools, Written, declared, formats,
};
use serde_json::{Value, json};

/// Reads `data` with the formats of one engine.
pub fn run(engine: &str, data: &[u8]) {
    let [format, flags, seed, output @ ..] = data else { return };
    let rows = rows(engine);
    let row = rows[usize::from(*format) % rows.len()];
    let tools = if flags & 1 == 0 { tools() } else { Tools::default() };
    let thinks = flags & 2 != 0;
    let options = Options { tools: Arc::new(tools), seed: 1, ..Options::default() };
    let parser = || Parser::new(Some(row), thinks.then_some(row), options.clone());
    let pieces = pieces(row, output);

    let whole = read(parser(), &joined(&pieces));
    let cut = read(parser(), &cut(&pieces, u64::from(*seed)));
    assert_eq!(whole, cut, "{}: {pieces:?}", row.name);
    if options.tools.list.is_empty() && !thinks && !row.framed {
        let text: String = pieces.iter().filter(|piece| !piece.1).map(|piece| &*piece.0).collect();
        assert_eq!(whole.content, text, "{}: {pieces:?}", row.name);
        assert!(whole.calls.is_empty());
    }
}

fn rows(engine: &str) -> Vec<&'static Format> {
    static DECLARED: OnceLock<Vec<&'static Format>> = OnceLock::new();
    match engine {
        "declared" => DECLARED.get_or_init(|| declarations().iter().map(declare).collect()).clone(),
        _ => formats().into_iter().filter(|row| row.engine() == Some(engine)).collect(),
    }
}

fn declare(template: &Value) -> &'static Format {
    match declared(template) {
        Ok(format) => format,
        Err(error) => panic!("{error}"),
    }
}

/// What checkpoints declare: calls in plain JSON, in elements, in a dialect with bare keys.
fn declarations() -> [Value; 3] {
    let function = json!({"name": "{name}", "arguments": "{content}"});
    [
        json!({"start_anchor": "A:", "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open_pattern": r"\s*<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": "{content}"}
            },
            "content": {"close_pattern": r"\s*(?:<\|end\|>|$)"}
        }}),
        json!({"start_anchor": "A:", "fields": {
            "thinking": {"open": "<t>", "close": "</t>"},
            "tool_calls": {
                "open_pattern": r"\s*<call>\s*<function=(?P<name>[^>\n]+)>",
                "close_pattern": r"</function>\s*</call>", "repeats": true, "content": "xml-inline",
                "content_args": {"tag_pattern": r"<p=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</p>"},
                "transform": {"type": "function", "function": function}
            },
            "content": {}
        }}),
        json!({"start_anchor": "A:", "fields": {
            "tool_calls": {
                "open_pattern": r"<call>call:(?P<name>\w+)", "close": "</call>", "repeats": true, "content": "json",
                "content_args": {"unquoted_keys": true, "string_delims": [["<'>", "<'>"]]},
                "transform": {"type": "function", "function": function}
            },
            "content": {"close": ["<end>"]}
        }}),
    ]
}

fn tools() -> Tools {
    Tools::of(&[
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
            "s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": ["boolean", "null"]},
            "l": {"type": "array", "items": {"type": "string"}},
            "o": {"type": "object", "properties": {"k": {"type": "number"}}}}}}}),
        json!({"type": "function", "function": {"name": "g"}}),
    ])
}

/// What the format writes of two calls.
fn written(row: &Format) -> String {
    let tools = tools();
    let (full, none) = (
        json!({"s": "a \"b\" é\n", "n": -1, "b": null, "l": ["x", "y"], "o": {"k": 1.5}}),
        json!({}),
    );
    row.write(&[
        Written { name: "f", arguments: &full, tool: tools.get("f") },
        Written { name: "g", arguments: &none, tool: tools.get("g") },
    ])
}

/// Texts, and whether each is a special token.
fn pieces(row: &Format, output: &[u8]) -> Vec<(String, bool)> {
    let text = written(row);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let thinking = row.thinking.map_or(Vec::new(), |thinking| {
        thinking.open.iter().chain(thinking.close).copied().collect()
    });
    let tokens: Vec<&str> =
        row.tokens.iter().chain(row.openers()).copied().chain(thinking).chain(["</s>"]).collect();
    let mut pieces = Vec::new();
    let mut bytes = output.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte < 0x80 {
            pieces.push((char::from(byte).to_string(), false));
            continue;
        }
        let next = usize::from(bytes.next().unwrap_or_default());
        let at = usize::from(byte & 0x7f);
        pieces.push(match byte {
            0xf0.. => (tokens[next % tokens.len()].to_owned(), byte & 1 == 1),
            _ => {
                let from = at * places.len() / 0x70;
                let to = (from + next % 48).min(places.len() - 1);
                (text[places[from]..places[to]].to_owned(), false)
            }
        });
    }
    pieces.retain(|piece| !piece.0.is_empty());
    pieces
}

/// Texts beside each other as one.
fn joined(pieces: &[(String, bool)]) -> Vec<(String, bool)> {
    let mut all: Vec<(String, bool)> = Vec::new();
    for (text, special) in pieces {
        match all.last_mut() {
            Some((last, false)) if !special => last.push_str(text),
            _ => all.push((text.clone(), *special)),
        }
    }
    all
}

/// Texts cut at places that `seed` decides.
fn cut(pieces: &[(String, bool)], mut seed: u64) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for (text, special) in joined(pieces) {
        let mut rest = text.as_str();
        while !special && !rest.is_empty() {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let count = usize::try_from(seed >> 61).unwrap_or_default() + 1;
            let at = rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
            all.push((rest[..at].to_owned(), false));
            rest = &rest[at..];
        }
        if special {
            all.push((text, true));
        }
    }
    all
}

/// What an answer said, joined.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    content: String,
    reasoning: String,
    calls: Vec<(String, String, String, bool)>,
    order: String,
}

fn read(mut parser: Parser, pieces: &[(String, bool)]) -> Answer {
    let (mut answer, mut events) = (Answer::default(), Events::new());
    for (text, special) in pieces {
        events.clear();
        parser.push(Piece { text, special: *special }, &mut events);
        events.iter().for_each(|event| add(&mut answer, event));
    }
    events.clear();
    parser.finish(&mut events);
    events.iter().for_each(|event| add(&mut answer, event));
    assert!(answer.calls.iter().all(|call| call.3), "every call ends");
    answer
}

fn add(answer: &mut Answer, event: Event<'_>) {
    let open = answer.calls.last().is_some_and(|call| !call.3);
    let letter = match event {
        Event::Text(text) => {
            answer.content.push_str(text);
            'c'
        }
        Event::Reasoning(text) => {
            answer.reasoning.push_str(text);
            'r'
        }
        Event::ToolStart { index, id, name } => {
            assert!(!open && index as usize == answer.calls.len() && !name.is_empty());
            answer.calls.push((name.to_owned(), id.to_owned(), String::new(), false));
            't'
        }
        Event::ToolArgs { text, .. } => {
            assert!(open && !text.is_empty());
            answer.calls.last_mut().into_iter().for_each(|call| call.2.push_str(text));
            't'
        }
        Event::ToolEnd { .. } => {
            assert!(open);
            answer.calls.last_mut().into_iter().for_each(|call| call.3 = true);
            't'
        }
    };
    if !answer.order.ends_with(letter) {
        answer.order.push(letter);
    }
}
