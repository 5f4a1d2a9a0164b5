//! A chat as its template takes it.

use std::ops::Range;

use overt_template::{Change, Origin, Part, RenderInput, Span, TemplateError, Traced, normalise};

use crate::adapted::{Adapted, spelled};
use crate::body::{self, ChatBody};
use crate::calls::Wanted;
use crate::error::RequestError;
use crate::model::ServedModel;
use crate::prompt::Making;
use crate::templates::NamedTemplate;

/// Roles of which some templates make markers such as `<|user|>`; what those are is the template's choice.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

pub(crate) struct Conversation<'a> {
    model: &'a ServedModel,
    pub(crate) chosen: &'a NamedTemplate,
    pub(crate) input: RenderInput,
    /// Names of the variables that the request gives itself.
    given: Vec<String>,
    /// What was changed for the template's sake.
    pub(crate) changes: Vec<Change>,
    /// Texts whose special tokens are read as such.
    pub(crate) adapted: Vec<Adapted>,
    /// What it says of calls.
    pub(crate) wanted: Wanted,
}

impl<'a> Conversation<'a> {
    pub(crate) fn read(
        model: &'a ServedModel,
        body: &[u8],
        making: &Making<'_>,
    ) -> Result<Self, RequestError> {
        let mut body = body::chat(body)?;
        let Some(chosen) = model.templates.of(body.tools.is_some()) else {
            return Err(without_template(model));
        };
        let changes = normalise(&mut body.messages, &mut body.tools, &chosen.wants)
            .map_err(|unfit| RequestError::invalid(unfit.path, unfit.message))?;
        if making.assistant_to_user && !making.continue_final_message {
            body.last_assistant_to_user();
        }
        let own = body.chat_template_kwargs.unwrap_or_default();
        let given = own.keys().cloned().collect::<Vec<_>>();
        let mut kwargs = making.variables.clone();
        kwargs.extend(own);
        let input = RenderInput {
            messages: body.messages,
            tools: body.tools,
            documents: body.documents,
            add_generation_prompt: making.add_generation_prompt && !making.continue_final_message,
            continue_final_message: making.continue_final_message,
            kwargs,
            special_tokens: model.special_tokens.clone(),
        };
        let adapted =
            if model.escapes { Vec::new() } else { spelled(&input, &given, &model.specials) };
        let wanted = body.wanted;
        Ok(Self { model, chosen, input, given, changes, adapted, wanted })
    }

    pub(crate) fn render(&self) -> Result<String, RequestError> {
        self.chosen.template.render(&self.input).map_err(|error| self.refused(&error))
    }

    /// Special tokens in the request's texts are plain text.
    pub(crate) fn escapes(&self) -> bool {
        self.model.escapes
    }

    pub(crate) fn trace(&self) -> Result<Traced, RequestError> {
        self.chosen.template.trace(&self.input).map_err(|error| self.refused(&error))
    }

    /// Where special tokens are plain text, because the request wrote it; none: the operator has them read as such.
    pub(crate) fn plain(&self, traced: &Traced) -> Result<Option<Vec<Range<usize>>>, RequestError> {
        if !self.escapes() {
            return Ok(None);
        }
        for (start, token) in self.model.specials.find(&traced.text) {
            let end = start + token.len();
            let touches = |span: &Span| span.derived && span.start < end && start < span.end;
            if traced.spans.iter().any(|span| touches(span) && !is_role(traced, span)) {
                return Err(RequestError::invalid(
                    "messages",
                    format!(
                        "The prompt has `{token}`, and it cannot be told whether the chat template wrote it or the \
                         request, whose special tokens this server keeps as text. Leave special tokens out of the \
                         request's texts."
                    ),
                ));
            }
        }
        let own = |span: &&Span| match &span.origin {
            Origin::Template | Origin::SpecialToken { .. } => false,
            Origin::Kwarg { name } => self.given.contains(name),
            _ => !is_role(traced, span),
        };
        Ok(Some(traced.spans.iter().filter(own).map(|span| span.start..span.end).collect()))
    }

    /// Why the template did not render.
    pub(crate) fn refused(&self, error: &TemplateError) -> RequestError {
        match ChatBody::without_content(&self.input.messages) {
            Some(index) if matches!(error, TemplateError::Render { .. }) => {
                let path = format!("messages[{index}].content");
                let message =
                    format!("`{path}` is missing, and the chat template needs it ({error}).");
                RequestError::invalid(path, message)
            }
            _ => RequestError::invalid(
                "messages",
                format!("The conversation does not fit the chat template: {error}."),
            ),
        }
    }
}

fn is_role(traced: &Traced, span: &Span) -> bool {
    matches!(span.origin, Origin::Message { part: Part::Role, .. })
        && ROLES.iter().any(|role| role.eq_ignore_ascii_case(&traced.text[span.start..span.end]))
}

fn without_template(model: &ServedModel) -> RequestError {
    RequestError::bad(match &model.prompt_format {
        Some(format) => format!(
            "This model's conversations are written by {format}, which this server does not have, and not by a chat \
             template. Start the server with --chat-template, or use /v1/completions with a prompt in that format."
        ),
        None => "This model has no chat template. Start the server with --chat-template, or use /v1/completions."
            .to_owned(),
    })
}
