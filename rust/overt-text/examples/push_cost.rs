//! Prints what a token costs: detokenising, then stop matching. Argument: a `tokenizer.json`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::hint::black_box;
use std::time::Instant;

use overt_text::{Detokenizer, StopMatcher, Tokenizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: push_cost TOKENIZER.JSON");
        return Ok(());
    };
    let begin = Instant::now();
    let tokenizer = Tokenizer::from_bytes(&std::fs::read(path)?)?;
    println!(
        "loaded in {:?}; {} tokens, exact: {}",
        begin.elapsed(),
        tokenizer.vocab_size(),
        tokenizer.exact()
    );
    let text = "The quick brown fox jumps over the lazy dog. 日本語のテキスト, naïve café 😀!\n"
        .repeat(2000);
    let ids = tokenizer.encode(&text, false)?;
    let stops = ["\n\nUser:", "<|im_end|>", "END", "Observation:"];
    let mut detokenizer = Detokenizer::new(&tokenizer, true, &ids[..1]);
    let mut matcher = StopMatcher::new(&stops);
    let mut engine = StopMatcher::new(&stops);
    let (mut decoded, mut shown) = (String::new(), String::new());
    for round in ["detokenise", "detokenise and match", "match on bytes"] {
        let begin = Instant::now();
        for id in &ids {
            decoded.clear();
            shown.clear();
            match round {
                "match on bytes" => {
                    black_box(engine.push_bytes(tokenizer.table().bytes(*id)));
                }
                _ => {
                    detokenizer.push(*id, &mut decoded);
                    if round != "detokenise" {
                        black_box(matcher.push(&decoded, &mut shown));
                    }
                }
            }
        }
        let each = begin.elapsed().as_secs_f64() * 1e9 / ids.len() as f64;
        println!("{round}: {each:.0} ns a token");
    }
    Ok(())
}
