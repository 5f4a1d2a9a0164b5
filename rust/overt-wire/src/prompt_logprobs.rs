//! Log probabilities of a prompt's tokens (`prompt_logprobs`, vLLM's extension).

use std::collections::HashSet;

use crate::json;

/// One prompt token: itself and the likeliest. Empty for the first token, before which nothing stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptToken {
    /// In the order in which clients see them; of entries with the same id the first counts.
    pub entries: Vec<PromptEntry>,
}

/// One candidate for a prompt token's place.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptEntry {
    /// Its id in the vocabulary.
    pub id: u32,
    /// Its spelling.
    pub text: String,
    /// Natural logarithm, at most 0.
    pub logprob: f32,
    /// 1 = the likeliest.
    pub rank: u32,
}

/// `[null,{"ID":{"logprob":…,"rank":…,"decoded_token":…},…},…]`.
pub(crate) fn write(tokens: &[PromptToken], out: &mut Vec<u8>) {
    let mut seen = HashSet::new();
    out.push(b'[');
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if token.entries.is_empty() {
            out.extend_from_slice(b"null");
            continue;
        }
        seen.clear();
        for entry in &token.entries {
            // The token itself may be among the likeliest.
            if !seen.insert(entry.id) {
                continue;
            }
            out.extend_from_slice(if seen.len() == 1 { b"{\"" } else { b",\"" });
            json::number(u64::from(entry.id), out);
            out.extend_from_slice(b"\":{\"logprob\":");
            json::logprob(entry.logprob, out);
            out.extend_from_slice(b",\"rank\":");
            json::number(u64::from(entry.rank), out);
            out.extend_from_slice(b",\"decoded_token\":");
            json::string(&entry.text, out);
            out.push(b'}');
        }
        out.push(b'}');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_a_token_and_null_for_the_first() {
        let entry =
            |id, text: &str, logprob, rank| PromptEntry { id, text: text.into(), logprob, rank };
        let tokens = [
            PromptToken::default(),
            PromptToken {
                entries: vec![
                    entry(7, "\"", -2.0, 2),
                    entry(8, "b", -0.5, 1),
                    entry(7, "\"", -2.0, 2),
                ],
            },
            PromptToken { entries: vec![entry(1, "", f32::NAN, 4)] },
        ];
        let mut out = Vec::new();
        write(&tokens, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"[null,{"7":{"logprob":-2.0,"rank":2,"decoded_token":"\""},"#,
                r#""8":{"logprob":-0.5,"rank":1,"decoded_token":"b"}},"#,
                r#"{"1":{"logprob":-9999.0,"rank":4,"decoded_token":""}}]"#
            )
        );
        let mut out = Vec::new();
        write(&[], &mut out);
        assert_eq!(out, b"[]");
    }
}
