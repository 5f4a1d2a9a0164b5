//! What can go wrong between messages and prompt.

use std::error::Error as StdError;
use std::fmt;

use minijinja::{Error, ErrorKind};

use crate::budget::{self, Exceeded};

/// Why a template did not compile or did not render.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is not valid Jinja.
    #[error("line {line} of the chat template: {message}")]
    Syntax {
        /// Line of the template, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The template itself refused the messages, by `raise_exception`.
    #[error("the chat template refused the messages: {message}")]
    Raised {
        /// The template's own words.
        message: String,
    },
    /// An expression of the template failed on this input.
    #[error("line {line} of the chat template failed: {message}")]
    Render {
        /// Line of the template, from 1.
        line: usize,
        /// What failed there.
        message: String,
    },
    /// The template worked for longer than a render may.
    #[error(
        "line {line} of the chat template: rendering exceeded its budget of {fuel} steps; send fewer messages"
    )]
    Budget {
        /// Line at which the budget ran out, from 1.
        line: usize,
        /// The budget.
        fuel: u64,
    },
    /// The template used more time, memory or output than a render may, or nested values too deep.
    #[error(
        "line {line} of the chat template: rendering was stopped, {message}; send fewer messages"
    )]
    Limit {
        /// Line at which it was stopped, from 1; 0 where that is not known.
        line: usize,
        /// The limit.
        message: String,
    },
    /// The input cannot be a conversation.
    #[error("{0}")]
    Input(String),
    /// A template argument has the name of a field that the server fills.
    #[error("chat_template_kwargs must not set {name}: send it as a field of the request")]
    Shadowed {
        /// The offending key.
        name: String,
    },
    /// The final message cannot be continued.
    #[error("continue_final_message: {0}")]
    Continue(String),
}

impl TemplateError {
    /// Line of the template that is at fault, from 1; none: no line is.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. }
            | Self::Render { line, .. }
            | Self::Budget { line, .. }
            | Self::Limit { line, .. } => Some(*line).filter(|line| *line > 0),
            _ => None,
        }
    }

    /// What went wrong, without the place.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Syntax { message, .. }
            | Self::Raised { message }
            | Self::Render { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }
}

/// Marks an error as the template's own refusal on its way through the engine.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Raised {}

/// Marks an error whose detail is in this crate's own words.
#[derive(Debug)]
struct Own;

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("own words")
    }
}

impl StdError for Own {}

/// A failed operation inside the template.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into()).with_source(Own)
}

/// Reads the engine's error of compiling.
pub(crate) fn syntax(error: &Error) -> TemplateError {
    TemplateError::Syntax { line: line(error), message: describe(error) }
}

/// Reads the engine's error of rendering with a budget of `fuel`; `full` is the output's limit where it was
/// reached.
pub(crate) fn render(error: &Error, fuel: u64, full: Option<usize>) -> TemplateError {
    if let Some(raised) = chain(error).find_map(|cause| cause.downcast_ref::<Raised>()) {
        return TemplateError::Raised { message: raised.0.clone() };
    }
    // The innermost engine error names the place that failed.
    let root =
        chain(error).filter_map(|cause| cause.downcast_ref::<Error>()).last().unwrap_or(error);
    let line = if line(root) > 0 { line(root) } else { line(error) };
    if let Some(limit) = full {
        let message = format!("its output is longer than {}", budget::size(limit));
        return TemplateError::Limit { line, message };
    }
    if let Some(exceeded) = chain(error).find_map(|cause| cause.downcast_ref::<Exceeded>()) {
        return TemplateError::Limit { line, message: exceeded.0.clone() };
    }
    if root.detail() == Some("recursion limit exceeded") {
        let message = "its macros call each other too deep".to_owned();
        return TemplateError::Limit { line, message };
    }
    if root.kind() == ErrorKind::OutOfFuel {
        return TemplateError::Budget { line, fuel };
    }
    TemplateError::Render { line, message: explain(root) }
}

fn chain(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |cause: &&(dyn StdError + 'static)| StdError::source(*cause))
}

fn line(error: &Error) -> usize {
    error.line().unwrap_or(0)
}

fn describe(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// What went wrong, for those who sent the conversation: they know neither the engine nor its types.
fn explain(error: &Error) -> String {
    if let (Some(detail), true) = (error.detail(), chain(error).any(|cause| cause.is::<Own>())) {
        return detail.to_owned();
    }
    let words = match error.kind() {
        ErrorKind::UndefinedError | ErrorKind::MissingArgument => {
            "it needs a value that the request does not give"
        }
        ErrorKind::UnknownFilter
        | ErrorKind::UnknownTest
        | ErrorKind::UnknownFunction
        | ErrorKind::UnknownMethod => {
            "it calls something that a value of the request does not have"
        }
        _ => "a value of the request is missing or of a kind that it cannot work with",
    };
    words.to_owned()
}
