//! Which bytes a token stands for, read from the `decoder` of a `tokenizer.json`.

use serde_json::Value;

/// A decoder that a table of bytes can replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Every character of a token stands for one byte.
    ByteLevel,
    /// Tokens are text with a sign for the space, bytes spelt `<0xNN>` where there is fallback.
    Pieces(Pieces),
}

/// See [`Scheme::Pieces`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    replaces: Vec<(String, String)>,
    pub(crate) byte_fallback: bool,
    pub(crate) start: Start,
}

/// What the decoder takes away at the start of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Start {
    /// Nothing.
    #[default]
    Keep,
    /// Up to so many leading bytes of one kind.
    Strip { byte: u8, count: usize },
    /// Every space of the first token.
    FirstToken,
}

impl Scheme {
    /// None where the decoder is of another kind.
    pub(crate) fn read(decoder: &Value) -> Option<Self> {
        let mut steps = Vec::new();
        flatten(decoder, &mut steps);
        if let [only] = steps.as_slice()
            && kind(only) == "ByteLevel"
        {
            return Some(Self::ByteLevel);
        }
        let mut pieces = Pieces::default();
        let mut fused = false;
        for step in steps {
            match kind(step) {
                "Replace" if !pieces.byte_fallback && !fused => {
                    let pattern = step
                        .get("pattern")?
                        .get("String")?
                        .as_str()
                        .filter(|text| !text.is_empty())?;
                    pieces
                        .replaces
                        .push((pattern.to_owned(), step.get("content")?.as_str()?.to_owned()));
                }
                "ByteFallback" if !fused && pieces.start == Start::Keep => {
                    pieces.byte_fallback = true
                }
                "Metaspace" if !fused && pieces.start == Start::Keep => {
                    let sign = step.get("replacement")?.as_str()?.to_owned();
                    pieces.replaces.push((sign, " ".to_owned()));
                    let scheme =
                        step.get("prepend_scheme").and_then(Value::as_str).unwrap_or("always");
                    if scheme != "never" {
                        pieces.start = Start::FirstToken;
                    }
                }
                "Fuse" => fused = true,
                "Strip" if fused && pieces.start == Start::Keep => {
                    let byte = u8::try_from(step.get("content")?.as_str()?.chars().next()?).ok()?;
                    let count = usize::try_from(step.get("start")?.as_u64()?).ok()?;
                    if !byte.is_ascii() || step.get("stop")?.as_u64()? != 0 {
                        return None;
                    }
                    pieces.start = Start::Strip { byte, count };
                }
                _ => return None,
            }
        }
        // Without any step tokens are joined by spaces, which is another thing.
        (fused || pieces.byte_fallback || !pieces.replaces.is_empty())
            .then_some(Self::Pieces(pieces))
    }

    /// Appends the bytes of a token spelt `token`.
    pub(crate) fn write(&self, token: &str, out: &mut Vec<u8>) {
        match self {
            Self::ByteLevel => {
                let start = out.len();
                for c in token.chars() {
                    match byte_of(c) {
                        Some(byte) => out.push(byte),
                        None => {
                            // Not spelt in the byte alphabet, as added tokens may be: taken as it stands.
                            out.truncate(start);
                            return out.extend_from_slice(token.as_bytes());
                        }
                    }
                }
            }
            Self::Pieces(pieces) => {
                if pieces.byte_fallback
                    && let Some(byte) = fallback_byte(token)
                {
                    return out.push(byte);
                }
                let mut text = token.to_owned();
                for (from, to) in &pieces.replaces {
                    text = text.replace(from, to);
                }
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// The byte of a token spelt `<0xNN>`.
pub(crate) fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

fn kind(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn flatten<'a>(decoder: &'a Value, steps: &mut Vec<&'a Value>) {
    match decoder.get("decoders").and_then(Value::as_array) {
        Some(inner) if kind(decoder) == "Sequence" => {
            inner.iter().for_each(|step| flatten(step, steps))
        }
        _ => steps.push(decoder),
    }
}

/// The byte alphabet of GPT-2: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and on.
fn byte_of(c: char) -> Option<u8> {
    let code = c as u32;
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x143 => {
            let index = code - 0x100;
            let byte = match index {
                0..=0x20 => index,
                0x21..=0x42 => index - 0x21 + 0x7f,
                _ => 0xad,
            };
            u8::try_from(byte).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Scheme, Start, byte_of};
    use serde_json::json;

    #[test]
    fn the_alphabet_has_every_byte_once() {
        let mut bytes: Vec<u8> =
            (0..0x200).filter_map(char::from_u32).filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(byte_of('Ġ'), Some(b' '));
        assert_eq!(byte_of('Ċ'), Some(b'\n'));
    }

    #[test]
    fn decoders_are_recognised() {
        let llama = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]});
        let Some(Scheme::Pieces(pieces)) = Scheme::read(&llama) else { panic!("not recognised") };
        assert_eq!(pieces.start, Start::Strip { byte: b' ', count: 1 });
        assert!(pieces.byte_fallback);
        let byte_level = json!({"type": "Sequence", "decoders": [{"type": "ByteLevel"}]});
        assert_eq!(Scheme::read(&byte_level), Some(Scheme::ByteLevel));
        for other in [
            json!(null),
            json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
            json!({"type": "Replace", "pattern": {"Regex": "x"}, "content": " "}),
            json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}),
            json!({"type": "Sequence", "decoders": []}),
        ] {
            assert_eq!(Scheme::read(&other), None, "{other}");
        }
    }
}
