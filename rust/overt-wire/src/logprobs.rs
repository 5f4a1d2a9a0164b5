//! Log probabilities of an answer's tokens, in the two shapes of OpenAI's API.

use std::collections::HashSet;

use crate::json;

/// A token as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenText {
    /// Its spelling; what is no whole character in it is U+FFFD.
    pub text: String,
    /// Its bytes of the text; `None`: a hidden special token, which has none.
    pub bytes: Option<Vec<u8>>,
    /// Its id in the vocabulary.
    pub id: u32,
}

/// One token of the answer (or of an echoed prompt) with its log probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// The token that was taken.
    pub token: TokenText,
    /// Natural logarithm, at most 0; `None`: nothing stands before the token (the first of an echoed prompt).
    pub logprob: Option<f32>,
    /// The likeliest tokens at its place, best first: as many as were asked for, the token itself perhaps
    /// among them.
    pub top: Vec<(TokenText, f32)>,
    /// Characters (Unicode scalar values) of the choice's text before the token.
    pub offset: u64,
}

/// Chat's `logprobs`, from `{"content":[` on; what [`entries`] writes follows.
pub(crate) const CHAT_OPEN: &[u8] = b"{\"content\":[";

/// The end of what [`CHAT_OPEN`] began.
pub(crate) const CHAT_CLOSE: &[u8] = b"],\"refusal\":null}";

/// Chat's entries of `tokens`, commas between them.
pub(crate) fn entries(tokens: &[TokenLogprobs], as_ids: bool, out: &mut Vec<u8>) {
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        // Chat echoes no prompt, so that every token has one.
        entry(&token.token, token.logprob.unwrap_or(f32::NEG_INFINITY), as_ids, out);
        out.extend_from_slice(b",\"top_logprobs\":[");
        for (at, (token, logprob)) in token.top.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            entry(token, *logprob, as_ids, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
}

/// `{"token":…,"logprob":…,"bytes":…`, left open.
fn entry(token: &TokenText, logprob: f32, as_ids: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"token\":");
    spelling(token, as_ids, out);
    out.extend_from_slice(b",\"logprob\":");
    json::logprob(logprob, out);
    out.extend_from_slice(b",\"bytes\":");
    let Some(bytes) = &token.bytes else { return out.extend_from_slice(b"null") };
    out.push(b'[');
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::number(u64::from(*byte), out);
    }
    out.push(b']');
}

/// The token's text, or `token_id:N`, as a JSON string.
fn spelling(token: &TokenText, as_ids: bool, out: &mut Vec<u8>) {
    if as_ids {
        out.extend_from_slice(b"\"token_id:");
        json::number(u64::from(token.id), out);
        out.push(b'"');
    } else {
        json::string(&token.text, out);
    }
}

/// The four lists of completions' `logprobs`, each without its brackets.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lists {
    offsets: Vec<u8>,
    logprobs: Vec<u8>,
    tokens: Vec<u8>,
    top: Vec<u8>,
}

impl Lists {
    /// Forgets the tokens, keeps the memory.
    pub(crate) fn clear(&mut self) {
        for list in [&mut self.offsets, &mut self.logprobs, &mut self.tokens, &mut self.top] {
            list.clear();
        }
    }

    /// Adds tokens at the end.
    pub(crate) fn add(&mut self, tokens: &[TokenLogprobs], as_ids: bool) {
        for token in tokens {
            // A token is never empty here: it has its quotes.
            if !self.tokens.is_empty() {
                for list in [&mut self.offsets, &mut self.logprobs, &mut self.tokens, &mut self.top]
                {
                    list.push(b',');
                }
            }
            json::number(token.offset, &mut self.offsets);
            spelling(&token.token, as_ids, &mut self.tokens);
            match token.logprob {
                None => {
                    self.logprobs.extend_from_slice(b"null");
                    self.top.extend_from_slice(b"null");
                }
                Some(logprob) => {
                    json::logprob(logprob, &mut self.logprobs);
                    map(token, logprob, as_ids, &mut self.top);
                }
            }
        }
    }

    /// The object.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"text_offset\":[");
        out.extend_from_slice(&self.offsets);
        out.extend_from_slice(b"],\"token_logprobs\":[");
        out.extend_from_slice(&self.logprobs);
        out.extend_from_slice(b"],\"tokens\":[");
        out.extend_from_slice(&self.tokens);
        out.extend_from_slice(b"],\"top_logprobs\":[");
        out.extend_from_slice(&self.top);
        out.extend_from_slice(b"]}");
    }
}

/// What tells two keys of a map apart.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Text(&'a str),
    Id(u32),
}

/// The likeliest tokens and the one taken, spelling to log probability. Of tokens spelt alike the best
/// stays, since a JSON object should not name a key twice.
fn map(token: &TokenLogprobs, logprob: f32, as_ids: bool, out: &mut Vec<u8>) {
    fn key(token: &TokenText, as_ids: bool) -> Key<'_> {
        if as_ids { Key::Id(token.id) } else { Key::Text(&token.text) }
    }
    let mut seen = HashSet::with_capacity(token.top.len() + 1);
    let taken = key(&token.token, as_ids);
    out.push(b'{');
    let top = token.top.iter().map(|(token, logprob)| (token, *logprob));
    for (other, mut value) in top.chain([(&token.token, logprob)]) {
        let key = key(other, as_ids);
        if key == taken {
            value = value.max(logprob);
        }
        // Best first: whoever comes later is no better.
        if !seen.insert(key) {
            continue;
        }
        if seen.len() > 1 {
            out.push(b',');
        }
        spelling(other, as_ids, out);
        out.push(b':');
        json::logprob(value, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn token(text: &str, id: u32) -> TokenText {
        TokenText { text: text.into(), bytes: Some(text.as_bytes().to_vec()), id }
    }

    fn chat(tokens: &[TokenLogprobs], as_ids: bool) -> Value {
        let mut out = CHAT_OPEN.to_vec();
        entries(tokens, as_ids, &mut out);
        out.extend_from_slice(CHAT_CLOSE);
        serde_json::from_slice(&out).unwrap()
    }

    fn lists(tokens: &[TokenLogprobs], as_ids: bool) -> Value {
        let mut lists = Lists::default();
        lists.add(tokens, as_ids);
        let mut out = Vec::new();
        lists.write(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn sample() -> Vec<TokenLogprobs> {
        let hidden = TokenText { text: "<|end|>".into(), bytes: None, id: 9 };
        vec![
            TokenLogprobs { token: token("\"é\n", 1), logprob: None, top: vec![], offset: 0 },
            TokenLogprobs {
                token: token("b", 2),
                logprob: Some(-1.5),
                top: vec![(token("a\u{2028}", 3), -0.25), (hidden, f32::NEG_INFINITY)],
                offset: 3,
            },
        ]
    }

    #[test]
    fn chat_has_one_entry_a_token() {
        assert_eq!(
            chat(&sample(), false),
            json!({"content": [
                {"token": "\"é\n", "logprob": -9999.0, "bytes": [34, 195, 169, 10], "top_logprobs": []},
                {"token": "b", "logprob": -1.5, "bytes": [98], "top_logprobs": [
                    {"token": "a\u{2028}", "logprob": -0.25, "bytes": [97, 226, 128, 168]},
                    {"token": "<|end|>", "logprob": -9999.0, "bytes": null},
                ]},
            ], "refusal": null})
        );
        assert_eq!(chat(&[], false), json!({"content": [], "refusal": null}));
    }

    #[test]
    fn completions_have_four_lists() {
        assert_eq!(
            lists(&sample(), false),
            json!({"text_offset": [0, 3], "token_logprobs": [null, -1.5], "tokens": ["\"é\n", "b"],
                "top_logprobs": [null, {"a\u{2028}": -0.25, "<|end|>": -9999.0, "b": -1.5}]})
        );
        assert_eq!(
            lists(&[], false),
            json!({"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []})
        );
    }

    #[test]
    fn spellings_can_be_ids_and_bytes_stay() {
        let chat = chat(&sample(), true);
        assert_eq!(chat["content"][0]["token"], "token_id:1");
        assert_eq!(chat["content"][0]["bytes"], json!([34, 195, 169, 10]));
        assert_eq!(chat["content"][1]["top_logprobs"][1]["token"], "token_id:9");
        let lists = lists(&sample(), true);
        assert_eq!(lists["tokens"], json!(["token_id:1", "token_id:2"]));
        let top = json!({"token_id:3": -0.25, "token_id:9": -9999.0, "token_id:2": -1.5});
        assert_eq!(lists["top_logprobs"][1], top);
    }

    #[test]
    fn of_tokens_spelt_alike_the_best_stays() {
        let one = |top: Vec<(TokenText, f32)>, logprob| TokenLogprobs {
            token: token("a", 1),
            logprob: Some(logprob),
            top,
            offset: 0,
        };
        let written = |token: &TokenLogprobs, as_ids| {
            let mut out = Vec::new();
            map(token, token.logprob.unwrap(), as_ids, &mut out);
            String::from_utf8(out).unwrap()
        };
        let alike =
            one(vec![(token("b", 3), -0.5), (token("b", 4), -1.0), (token("a", 2), -2.0)], -3.0);
        assert_eq!(written(&alike, false), r#"{"b":-0.5,"a":-2.0}"#);
        let ids = r#"{"token_id:3":-0.5,"token_id:4":-1.0,"token_id:2":-2.0,"token_id:1":-3.0}"#;
        assert_eq!(written(&alike, true), ids);
        assert_eq!(written(&one(vec![(token("a", 2), -2.0)], -1.0), false), r#"{"a":-1.0}"#);
        assert_eq!(written(&one(vec![(token("a", 1), -1.0)], -1.0), false), r#"{"a":-1.0}"#);
        assert_eq!(written(&one(vec![], -1.0), false), r#"{"a":-1.0}"#);
    }
}
