//! The body of a request as JSON; any other text is a grammar in EBNF.

#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use overt_grammar::{Constraint, Factory, Limits, Options, Vocabulary, requested, source, words};
use serde_json::Value;

const END: u32 = 256;

fn factory() -> &'static Factory {
    static FACTORY: OnceLock<Factory> = OnceLock::new();
    FACTORY.get_or_init(|| {
        let bytes = (0..=255_u8).map(|byte| (vec![byte], None));
        let end = std::iter::once((Vec::new(), Some("<end>".to_owned())));
        let vocabulary = Vocabulary::new(bytes.chain(end), &[END]).unwrap();
        Factory::new(Arc::new(vocabulary), Limits { kept_grammars: 4, ..Limits::default() }).unwrap()
    })
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (field, constraint, options) = match serde_json::from_str::<Value>(&text) {
        Ok(body) => {
            let Ok(options) = Options::default().with_request(&body) else { return };
            let Ok(Some((field, constraint))) = requested(&body) else { return };
            (field, constraint, options)
        }
        Err(_) => ("ebnf".to_owned(), Constraint::Ebnf(text.into_owned()), Options::default()),
    };
    let Ok(source) = source(&constraint, &field, &options) else { return };
    let Ok(mut matcher) = factory().compile(&source) else { return };
    let mut mask = vec![0_u32; words(257)];
    for step in 0..64_usize {
        if matcher.fill(&mut mask).is_err() {
            return;
        }
        let allowed: Vec<u32> = (0..257).filter(|token| mask[*token as usize / 32] >> (token % 32) & 1 == 1).collect();
        assert!(!allowed.is_empty());
        let token = allowed[(step * 7 + data.len()) % allowed.len()];
        matcher.accept(token).unwrap();
        if token == END && matcher.is_ended() {
            return;
        }
    }
});
