//! Tokenizers of every kind that encodes otherwise, with added tokens of every flag.

use overt_text::Tokenizer;
use serde_json::{Map, Value, json};

/// One tokenizer and the crate's own, made of the same file, the second without special tokens in texts.
pub(crate) struct Pair {
    pub(crate) ours: Tokenizer,
    pub(crate) theirs: tokenizers::Tokenizer,
    pub(crate) plain: tokenizers::Tokenizer,
}

/// An added token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) spelling: &'static str,
    pub(crate) special: bool,
    pub(crate) normalized: bool,
    pub(crate) single_word: bool,
    pub(crate) lstrip: bool,
    pub(crate) rstrip: bool,
}

impl Token {
    pub(crate) fn new(spelling: &'static str, special: bool) -> Self {
        let flag = false;
        Self { spelling, special, normalized: flag, single_word: flag, lstrip: flag, rstrip: flag }
    }
}

pub(crate) const KINDS: [&str; 14] = [
    "bytes",
    "bytes, prefix space",
    "bytes, look-ahead and NFC",
    "bytes, in the normaliser",
    "metaspace first",
    "metaspace always",
    "metaspace never",
    "metaspace first, stripped",
    "prepend and replace",
    "replace, no pre-tokenizer",
    "word pieces",
    "unigram",
    "unigram, words of digits",
    "words, lower case",
];

/// The split pattern of Llama 3.
const PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A tokenizer of a kind, with these added tokens.
pub(crate) fn pair(kind: &str, tokens: &[Token]) -> Pair {
    let bytes = file_of(kind, tokens);
    let theirs = tokenizers::Tokenizer::from_bytes(&bytes).unwrap();
    let mut plain = theirs.clone();
    plain.set_encode_special_tokens(true);
    Pair { ours: Tokenizer::from_bytes(&bytes).unwrap(), theirs, plain }
}

/// The file of a tokenizer of a kind, with these added tokens.
pub(crate) fn file_of(kind: &str, tokens: &[Token]) -> Vec<u8> {
    let mut file = file(kind);
    let first = 5000;
    let added: Vec<Value> = tokens
        .iter()
        .enumerate()
        .map(|(index, token)| {
            json!({"id": first + index, "content": token.spelling, "special": token.special,
                "normalized": token.normalized, "single_word": token.single_word,
                "lstrip": token.lstrip, "rstrip": token.rstrip})
        })
        .collect();
    file["added_tokens"] = json!(added);
    serde_json::to_vec(&file).unwrap()
}

fn file(kind: &str) -> Value {
    let metaspace = |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
    let byte_level = |prefix: bool, regex: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": regex});
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let sequence = |of: &str, steps: Value| json!({"type": "Sequence", of: steps});
    let null = Value::Null;
    let (model, normalizer, pre, post) = match kind {
        "bytes" => (bytes(), null.clone(), byte_level(false, true), byte_level(false, true)),
        "bytes, prefix space" => (
            bytes(),
            null.clone(),
            byte_level(true, true),
            json!({"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 0], "trim_offsets": true, "add_prefix_space": true}),
        ),
        "bytes, look-ahead and NFC" => (
            bytes(),
            json!({"type": "NFC"}),
            sequence(
                "pretokenizers",
                json!([{"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": false}, byte_level(false, false)]),
            ),
            sequence("processors", json!([byte_level(false, true), template()])),
        ),
        "bytes, in the normaliser" => {
            (bytes(), json!({"type": "ByteLevel"}), null.clone(), null.clone())
        }
        "metaspace first" => (pieces(), null.clone(), metaspace("first"), template()),
        "metaspace always" => (pieces(), null.clone(), metaspace("always"), null.clone()),
        "metaspace never" => (
            pieces(),
            null.clone(),
            sequence(
                "pretokenizers",
                json!([{"type": "Digits", "individual_digits": true}, metaspace("never")]),
            ),
            null.clone(),
        ),
        "metaspace first, stripped" => (
            pieces(),
            json!({"type": "Strip", "strip_left": true, "strip_right": true}),
            metaspace("first"),
            null.clone(),
        ),
        "prepend and replace" => (
            pieces(),
            sequence("normalizers", json!([{"type": "Prepend", "prepend": "▁"}, replace])),
            null.clone(),
            template(),
        ),
        "replace, no pre-tokenizer" => (
            pieces(),
            replace,
            json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
            null.clone(),
        ),
        "word pieces" => (
            word_pieces(),
            json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}),
            json!({"type": "BertPreTokenizer"}),
            template(),
        ),
        "unigram" => (unigram(), json!({"type": "NFKC"}), metaspace("always"), null.clone()),
        "unigram, words of digits" => (
            unigram(),
            json!({"type": "Nmt"}),
            sequence(
                "pretokenizers",
                json!([{"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"}, metaspace("first")]),
            ),
            null.clone(),
        ),
        _ => (
            json!({"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "hello": 1, "b": 2, "s": 3, "x": 4}}),
            sequence("normalizers", json!([{"type": "Lowercase"}, {"type": "StripAccents"}])),
            sequence("pretokenizers", json!([{"type": "Whitespace"}, {"type": "Punctuation"}])),
            null.clone(),
        ),
    };
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": pre, "post_processor": post, "decoder": decoder(kind), "model": model})
}

fn decoder(kind: &str) -> Value {
    if kind.starts_with("bytes") {
        return json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    }
    json!({"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]})
}

/// A token before and one behind, where asked for.
fn template() -> Value {
    json!({"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "b", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}, "b": {"id": "b", "ids": [1], "tokens": ["b"]}}})
}

fn model(vocab: &Map<String, Value>, merges: &[&str], byte_fallback: bool) -> Value {
    json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": byte_fallback, "ignore_merges": false,
        "vocab": vocab, "merges": merges})
}

fn bytes() -> Value {
    let mut vocab = Map::new();
    // The byte alphabet of GPT-2: printable bytes stand for themselves, the others for U+0100 and on.
    let mut next = 0x100;
    for byte in 0..256u32 {
        let printable = (0x21..=0x7e).contains(&byte)
            || (0xa1..=0xac).contains(&byte)
            || (0xae..=0xff).contains(&byte);
        let code = if printable { byte } else { next };
        next += u32::from(!printable);
        vocab.insert(char::from_u32(code).unwrap().to_string(), json!(byte));
    }
    let merges = [
        "h e", "l l", "he ll", "hell o", "Ġ hello", "Ã ©", "ð Ł", "< |", "| >", "Ġ Ġ", "Ċ Ċ", "Ġ <",
    ];
    for merge in merges {
        vocab.insert(merge.replace(' ', ""), json!(vocab.len()));
    }
    model(&vocab, &merges, false)
}

fn pieces() -> Value {
    let mut vocab = Map::new();
    for byte in 0..256 {
        vocab.insert(format!("<0x{byte:02X}>"), json!(vocab.len()));
    }
    for c in "▁abcdehlosx<>|/é日1234 ".chars() {
        vocab.insert(c.to_string(), json!(vocab.len()));
    }
    let merges = ["▁ ▁", "h e", "l l", "he ll", "hell o", "▁ hello", "▁ a", "< |", "▁ <", "1 2"];
    for merge in merges {
        vocab.insert(merge.replace(' ', ""), json!(vocab.len()));
    }
    model(&vocab, &merges, true)
}

fn word_pieces() -> Value {
    let mut vocab = Map::new();
    vocab.insert("[UNK]".to_owned(), json!(0));
    for piece in [
        "hello", "a", "s", "x", "##s", "##a", "##lo", "hel", "e", "日", "<", ">", "|", "/", "1",
        "##2",
    ] {
        vocab.insert(piece.to_owned(), json!(vocab.len()));
    }
    json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100, "vocab": vocab})
}

fn unigram() -> Value {
    let pieces = [
        "<unk>", "▁", "▁hello", "hel", "lo", "h", "e", "l", "o", "a", "▁a", "s", "x", "<", ">",
        "|", "é", "日", "1", "2", "▁▁",
    ];
    let vocab: Vec<Value> = pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| json!([piece, -1.0 - f64::from(u32::try_from(index).unwrap()) / 8.0]))
        .collect();
    json!({"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": vocab})
}
