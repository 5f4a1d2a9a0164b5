//! How large a constraint may be, and how much work it may cause. One place for all of it.

/// What is refused at once by its size, and what the engine spends on a grammar. The defaults suit a server that
/// strangers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a JSON schema, as compact JSON.
    pub schema_bytes: usize,
    /// Levels of nesting in a JSON schema; structural tags may add [`Limits::TAG_DEPTH`] around it.
    pub schema_depth: usize,
    /// Properties in all of a JSON schema.
    pub properties: usize,
    /// Properties of one object: compiling takes time with their square.
    pub object_properties: usize,
    /// Definitions in a JSON schema that references lead to.
    pub definitions: usize,
    /// Schemas in a JSON schema once the references are written out that must be.
    pub written_out: u64,
    /// Values under `enum` in all of a JSON schema.
    pub enum_values: usize,
    /// Bytes of one regular expression.
    pub regex_bytes: usize,
    /// Bytes of a grammar in Lark or EBNF.
    pub grammar_bytes: usize,
    /// Rules of a grammar in EBNF.
    pub rules: usize,
    /// Texts in a choice.
    pub choices: usize,
    /// How often a rule, an item or a character may have to repeat (`{m,n}`, `minItems`, `maxItems`, `minLength`,
    /// `maxLength`, `minProperties`, `maxProperties`).
    pub repeats: u64,
    /// Bytes of the whole grammar source that goes to the engine.
    pub source_bytes: usize,
    /// Fuel for building a grammar's lexer; about 50,000 a millisecond.
    pub compile_fuel: u64,
    /// Fuel for the lexer while one mask is computed; about 14,000 a millisecond.
    pub step_fuel: u64,
    /// Parser items made while one mask is computed; about 20,000 a millisecond.
    pub step_items: usize,
    /// Parser items at one position of the text.
    pub items_in_row: usize,
    /// States of one grammar's lexer; 1 to 2 KB each.
    pub lexer_states: usize,
    /// Symbols in all productions of a grammar.
    pub grammar_size: usize,
    /// Compiled grammars that are kept for the next request.
    pub kept_grammars: usize,
    /// Bytes of lexer states in all kept grammars together.
    pub kept_bytes: usize,
    /// Bytes of masks that compiled grammars keep for states of their lexers, together; with 0 each mask is
    /// computed anew.
    pub mask_bytes: usize,
}

impl Limits {
    /// Levels that a structural tag may add around a schema.
    pub const TAG_DEPTH: usize = 16;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            schema_bytes: 256 << 10,
            schema_depth: 64,
            properties: 5000,
            object_properties: 1000,
            definitions: 1000,
            written_out: 20_000,
            enum_values: 5000,
            regex_bytes: 16 << 10,
            grammar_bytes: 128 << 10,
            rules: 2000,
            choices: 5000,
            repeats: 100_000,
            source_bytes: 4 << 20,
            compile_fuel: 1_000_000,
            step_fuel: 200_000,
            step_items: 50_000,
            items_in_row: 2000,
            lexer_states: 50_000,
            grammar_size: 500_000,
            kept_grammars: 256,
            kept_bytes: 256 << 20,
            mask_bytes: 256 << 20,
        }
    }
}
