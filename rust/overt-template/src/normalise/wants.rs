//! What a template wants, as probes found it.

use serde_json::{Map, Value as Json};

use super::arguments::Arguments;
use super::content::{self, Content};
use super::kinds::Normalisation;
use super::probe::{Base, Prober};
use super::tools::ToolWants;
use super::{arguments, developer, ids, names, tools};
use crate::render::Template;

/// What a template wants of its messages and tools. The default takes everything as sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wants {
    /// By [`Speaker`].
    pub(super) content: [Content; Speaker::ALL.len()],
    pub(super) arguments: Arguments,
    pub(super) tools: ToolWants,
    /// Ids of nine characters and no others.
    pub(super) short_ids: bool,
    /// Fails or loses text where an id is missing.
    pub(super) needs_ids: bool,
    /// Writes or needs the `name` of tool messages.
    pub(super) tool_names: bool,
    pub(super) developer_to_system: bool,
}

impl Wants {
    /// Finds out what a template wants, by some dozens of small renders on it.
    ///
    /// `special_tokens` are those that later renders will have. A template that renders none of the probes is
    /// taken to want everything as sent.
    pub fn probe(template: &Template, special_tokens: &Map<String, Json>) -> Self {
        let prober = Prober::new(template, special_tokens);
        let mut wants = Self::default();
        let Some(plain) = prober.plain() else { return wants };
        let form = content::probe(&[&plain], Speaker::User).form;
        let calling = prober.calling(&plain, form);
        let open = calling.as_ref().and_then(Base::up_to_tool);
        let bases: Vec<&Base<'_>> = [&plain].into_iter().chain(&calling).chain(&open).collect();
        for speaker in Speaker::ALL {
            wants.content[speaker as usize] = content::probe(&bases, speaker);
        }
        wants.tools = tools::probe(&plain);
        developer::probe(&plain, form, &mut wants);
        if let Some(calling) = &calling {
            wants.arguments = arguments::probe(calling);
            wants.short_ids = ids::probe_short(calling);
            wants.needs_ids = ids::probe_needed(calling);
            wants.tool_names = names::probe(calling);
        } else {
            // A call that does not show leaves the assistant's words.
            wants.content[Speaker::Caller as usize] = wants.content[Speaker::Assistant as usize];
        }
        wants
    }

    /// Whether a conversation for this template may see a normalisation.
    pub fn may_apply(&self, normalisation: Normalisation) -> bool {
        use content::{Empty, Form};
        let any = |wanted: fn(&Content) -> bool| self.content.iter().any(wanted);
        match normalisation {
            Normalisation::TextPartsJoined => {
                any(|content| matches!(content.form, Form::Text | Form::OnePart))
            }
            Normalisation::TextMadePart => {
                any(|content| matches!(content.form, Form::Parts | Form::OnePart))
            }
            Normalisation::PartDropped => any(|content| content.form == Form::Text),
            Normalisation::EmptyContentFilled => any(|content| content.empty != Empty::AsSent),
            Normalisation::ArgumentsParsed => {
                matches!(self.arguments, Arguments::Mapping | Arguments::MappingOrText)
            }
            Normalisation::ArgumentsSerialised => self.arguments == Arguments::Text,
            Normalisation::EmptyArgumentsFilled => self.arguments != Arguments::AsSent,
            Normalisation::EmptyToolCallsDropped => true,
            Normalisation::ToolCallIdMapped => self.short_ids,
            Normalisation::ToolCallIdMade => self.needs_ids,
            Normalisation::ToolNameFilled => self.tool_names,
            Normalisation::ToolWrapped => self.tools.form == tools::Form::Wrapped,
            Normalisation::ToolUnwrapped => self.tools.form == tools::Form::Bare,
            Normalisation::ToolDescriptionFilled => self.tools.description,
            Normalisation::ToolParametersFilled => self.tools.parameters,
            Normalisation::DeveloperToSystem => self.developer_to_system,
        }
    }

    pub(super) fn content_of(&self, speaker: Speaker) -> Content {
        self.content[speaker as usize]
    }
}

/// Whose message it is, as far as templates tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    Developer,
    /// The user, and every role that is not named here.
    User,
    Assistant,
    /// The assistant, making calls.
    Caller,
    Tool,
}

impl Speaker {
    pub(super) const ALL: [Self; 6] =
        [Self::System, Self::Developer, Self::User, Self::Assistant, Self::Caller, Self::Tool];

    pub(super) fn of(message: &Map<String, Json>) -> Self {
        match message.get("role").and_then(Json::as_str) {
            Some("system") => Self::System,
            Some("developer") => Self::Developer,
            Some("tool") => Self::Tool,
            Some("assistant") => match message.get("tool_calls") {
                Some(Json::Array(calls)) if !calls.is_empty() => Self::Caller,
                _ => Self::Assistant,
            },
            _ => Self::User,
        }
    }
}
