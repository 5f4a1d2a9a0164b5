//! What the API process hands to the engine, and what shapes it besides the constraint itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::Limits;

/// What an output must be, as it travels from the API process to the engine: text and numbers only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// llguidance's Lark text of the whole output from the first token.
    pub lark: String,
    /// Grammars in a client's own Lark that `lark` refers to: name (without `@`) and text.
    pub parts: Vec<(String, String)>,
    /// The field of the request that asked for it; errors name it.
    pub field: String,
}

/// A request asks for a constraint that cannot be kept, or in a way that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Refused {
    /// Path of the field as sent, such as `response_format.json_schema.schema.properties.a.not`.
    pub param: String,
    /// What is wrong, what is allowed, what to do.
    pub message: String,
}

impl Refused {
    pub(crate) fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: param.into(), message: message.into() }
    }
}

/// What an output must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// A JSON value that this JSON Schema allows.
    Json(Value),
    /// Any JSON object.
    AnyObject,
    /// Text that this regular expression matches as a whole.
    Regex(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// A grammar in EBNF (GBNF) whose first rule to apply is `root`.
    Ebnf(String),
    /// A grammar in llguidance's Lark whose first rule to apply is `start`.
    Lark(String),
    /// A structural tag, in either form.
    StructuralTag(Value),
    /// What a tool-call format asks for.
    Rule(overt_rule::Grammar),
}

/// Which white space JSON may have between its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    /// One space, or one line break and an indentation: [`Whitespace::BOUNDED`]. Without a bound a weak model may
    /// go on with white space for ever.
    #[default]
    Bounded,
    /// None at all.
    None,
    /// What this regular expression matches, or none.
    Pattern(String),
}

impl Whitespace {
    /// The regular expression of the white space that is allowed, once, between two parts of a JSON text.
    pub const BOUNDED: &str = r" |\n[ \t]{0,64}";
}

/// How far numbers in JSON may go where their schema does not say.
#[derive(Clone, Copy, Debug)]
pub struct Numbers;

impl Numbers {
    /// The largest number with fractions, on either side of 0: what every reader of JSON holds exactly.
    pub const LARGEST: i64 = 9_007_199_254_740_991;
    /// The largest integer where a schema asks for one, on either side of 0: identifiers and times fill 64 bits. It is
    /// the largest that floating point has below 2^63.
    pub const INTEGER: i64 = 9_223_372_036_854_774_784;
    /// Digits behind the point. No exponents: a reader may find infinity in them.
    pub const FRACTION: u8 = 8;
}

/// Text before the constrained part: reasoning up to its close marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// The prompt already opened the reasoning: it goes on until a close marker.
    pub start_open: bool,
    /// Markers that open reasoning. Where the prompt did not, the model may; without any, it may not.
    pub open: Vec<String>,
    /// Markers that close it, at least one.
    pub close: Vec<String>,
}

/// What shapes a source besides its constraint.
#[derive(Clone)]
pub struct Options<'a> {
    /// White space in JSON.
    pub whitespace: Whitespace,
    /// What is refused by its size.
    pub limits: Limits,
    /// Objects whose schema does not say otherwise allow no properties but their own.
    pub disable_additional_properties: bool,
    /// Text before the constrained part.
    pub thinking: Option<Around>,
    /// The id of the special token of this spelling, if the vocabulary has one. It must know the same tokens as
    /// special as the engine's vocabulary does.
    pub markers: &'a (dyn Fn(&str) -> Option<u32> + Sync),
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("whitespace", &self.whitespace)
            .field("thinking", &self.thinking)
            .finish_non_exhaustive()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            whitespace: Whitespace::default(),
            limits: Limits::default(),
            disable_additional_properties: false,
            thinking: None,
            markers: &|_| None,
        }
    }
}
