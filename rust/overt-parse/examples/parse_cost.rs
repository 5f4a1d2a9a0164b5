//! Prints what parsing costs by format, in microseconds a token of four bytes: prose, 20 KB and 1 MB of arguments.
//!
//! One line a format, its fields separated by tabs, the median of as many rounds as the first argument says (5).

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use overt_parse::{Event, Events, Format, Options, Parser, Piece, Tool, Tools, Written, formats};
use serde_json::{Value, json};

const WORDS: &str =
    "The keeper climbed the narrow stairs, counted 127 steps (a < b), and lit the lamp.\n";

fn main() {
    let rounds =
        std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5usize).max(1);
    let tools = Arc::new(Tools { list: vec![tool()] });
    let prose = WORDS.repeat(1000);
    for format in formats() {
        let small = written(format, 20_000);
        if small.is_empty() {
            continue;
        }
        let large = written(format, 1_000_000);
        let cost = |text: &str, calls: u32| median(rounds, || read(format, &tools, text, calls));
        // Text of a framed format stands in frames of its own: what is measured is an answer without any.
        let (prose, small, large) = (cost(&prose, 0), cost(&small, 1), cost(&large, 1));
        println!("{}\t{prose:.4}\t{small:.4}\t{large:.4}", format.name);
    }
}

fn tool() -> Tool {
    let parameters = json!({"type": "object", "properties": {
        "path": {"type": "string"},
        "text": {"type": "string"},
        "numbers": {"type": "array", "items": {"type": "integer"}},
    }});
    Tool { name: "write_file".to_owned(), parameters, strict: false }
}

/// A call whose arguments have about this many bytes: three quarters are one string, the rest numbers.
fn written(format: &Format, bytes: usize) -> String {
    let text: String = WORDS.chars().cycle().take(bytes * 3 / 4).collect();
    let numbers: Vec<Value> = (0..bytes / 32).map(|n| json!(100_000 + n % 899_999)).collect();
    let arguments = json!({"path": "a.txt", "text": text, "numbers": numbers});
    let tool = tool();
    format.write(&[Written { name: &tool.name, arguments: &arguments, tool: Some(&tool) }])
}

/// Microseconds a token that reading `text` takes, and whether it said so many calls.
fn read(format: &Format, tools: &Arc<Tools>, text: &str, calls: u32) -> f64 {
    let options = Options { tools: Arc::clone(tools), ..Options::default() };
    let mut parser = Parser::new(Some(format), None, options);
    let mut events = Events::new();
    let (mut tokens, mut ended, mut rest) = (0.0, 0, text);
    let mut end = |events: &Events| {
        ended += events.iter().filter(|event| matches!(event, Event::ToolEnd { .. })).count();
    };
    let start = Instant::now();
    while !rest.is_empty() {
        let at = (4..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        events.clear();
        parser.push(Piece { text: &rest[..at], special: false }, &mut events);
        end(&events);
        rest = &rest[at..];
        tokens += 1.0;
    }
    events.clear();
    parser.finish(&mut events);
    end(&events);
    let taken = start.elapsed().as_secs_f64() * 1e6 / tokens;
    assert_eq!((parser.tool_calls(), ended), (calls, calls as usize), "{}", format.name);
    taken
}

fn median(rounds: usize, mut once: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..rounds).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
