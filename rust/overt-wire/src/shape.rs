//! What differs between the servers that clients were written for.

/// The fields and forms of one server's answers. The default is Overt's own: what OpenAI's clients and vLLM's
/// both read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The field that names what ended a choice.
    pub stop: StopField,
    /// The fields of a chat's reasoning. Completions deliver reasoning as text, whatever this says.
    pub reasoning: ReasoningField,
    /// `usage.prompt_tokens_details` is there.
    pub cached_tokens: bool,
    /// The content of an answer that only calls tools is `""`, not null. Bodies only: streams have no null there.
    pub empty_content: bool,
    /// How errors look.
    pub errors: ErrorShape,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            stop: StopField::default(),
            reasoning: ReasoningField::default(),
            cached_tokens: true,
            empty_content: false,
            errors: ErrorShape::default(),
        }
    }
}

/// The name of the field beside `finish_reason` that holds a [`StopReason`](crate::StopReason).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopField {
    /// `stop_reason` (vLLM).
    #[default]
    StopReason,
    /// `matched_stop` (SGLang).
    MatchedStop,
    /// Left out (OpenAI).
    None,
}

/// The fields in which a chat delivers reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningField {
    /// `reasoning_content` and `reasoning`, with the same text.
    #[default]
    Both,
    /// `reasoning`
    Reasoning,
    /// `reasoning_content`
    ReasoningContent,
    /// Reasoning is not delivered at all, nor are the log probabilities and ids that came with nothing else.
    None,
}

/// The form of errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorShape {
    /// `{"error":{"message","type","param","code"}}`, type and code as the error names them.
    #[default]
    OpenAi,
    /// As `OpenAi`, but the type is a class name made of the HTTP status and the code is that status.
    Vllm,
    /// `{"object":"error","message","type","param","code"}`, inside `{"error":…}` in streams only; the code is the
    /// HTTP status.
    SgLang,
}
