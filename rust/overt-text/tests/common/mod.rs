//! Small tokenizers of the kinds that models use.

use overt_text::Tokenizer;
use serde_json::{Map, Value, json};

/// The byte alphabet of GPT-2 by its definition: printable bytes first, the others from U+0100 on.
fn alphabet() -> Vec<char> {
    let printable =
        |byte: u32| (0x21..=0x7e).contains(&byte) || (0xa1..=0xac).contains(&byte) || byte >= 0xae;
    let mut next = 0x100;
    (0..256u32)
        .map(|byte| {
            let code = if printable(byte) { byte } else { next };
            next += u32::from(!printable(byte));
            char::from_u32(code).unwrap()
        })
        .collect()
}

fn added(id: usize, content: &str, special: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": special})
}

fn file(
    vocab: Map<String, Value>,
    merges: &[&str],
    byte_fallback: bool,
    added: &[Value],
    pre: &Value,
    decoder: &Value,
) -> Value {
    json!({"version": "1.0", "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": null, "added_tokens": added, "normalizer": null, "pre_tokenizer": pre,
        "post_processor": null, "decoder": decoder,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": byte_fallback,
            "ignore_merges": false, "vocab": vocab, "merges": merges}})
}

fn load(file: &Value) -> Tokenizer {
    Tokenizer::from_bytes(&serde_json::to_vec(file).unwrap()).unwrap()
}

/// Every byte, a few merges, three special tokens and two added ones: as GPT-2, Llama 3 and Qwen.
pub(crate) fn byte_level() -> Tokenizer {
    let mut vocab = Map::new();
    for c in alphabet() {
        vocab.insert(c.to_string(), json!(vocab.len()));
    }
    let merges = ["h e", "l l", "he ll", "hell o", "Ġ hello", "Ã ©", "ð Ł", "ðŁ ĺ", "â Ĥ"];
    for merge in merges {
        vocab.insert(merge.replace(' ', ""), json!(vocab.len()));
    }
    let first = vocab.len();
    let names = [
        ("<|end|>", true),
        ("<|im start|>", true),
        ("<｜É｜>", true),
        ("<tool_call>", false),
        ("<a b>", false),
    ];
    let added: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(index, name)| added(first + index, name.0, name.1))
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    load(&file(vocab, &merges, false, &added, &byte_level, &byte_level))
}

/// Pieces with a sign for the space and bytes by fallback: as Llama 2 and Mistral, with `strip`; as Gemma, without.
pub(crate) fn pieces(strip: bool) -> Tokenizer {
    let mut vocab = Map::new();
    for byte in 0..256 {
        vocab.insert(format!("<0x{byte:02X}>"), json!(vocab.len()));
    }
    for piece in ["▁", "▁▁", "▁hello", "hello", "h", "e", "é", "日", "a▁b", "<", ">"] {
        vocab.insert(piece.to_owned(), json!(vocab.len()));
    }
    let added = [added(vocab.len(), "<s>", true), added(vocab.len() + 1, "<end▁of▁turn>", true)];
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if strip {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    load(&file(
        vocab,
        &[],
        true,
        &added,
        &json!(null),
        &json!({"type": "Sequence", "decoders": decoders}),
    ))
}

/// A Metaspace decoder, which drops the spaces of the first token: as T5.
pub(crate) fn metaspace() -> Tokenizer {
    let mut vocab = Map::new();
    for piece in ["▁", "▁hello", "hello", "é", "日"] {
        vocab.insert(piece.to_owned(), json!(vocab.len()));
    }
    let added = [added(vocab.len(), "<s>", true)];
    let decoder =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    load(&file(vocab, &[], false, &added, &json!(null), &decoder))
}

/// A decoder that no table replaces.
pub(crate) fn word_pieces() -> Tokenizer {
    let mut vocab = Map::new();
    for piece in ["hello", "world", "##ing", "##é", "日"] {
        vocab.insert(piece.to_owned(), json!(vocab.len()));
    }
    let added = [added(vocab.len(), "[SEP]", true)];
    let decoder = json!({"type": "WordPiece", "prefix": "##", "cleanup": false});
    load(&file(vocab, &[], false, &added, &json!(null), &decoder))
}
