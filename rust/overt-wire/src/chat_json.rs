//! Chat completions in one piece: `chat.completion`.

use overt_parse::{Event, Events};

use crate::{ErrorBody, Finish, Head, StopReason, Usage, Writer, envelope, error, json};

/// Gathers, and writes everything in `end`.
pub(crate) struct ChatJson {
    /// The body up to the bracket that opens the choices.
    head: Vec<u8>,
    choices: Vec<Choice>,
}

/// All text is escaped as it comes.
#[derive(Default, Clone)]
struct Choice {
    content: Vec<u8>,
    reasoning: Vec<u8>,
    calls: Vec<Call>,
    /// `"finish_reason":…,"stop_reason":…`.
    finish: Vec<u8>,
}

#[derive(Clone)]
struct Call {
    index: u32,
    /// Everything before the arguments.
    start: Vec<u8>,
    arguments: Vec<u8>,
}

impl ChatJson {
    pub(crate) fn new(head: &Head, choices: u32) -> Self {
        let mut bytes = Vec::new();
        envelope::head(head, "chat.completion", &mut bytes);
        Self { head: bytes, choices: vec![Choice::default(); choices as usize] }
    }
}

impl Writer for ChatJson {
    fn begin(&mut self, _choice: u32, _out: &mut Vec<u8>) {}

    fn events(&mut self, choice: u32, events: &Events, _out: &mut Vec<u8>) {
        let Some(choice) = self.choices.get_mut(choice as usize) else { return };
        for event in events.iter() {
            choice.add(event);
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
        envelope::finish(envelope::chat_finish(finish), reason, &mut choice.finish);
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        for (index, choice) in self.choices.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            choice.write(index, out);
        }
        out.extend_from_slice(b"],");
        envelope::usage(usage, out);
        out.push(b'}');
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::write(error, out);
    }
}

impl Choice {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => json::escape(text, &mut self.content),
            Event::Reasoning(text) => json::escape(text, &mut self.reasoning),
            Event::ToolStart { index, id, name } => {
                let mut start = b"{\"id\":".to_vec();
                json::string(id, &mut start);
                start.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
                json::string(name, &mut start);
                start.extend_from_slice(b",\"arguments\":\"");
                self.calls.push(Call { index, start, arguments: Vec::new() });
            }
            Event::ToolArgs { index, text } => {
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
                    json::escape(text, &mut call.arguments);
                }
            }
            Event::ToolEnd { .. } => {}
        }
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"index\":");
        json::number(index as u64, out);
        out.extend_from_slice(b",\"message\":{\"role\":\"assistant\",\"content\":");
        if self.content.is_empty() && !self.calls.is_empty() {
            out.extend_from_slice(b"null");
        } else {
            quoted(&self.content, out);
        }
        out.extend_from_slice(b",\"refusal\":null");
        if !self.calls.is_empty() {
            out.extend_from_slice(b",\"tool_calls\":");
            for (at, call) in self.calls.iter().enumerate() {
                out.push(if at == 0 { b'[' } else { b',' });
                out.extend_from_slice(&call.start);
                out.extend_from_slice(&call.arguments);
                out.extend_from_slice(b"\"}}");
            }
            out.push(b']');
        }
        if !self.reasoning.is_empty() {
            out.extend_from_slice(b",\"reasoning_content\":");
            quoted(&self.reasoning, out);
            out.extend_from_slice(b",\"reasoning\":");
            quoted(&self.reasoning, out);
        }
        out.extend_from_slice(b"},\"logprobs\":null,");
        envelope::finish_or_null(&self.finish, out);
        out.push(b'}');
    }
}

fn quoted(escaped: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(escaped);
    out.push(b'"');
}
