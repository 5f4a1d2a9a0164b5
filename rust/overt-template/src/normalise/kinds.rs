//! The closed list of normalisations, and what is told of each.

/// A change that the server makes before the render.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalisation {
    /// Text parts became one string.
    TextPartsJoined,
    /// A string became a text part.
    TextMadePart,
    /// A part that is no text was dropped.
    PartDropped,
    /// Content that is null or absent became empty text.
    EmptyContentFilled,
    /// Arguments of a call became a mapping.
    ArgumentsParsed,
    /// Arguments of a call became JSON text.
    ArgumentsSerialised,
    /// Arguments that are null, absent or blank became `{}`.
    EmptyArgumentsFilled,
    /// `tool_calls` without a call was dropped.
    EmptyToolCallsDropped,
    /// The id of a call was replaced.
    ToolCallIdMapped,
    /// The id of a call was made.
    ToolCallIdMade,
    /// A tool message got the name of the function that it answers for.
    ToolNameFilled,
    /// A tool was wrapped in `{"type": "function", "function": …}`.
    ToolWrapped,
    /// A tool was taken out of that wrapping.
    ToolUnwrapped,
    /// A tool without description got an empty one.
    ToolDescriptionFilled,
    /// A tool without parameters got an empty object of them.
    ToolParametersFilled,
    /// The developer's role became the system's.
    DeveloperToSystem,
}

impl Normalisation {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::TextPartsJoined,
        Self::TextMadePart,
        Self::PartDropped,
        Self::EmptyContentFilled,
        Self::ArgumentsParsed,
        Self::ArgumentsSerialised,
        Self::EmptyArgumentsFilled,
        Self::EmptyToolCallsDropped,
        Self::ToolCallIdMapped,
        Self::ToolCallIdMade,
        Self::ToolNameFilled,
        Self::ToolWrapped,
        Self::ToolUnwrapped,
        Self::ToolDescriptionFilled,
        Self::ToolParametersFilled,
        Self::DeveloperToSystem,
    ];

    /// Its public name, in snake case; it never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::TextPartsJoined => "text_parts_joined",
            Self::TextMadePart => "text_made_part",
            Self::PartDropped => "part_dropped",
            Self::EmptyContentFilled => "empty_content_filled",
            Self::ArgumentsParsed => "arguments_parsed",
            Self::ArgumentsSerialised => "arguments_serialised",
            Self::EmptyArgumentsFilled => "empty_arguments_filled",
            Self::EmptyToolCallsDropped => "empty_tool_calls_dropped",
            Self::ToolCallIdMapped => "tool_call_id_mapped",
            Self::ToolCallIdMade => "tool_call_id_made",
            Self::ToolNameFilled => "tool_name_filled",
            Self::ToolWrapped => "tool_wrapped",
            Self::ToolUnwrapped => "tool_unwrapped",
            Self::ToolDescriptionFilled => "tool_description_filled",
            Self::ToolParametersFilled => "tool_parameters_filled",
            Self::DeveloperToSystem => "developer_to_system",
        }
    }

    /// What it does and when, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::TextPartsJoined => {
                "Text parts are joined with line feeds where the template takes content as a string only."
            }
            Self::TextMadePart => {
                "A string becomes one text part where the template takes content as a list of parts only."
            }
            Self::PartDropped => {
                "A part that is no text is dropped where the template takes content as a string only."
            }
            Self::EmptyContentFilled => {
                "Content that is null or absent becomes empty text where the template fails without it or writes \
                 out that there is none."
            }
            Self::ArgumentsParsed => {
                "Arguments of a call sent as JSON text become a mapping where the template writes them as such."
            }
            Self::ArgumentsSerialised => {
                "Arguments of a call sent as a mapping become JSON text where the template takes text only."
            }
            Self::EmptyArgumentsFilled => {
                "Arguments of a call that are null, absent or blank become {} where the template writes arguments."
            }
            Self::EmptyToolCallsDropped => {
                "tool_calls that is null or an empty list is dropped, always."
            }
            Self::ToolCallIdMapped => {
                "Ids of calls are replaced, consistently, by nine letters and digits where the template takes \
                 nothing else."
            }
            Self::ToolCallIdMade => {
                "A missing id is made, the same for a call and for the tool message that answers it, where the \
                 template needs one."
            }
            Self::ToolNameFilled => {
                "A tool message without name gets that of the function it answers for, where the template writes it."
            }
            Self::ToolWrapped => {
                "A tool sent bare is wrapped in {\"type\": \"function\", \"function\": …} where the template reads \
                 it so."
            }
            Self::ToolUnwrapped => {
                "A tool sent as {\"type\": \"function\", \"function\": …} is unwrapped where the template reads \
                 bare ones only."
            }
            Self::ToolDescriptionFilled => {
                "A tool without description gets an empty one where the template fails without it."
            }
            Self::ToolParametersFilled => {
                "A tool without parameters gets an object schema without properties where the template fails \
                 without it."
            }
            Self::DeveloperToSystem => {
                "The role developer becomes system where the template has no place of its own for it."
            }
        }
    }

    /// Whether the model is told something else than the client sent; reports count it as adapted.
    pub fn changes_meaning(self) -> bool {
        matches!(self, Self::PartDropped | Self::DeveloperToSystem)
    }
}

/// One change made to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What was done.
    pub normalisation: Normalisation,
    /// Where, in what the client sent, as `messages[2].tool_calls[0].function.arguments`.
    pub path: String,
}

/// Why a conversation cannot be brought into the form that the template needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unfit {
    /// Where, in what the client sent.
    pub path: String,
    /// What was wrong, where, and what to send instead.
    pub message: String,
}
