//! Text completions in one piece: `text_completion`.

use overt_parse::Events;

use crate::completion_stream::words;
use crate::{ErrorBody, Finish, Head, StopReason, Usage, Writer, envelope, error, json};

/// Gathers, and writes everything in `end`.
pub(crate) struct CompletionJson {
    /// The body up to the bracket that opens the choices.
    head: Vec<u8>,
    choices: Vec<Choice>,
}

#[derive(Default, Clone)]
struct Choice {
    /// Escaped.
    text: Vec<u8>,
    /// `"finish_reason":…,"stop_reason":…`.
    finish: Vec<u8>,
}

impl CompletionJson {
    pub(crate) fn new(head: &Head, choices: u32) -> Self {
        let mut bytes = Vec::new();
        envelope::head(head, "text_completion", &mut bytes);
        Self { head: bytes, choices: vec![Choice::default(); choices as usize] }
    }
}

impl Writer for CompletionJson {
    fn begin(&mut self, _choice: u32, _out: &mut Vec<u8>) {}

    fn events(&mut self, choice: u32, events: &Events, _out: &mut Vec<u8>) {
        let Some(choice) = self.choices.get_mut(choice as usize) else { return };
        for text in events.iter().filter_map(words) {
            json::escape(text, &mut choice.text);
        }
    }

    fn finish(
        &mut self,
        choice: u32,
        finish: Finish,
        reason: Option<&StopReason>,
        _out: &mut Vec<u8>,
    ) {
        let Some(choice) = self.choices.get_mut(choice as usize) else { return };
        choice.finish.clear();
        envelope::finish(envelope::completion_finish(finish), reason, &mut choice.finish);
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        for (index, choice) in self.choices.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"index\":");
            json::number(index as u64, out);
            out.extend_from_slice(b",\"text\":\"");
            out.extend_from_slice(&choice.text);
            out.extend_from_slice(b"\",\"logprobs\":null,");
            envelope::finish_or_null(&choice.finish, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"],");
        envelope::usage(usage, out);
        out.push(b'}');
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::write(error, out);
    }
}
