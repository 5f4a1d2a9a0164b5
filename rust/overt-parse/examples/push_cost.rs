//! Prints what the hermes parser costs: a token of prose, and a call with 20 KB of arguments.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use overt_parse::{Events, Piece, find};

fn main() {
    let Some(format) = find("hermes") else { return };
    let call = format!(
        "<tool_call>{{\"name\": \"f\", \"arguments\": {{\"text\": \"{}\"}}}}</tool_call>",
        "lorem \\n ".repeat(2500)
    );
    for (what, output) in [("prose", "some words, a < b, ".repeat(1200)), ("a call of 20 KB", call)]
    {
        let tokens: Vec<String> = output
            .chars()
            .collect::<Vec<_>>()
            .chunks(4)
            .map(|token| token.iter().collect())
            .collect();
        let mut parser = (format.build)(1);
        let mut events = Events::new();
        let begin = Instant::now();
        for token in &tokens {
            events.clear();
            parser.push(Piece { text: token, special: false }, &mut events);
        }
        let spent = begin.elapsed();
        let each = spent.as_secs_f64() * 1e9 / tokens.len() as f64;
        println!("{what}: {each:.0} ns a token of 4 bytes, {spent:?} in all");
    }
}
