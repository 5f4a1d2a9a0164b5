//! Small conversations, rendered on a template to find out what it takes.

use std::cell::Cell;

use serde_json::{Map, Value as Json, json};

use super::content::Form;
use super::wants::Speaker;
use crate::error::TemplateError;
use crate::render::{RenderInput, Template};

/// Words that stand in no template.
pub(super) const SYSTEM: &str = "ovsystem";
pub(super) const USER: &str = "ovuser";
pub(super) const LAST_USER: &str = "ovlastuser";
pub(super) const ANSWER: &str = "ovanswer";
pub(super) const RESULT: &str = "ovresult";
pub(super) const FUNCTION: &str = "ovfunction";
pub(super) const KEY: &str = "ovkey";
pub(super) const VALUE: &str = "ovvalue";
/// An id that every template takes.
pub(super) const SHORT_ID: &str = "ovid00001";
/// The probes' arguments as Python writes them.
pub(super) const ARGUMENTS: &str = r#"{"ovkey": "ovvalue"}"#;

/// Renders probes on one template.
pub(super) struct Prober<'a> {
    template: &'a Template,
    special_tokens: &'a Map<String, Json>,
    /// A template that works without end is not asked again.
    exhausted: Cell<bool>,
    /// The last render ended in the template's own refusal.
    refused: Cell<bool>,
}

impl<'a> Prober<'a> {
    pub(super) fn new(template: &'a Template, special_tokens: &'a Map<String, Json>) -> Self {
        Self { template, special_tokens, exhausted: Cell::new(false), refused: Cell::new(false) }
    }

    fn render(&self, messages: Vec<Json>, beside: &Beside) -> Option<String> {
        if self.exhausted.get() {
            return None;
        }
        let input = RenderInput {
            messages: Json::Array(messages),
            tools: beside.tools.clone(),
            documents: beside.documents.clone(),
            add_generation_prompt: true,
            special_tokens: self.special_tokens.clone(),
            ..RenderInput::default()
        };
        let rendered = self.template.render(&input);
        self.exhausted.set(matches!(rendered, Err(TemplateError::Budget { .. })));
        self.refused.set(matches!(rendered, Err(TemplateError::Raised { .. })));
        rendered.ok()
    }

    /// The fullest conversation without calls that renders and shows its last message, or any of its messages.
    pub(super) fn plain(&self) -> Option<Base<'_>> {
        let tools = Some(json!([wrapped(function())]));
        let documents = Some(json!([{"title": "ovtitle", "text": "ovtext"}]));
        let besides = [
            Beside::default(),
            // Some templates are made for nothing else and fail without.
            Beside { tools, documents: None },
            Beside { tools: None, documents },
        ];
        let mut some = None;
        for beside in besides {
            for form in [Form::Text, Form::Parts] {
                let say = |role: &str, text: &str| json!({"role": role, "content": form.of(text)});
                let full = [
                    say("system", SYSTEM),
                    say("user", USER),
                    say("assistant", ANSWER),
                    say("user", LAST_USER),
                ];
                for places in [&[0, 1, 2, 3][..], &[1, 2, 3], &[0, 3], &[3]] {
                    let messages = places.iter().map(|at| full[*at].clone()).collect();
                    let base = Base { prober: self, messages, beside: beside.clone() };
                    let Some(text) = base.rendered() else { continue };
                    if text.contains(LAST_USER) {
                        return Some(base);
                    }
                    if some.is_none()
                        && [SYSTEM, USER, ANSWER].iter().any(|word| text.contains(word))
                    {
                        some = Some(base);
                    }
                }
            }
        }
        some
    }

    /// The conversation with a call that shows most of it, and what it shows.
    pub(super) fn calling(&self, plain: &Base<'_>, form: Form) -> Option<Base<'_>> {
        let mut best: Option<(usize, Base<'_>)> = None;
        for (length, caller) in [
            (5, Caller::Silent),
            (5, Caller::Empty),
            (5, Caller::Speaks),
            (3, Caller::Silent),
            (3, Caller::Empty),
        ] {
            for mapping in [true, false] {
                for with_tools in [true, false] {
                    let arguments = if mapping { json!({KEY: VALUE}) } else { json!(ARGUMENTS) };
                    let mut messages = Vec::new();
                    if plain.at(Speaker::System).is_some() {
                        messages.push(plain.messages[0].clone());
                    }
                    let talk = [
                        json!({"role": "user", "content": form.of(USER)}),
                        caller.message(form, call(SHORT_ID, arguments)),
                        json!({"role": "tool", "tool_call_id": SHORT_ID, "name": FUNCTION, "content": form.of(RESULT)}),
                        json!({"role": "assistant", "content": form.of(ANSWER)}),
                        json!({"role": "user", "content": form.of(LAST_USER)}),
                    ];
                    messages.extend(talk.into_iter().take(length));
                    let mut beside = plain.beside.clone();
                    if with_tools {
                        beside.tools = Some(json!([wrapped(function())]));
                    }
                    let base = Base { prober: self, messages, beside };
                    let Some(text) = base.rendered() else { continue };
                    let shown =
                        [KEY, VALUE, RESULT].iter().filter(|word| text.contains(**word)).count();
                    if best.as_ref().is_none_or(|(most, _)| shown > *most) {
                        best = Some((shown, base));
                    }
                    if shown == 3 {
                        return best.map(|(_, base)| base);
                    }
                }
            }
        }
        best.filter(|(shown, _)| *shown > 0).map(|(_, base)| base)
    }
}

/// What an assistant says who makes a call.
#[derive(Clone, Copy)]
enum Caller {
    Silent,
    Empty,
    Speaks,
}

impl Caller {
    fn message(self, form: Form, call: Json) -> Json {
        match self {
            Self::Silent => json!({"role": "assistant", "tool_calls": [call]}),
            Self::Empty => {
                json!({"role": "assistant", "content": form.of(""), "tool_calls": [call]})
            }
            Self::Speaks => {
                json!({"role": "assistant", "content": form.of(ANSWER), "tool_calls": [call]})
            }
        }
    }
}

fn call(id: &str, arguments: Json) -> Json {
    json!({"id": id, "type": "function", "function": {"name": FUNCTION, "arguments": arguments}})
}

/// A tool as it stands within its wrapping.
pub(super) fn function() -> Json {
    json!({
        "name": FUNCTION,
        "description": "ovdescription",
        "parameters": {
            "type": "object",
            "properties": {"ovparameter": {"type": "string", "description": "ovmeaning"}},
            "required": ["ovparameter"],
        },
    })
}

pub(super) fn wrapped(function: Json) -> Json {
    json!({"type": "function", "function": function})
}

/// A conversation that renders; probes change one thing in it.
pub(super) struct Base<'a> {
    prober: &'a Prober<'a>,
    pub(super) messages: Vec<Json>,
    beside: Beside,
}

/// What a render is given beside the messages.
#[derive(Clone, Default)]
struct Beside {
    tools: Option<Json>,
    documents: Option<Json>,
}

impl<'a> Base<'a> {
    /// Other messages on the same template.
    pub(super) fn instead(&self, messages: Vec<Json>) -> Base<'a> {
        Base { prober: self.prober, messages, beside: self.beside.clone() }
    }

    /// The same, up to the first message of a tool, where it renders: calls of the turn that is open may be
    /// written in another way than earlier ones.
    pub(super) fn up_to_tool(&self) -> Option<Base<'a>> {
        let end = self.at(Speaker::Tool)? + 1;
        let cut = self.instead(self.messages[..end].to_vec());
        (end < self.messages.len() && cut.rendered().is_some()).then_some(cut)
    }

    /// The last message of a speaker.
    pub(super) fn at(&self, speaker: Speaker) -> Option<usize> {
        self.messages.iter().rposition(|message| {
            message.as_object().is_some_and(|message| Speaker::of(message) == speaker)
        })
    }

    /// Whether the last render ended in the template's own refusal.
    pub(super) fn refused(&self) -> bool {
        self.prober.refused.get()
    }

    pub(super) fn rendered(&self) -> Option<String> {
        self.prober.render(self.messages.clone(), &self.beside)
    }

    /// The prompt after a change to the messages.
    pub(super) fn with(&self, change: impl FnOnce(&mut Vec<Json>)) -> Option<String> {
        let mut messages = self.messages.clone();
        change(&mut messages);
        self.prober.render(messages, &self.beside)
    }

    /// The prompt after a change to one message.
    pub(super) fn with_message(&self, at: usize, change: impl FnOnce(&mut Json)) -> Option<String> {
        self.with(|messages| {
            if let Some(message) = messages.get_mut(at) {
                change(message);
            }
        })
    }

    pub(super) fn with_tools(&self, tools: Json) -> Option<String> {
        self.prober
            .render(self.messages.clone(), &Beside { tools: Some(tools), ..self.beside.clone() })
    }
}

/// Takes a key out of an object.
pub(super) fn remove(value: &mut Json, key: &str) {
    if let Json::Object(object) = value {
        object.shift_remove(key);
    }
}
