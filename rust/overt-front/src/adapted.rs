//! Fields whose values were changed, where that is known only once the prompt is made.

use overt_template::RenderInput;
use overt_text::SpecialTokens;
use serde::Serialize;
use serde_json::{Value, json};

use crate::generation::Generation;

/// Places that are told of one request: a header names no more.
const MOST: usize = 16;
/// Characters of a client's own name that a path repeats.
const NAME: usize = 64;
/// Characters of a client's text that a report repeats.
const TEXT: usize = 200;
/// Special tokens that one reason names.
const TOKENS: usize = 4;

/// One field, served with another value than it was sent with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adapted {
    /// Its path, such as `messages[0].content`.
    pub field: String,
    /// What was sent, or its beginning.
    pub requested: Value,
    /// What it was served as.
    pub applied: Value,
    /// A clause without a full stop.
    pub reason: String,
    /// The name to count it under: paths are the clients'.
    pub counted: String,
}

impl Adapted {
    /// `max_tokens` beyond what the prompt leaves of the context.
    pub(crate) fn clamp(generation: &Generation, most: u32) -> Self {
        Self {
            field: generation.max_tokens_field.clone(),
            requested: generation.max_tokens.into(),
            applied: most.into(),
            reason: "that is what the prompt leaves of the context".to_owned(),
            counted: generation.max_tokens_field.clone(),
        }
    }

    /// As reports tell it.
    #[must_use]
    pub fn told(&self) -> Value {
        json!({
            "field": self.field,
            "effect": "adapted",
            "requested": self.requested,
            "applied": self.applied,
            "reason": self.reason,
        })
    }

    /// As a part of a sentence.
    pub(crate) fn clause(&self) -> String {
        format!("`{}` is adapted to {}: {}", self.field, self.applied, self.reason)
    }
}

/// The texts of a conversation that spell special tokens, which the tokenizer reads as such. `given`: the variables
/// that are the request's.
pub(crate) fn spelled(
    input: &RenderInput,
    given: &[String],
    specials: &SpecialTokens,
) -> Vec<Adapted> {
    let mut search = Search { specials, found: Vec::new() };
    search.look("messages", "messages", &input.messages);
    for (name, value) in [("tools", &input.tools), ("documents", &input.documents)] {
        if let Some(value) = value {
            search.look(name, name, value);
        }
    }
    for (name, value) in input.kwargs.iter().filter(|(name, _)| given.contains(name)) {
        let path = format!("chat_template_kwargs{}", step(name));
        search.look(&path, "chat_template_kwargs", value);
    }
    search.found
}

struct Search<'a> {
    specials: &'a SpecialTokens,
    found: Vec<Adapted>,
}

impl Search<'_> {
    /// The depth of a body is bounded where it is read.
    fn look(&mut self, path: &str, field: &str, value: &Value) {
        if self.found.len() == MOST {
            return;
        }
        match value {
            Value::String(text) => self.text(path, field, text),
            // Templates write the parts of a text one after the other.
            Value::Array(items) if items.len() > 1 && items.iter().all(is_text_part) => {
                let texts = items.iter().filter_map(|part| part["text"].as_str());
                self.text(path, field, &texts.collect::<String>());
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(&format!("{path}[{index}]"), field, item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let path = format!("{path}{}", step(name));
                    self.text(&path, field, name);
                    self.look(&path, field, member);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, path: &str, field: &str, text: &str) {
        let mut tokens: Vec<&str> = Vec::new();
        for (_, token) in self.specials.find(text) {
            if !tokens.contains(&token) && tokens.len() < TOKENS {
                tokens.push(token);
            }
        }
        if tokens.is_empty() || self.found.len() == MOST {
            return;
        }
        let what = tokens.iter().map(|token| format!("`{token}`")).collect::<Vec<_>>().join(", ");
        self.found.push(Adapted {
            field: path.to_owned(),
            requested: shorten(text, TEXT).into(),
            applied: "special tokens".into(),
            reason: format!(
                "{what} in it is read as a special token; the operator can have it read as text"
            ),
            counted: field.to_owned(),
        });
    }
}

fn is_text_part(part: &Value) -> bool {
    part["type"] == "text" && part["text"].is_string()
}

/// A member's name as a path goes on with it.
fn step(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty() {
        format!(".{}", shorten(name, NAME))
    } else {
        format!("[{}]", json!(shorten(name, NAME)))
    }
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
