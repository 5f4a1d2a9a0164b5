//! From a conversation to the prompt's text, as `apply_chat_template(tokenize=False)` does it.

use std::sync::Arc;

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde_json::{Map, Value as Json};

use crate::budget::{Counting, Limits};
use crate::environment::{NAME, environment};
use crate::error::{self, TemplateError};
use crate::functions::PINNED_CLOCK;
use crate::input;
use crate::output::Output;
use crate::reads::Reads;
use crate::source;

/// Put after the text to continue, so that its end is found in the rendered prompt.
const CONTINUE_TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";
/// Names that a message's reasoning goes by; templates read one or another.
pub(crate) const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];
/// Variables that the server fills.
const RESERVED: [&str; 5] =
    ["messages", "tools", "documents", "add_generation_prompt", "continue_final_message"];

/// What a template is rendered with.
#[derive(Debug, Clone, Default)]
pub struct RenderInput {
    /// The conversation: a non-empty list of objects. Keys that are null are dropped.
    pub messages: Json,
    /// Tools as the template wants them; absent is None to the template, and defined.
    pub tools: Option<Json>,
    /// Documents to answer from; absent is None to the template, and defined.
    pub documents: Option<Json>,
    /// Ends the prompt with the opening of an assistant's turn.
    pub add_generation_prompt: bool,
    /// Ends the prompt within the last message, which the model then continues.
    pub continue_final_message: bool,
    /// Further variables; they may not set what the fields above set.
    pub kwargs: Map<String, Json>,
    /// Special tokens by role, such as `bos_token`; `kwargs` win over them.
    pub special_tokens: Map<String, Json>,
}

/// A compiled chat template. Shared freely between threads.
///
/// A render is bounded by its [`Limits`]: steps, time, bytes made, depth.
#[derive(Debug, Clone)]
pub struct Template {
    env: Environment<'static>,
    source: String,
    limits: Limits,
    pub(crate) reads: Arc<Reads>,
}

impl Template {
    /// Compiles a template's source, with the default [`Limits`].
    ///
    /// # Errors
    /// [`TemplateError::Syntax`] with the line when the source is not valid Jinja.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        Self::compile_with(source, Limits::default())
    }

    /// As [`compile`](Self::compile), with other limits for its renders.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_with(source: &str, limits: Limits) -> Result<Self, TemplateError> {
        let (tree, rewritten) = source::read(source)?;
        let mut env = environment();
        env.set_fuel(Some(limits.fuel_most));
        env.add_template_owned(NAME, rewritten).map_err(|error| error::syntax(&error))?;
        let reads = Arc::new(Reads::of(&tree));
        Ok(Self { env, source: source.to_owned(), limits, reads })
    }

    /// What its renders may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The prompt's text. `strftime_now` reads the local clock.
    ///
    /// # Errors
    /// When the input is no conversation, the template refuses it, fails on it or works too long.
    pub fn render(&self, input: &RenderInput) -> Result<String, TemplateError> {
        self.render_with_clock(input, None)
    }

    /// As [`render`](Self::render), with the clock at `seconds` since 1970 as the local wall clock shows them.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_at(&self, input: &RenderInput, seconds: i64) -> Result<String, TemplateError> {
        self.render_with_clock(input, Some(seconds))
    }

    fn render_with_clock(
        &self,
        input: &RenderInput,
        clock: Option<i64>,
    ) -> Result<String, TemplateError> {
        let prepared = self.prepare(input)?;
        let context = Value::from_pairs(context(&prepared.messages, input, clock));
        prepared.finish(run(&self.env, context, prepared.fuel, &self.limits)?.0)
    }

    /// Checks the input and brings the messages into the form that templates see.
    pub(crate) fn prepare(&self, input: &RenderInput) -> Result<Prepared, TemplateError> {
        if let Some(name) = input.kwargs.keys().find(|key| RESERVED.contains(&key.as_str())) {
            return Err(TemplateError::Shadowed { name: name.clone() });
        }
        let mut messages = conversation(&input.messages)?;
        let continued = if input.continue_final_message {
            if input.add_generation_prompt {
                return Err(TemplateError::Continue(
                    "it cannot be combined with add_generation_prompt; send one of the two"
                        .to_owned(),
                ));
            }
            Some(tag_final_message(&mut messages, &self.source)?)
        } else {
            None
        };
        let bytes = input::size(&messages, input)?;
        let fuel = self.limits.steps(messages.len() as u64, bytes);
        Ok(Prepared { messages, continued, fuel })
    }

    /// The compiled template.
    pub(crate) fn env(&self) -> &Environment<'static> {
        &self.env
    }

    /// The template's text as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// A conversation as templates see it.
pub(crate) struct Prepared {
    pub(crate) messages: Vec<Json>,
    /// The final message's own text, where the prompt is to end within it.
    continued: Option<String>,
    /// Steps that a render of these messages may take.
    pub(crate) fuel: u64,
}

impl Prepared {
    /// The prompt of a render: all of it, or what comes up to the end of the text to continue.
    pub(crate) fn finish(&self, rendered: String) -> Result<String, TemplateError> {
        match &self.continued {
            Some(text) => cut_after(rendered, text),
            None => Ok(rendered),
        }
    }
}

/// Renders the template of `env`, which has `limits.fuel_most` steps, within a budget of `fuel`; gives the text
/// and the steps that it took.
pub(crate) fn run(
    env: &Environment<'_>,
    context: Value,
    fuel: u64,
    limits: &Limits,
) -> Result<(String, u64), TemplateError> {
    let counting = Counting::start(limits, fuel);
    let mut output = Output::new(limits.output);
    let result = env.get_template(NAME).and_then(|template| {
        let captured = template.render_captured_to(context, &mut output)?;
        Ok(captured.state().fuel_levels().map_or(0, |(consumed, _)| consumed))
    });
    drop(counting);
    match result {
        // What was withheld at the start was not taken.
        Ok(consumed) => {
            Ok((output.finish(), consumed.saturating_sub(limits.fuel_most.saturating_sub(fuel))))
        }
        Err(error) => Err(error::render(&error, fuel, output.full())),
    }
}

/// The variables that a template can look up.
pub(crate) fn context<'a>(
    messages: &[Json],
    input: &'a RenderInput,
    clock: Option<i64>,
) -> Vec<(&'a str, Value)> {
    let optional = |value: &Option<Json>| {
        value.as_ref().map_or_else(|| Value::from(()), |json| Value::from(Serde(json)))
    };
    let variables = input.special_tokens.iter().chain(&input.kwargs);
    let mut pairs: Vec<(&str, Value)> =
        variables.map(|(name, value)| (name.as_str(), Value::from(Serde(value)))).collect();
    pairs.push(("messages", Value::from(Serde(messages))));
    pairs.push(("tools", optional(&input.tools)));
    pairs.push(("documents", optional(&input.documents)));
    pairs.push(("add_generation_prompt", Value::from(input.add_generation_prompt)));
    if let Some(seconds) = clock {
        pairs.push((PINNED_CLOCK, Value::from(seconds)));
    }
    pairs
}

/// The messages without null keys, their reasoning under every name that templates know.
fn conversation(messages: &Json) -> Result<Vec<Json>, TemplateError> {
    let list = match messages {
        Json::Array(list) if !list.is_empty() => list,
        Json::Array(_) => {
            return Err(TemplateError::Input("messages is empty: send at least one".to_owned()));
        }
        _ => return Err(TemplateError::Input("messages must be a list of objects".to_owned())),
    };
    list.iter()
        .enumerate()
        .map(|(index, message)| match message {
            Json::Object(message) => Ok(Json::Object(normalised(message))),
            _ => Err(TemplateError::Input(format!("messages[{index}] must be an object"))),
        })
        .collect()
}

fn normalised(message: &Map<String, Json>) -> Map<String, Json> {
    let reasoning =
        REASONING.iter().find_map(|name| message.get(*name).filter(|value| !value.is_null()));
    let mut out = Map::new();
    if let Some(reasoning) = reasoning {
        out.insert("thinking".to_owned(), reasoning.clone());
    }
    for (key, value) in message.iter().filter(|(_, value)| !value.is_null()) {
        out.insert(key.clone(), value.clone());
    }
    if let Some(reasoning) = reasoning {
        out.insert("reasoning_content".to_owned(), reasoning.clone());
    }
    out
}

/// Tags the end of the last message's text and returns that text.
fn tag_final_message(messages: &mut [Json], source: &str) -> Result<String, TemplateError> {
    let refuse = |reason: &str| Err(TemplateError::Continue(reason.to_owned()));
    if !source.contains("content") {
        return refuse("this chat template does not read a message's content");
    }
    let content = messages.last_mut().and_then(|message| message.get_mut("content"));
    let text = match content {
        Some(Json::String(text)) => Some(text),
        Some(Json::Array(parts)) => {
            parts.iter_mut().rev().find_map(|part| match part.get_mut("text") {
                Some(Json::String(text)) => Some(text),
                _ => None,
            })
        }
        _ => return refuse("the last message has no content to continue"),
    };
    let Some(text) = text else { return refuse("the last message has no text part to continue") };
    let plain = text.clone();
    text.push_str(CONTINUE_TAG);
    Ok(plain)
}

/// Cuts the prompt after the continued text: at the tag, and before it where the template trims.
fn cut_after(mut rendered: String, text: &str) -> Result<String, TemplateError> {
    let tag = CONTINUE_TAG.trim_end();
    let kept = rendered.contains(text.trim());
    let Some(at) = rendered.rfind(tag).filter(|_| kept) else {
        return Err(TemplateError::Continue(
            "this chat template does not render the last message as it was sent".to_owned(),
        ));
    };
    let spacing_kept = rendered[at..].starts_with(CONTINUE_TAG);
    rendered.truncate(at);
    if !spacing_kept {
        rendered.truncate(rendered.trim_end().len());
    }
    Ok(rendered)
}
