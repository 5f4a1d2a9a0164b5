//! Which formats a model's output is read in, and why.

use overt_parse::{DECLARED, Format, check, detect};
use overt_text::{TokenTable, Tokenizer};
use serde::Serialize;
use serde_json::Value;

use crate::model::Reading;

/// The formats that were chosen at the start.
#[derive(Debug, Clone, Default)]
pub struct Formats {
    /// Tool calls; none: they stay text.
    pub calls: Option<&'static Format>,
    /// Reasoning; none: it stays text.
    pub reasoning: Option<&'static Format>,
    /// Outputs can be held to grammars.
    pub constrains: bool,
    /// Why, for the operator.
    pub told: Told,
}

/// What is told of the choice, at the start and in the capabilities.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Told {
    /// Name of the format of tool calls.
    pub tool_call_parser: Option<&'static str>,
    /// Where that came from.
    pub tool_call_parser_reason: String,
    /// Name of the format of reasoning.
    pub reasoning_parser: Option<&'static str>,
    /// Where that came from.
    pub reasoning_parser_reason: String,
    /// Outputs can be held to grammars.
    pub constrains: bool,
    /// The end of thinking can be forced.
    pub bounds_thinking: bool,
}

/// Tokens of the prompt that are looked at for its end.
const TAIL: usize = 256;

impl Formats {
    /// Chooses by the operator's words, or by the template, the vocabulary and what the checkpoint declares.
    ///
    /// # Errors
    /// For the operator: a name that nobody knows, a format whose tokens the vocabulary lacks, a declaration that
    /// cannot be read.
    pub fn choose(
        reading: &Reading,
        template: &str,
        tokenizer: &Tokenizer,
        response_template: Option<&Value>,
    ) -> Result<Self, String> {
        let has_token = |token: &str| tokenizer.token_to_id(token).is_some();
        let mut found = detect(template, &has_token);
        let names = [&reading.tool_call_parser, &reading.reasoning_parser];
        let named = names.iter().any(|name| DECLARED.contains(&name.as_str()));
        if named || (found.tool.is_none() && response_template.is_some()) {
            let Some(declaration) = response_template else {
                return Err("the checkpoint's tokenizer_config.json declares no response_template: name the format of \
                            its tool calls and reasoning, or auto"
                    .to_owned());
            };
            match overt_parse::declared(declaration) {
                Ok(format) => {
                    let why = "the checkpoint declares it as its response_template".to_owned();
                    found.tool = Some((format, why.clone()));
                    found.reasoning = Some((format, why));
                }
                Err(reason) if named => return Err(format!("response_template: {reason}")),
                Err(_) => {}
            }
        }
        let (calls, calls_reason) = pick(
            "--tool-call-parser",
            &reading.tool_call_parser,
            found.tool,
            overt_parse::tool_format,
            |format| format.tool_names,
            &has_token,
        )?;
        let (reasoning, reasoning_reason) = pick(
            "--reasoning-parser",
            &reading.reasoning_parser,
            found.reasoning,
            overt_parse::reasoning_format,
            |format| format.reasoning_names,
            &has_token,
        )?;
        let constrains = reading.grammar_backend != "none";
        let told = Told {
            tool_call_parser: calls.map(|format| first(format.tool_names, format.name)),
            tool_call_parser_reason: calls_reason,
            reasoning_parser: reasoning.map(|format| first(format.reasoning_names, format.name)),
            reasoning_parser_reason: reasoning_reason,
            constrains,
            bounds_thinking: reasoning.is_some_and(|format| format.thinking.is_some()),
        };
        Ok(Self { calls, reasoning, constrains, told })
    }

    /// The format that frames everything, where one does.
    #[must_use]
    pub fn framed(&self) -> Option<&'static Format> {
        [self.calls, self.reasoning].into_iter().flatten().find(|format| format.framed)
    }

    /// The end of a prompt, as the parser wants it: from its last special token on that is no marker of thinking, or
    /// all of it where the format frames everything.
    pub(crate) fn tail(&self, table: &TokenTable, prompt: &[u32]) -> String {
        let framed = self.framed().is_some();
        let thinking = self.reasoning.and_then(|format| format.thinking);
        let is_marker = |text: &str| {
            thinking.is_some_and(|thinking| {
                thinking.open.contains(&text) || thinking.close.contains(&text)
            })
        };
        let mut start = prompt.len();
        for (at, id) in prompt.iter().enumerate().rev().take(TAIL) {
            if table.is_special(*id) && !framed && !is_marker(table.spelling(*id)) {
                break;
            }
            start = at;
        }
        let bytes: Vec<u8> =
            prompt[start..].iter().flat_map(|id| table.bytes(*id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The name by which a flag finds the format.
fn first(names: &'static [&'static str], own: &'static str) -> &'static str {
    names.first().copied().unwrap_or(own)
}

type Found = Option<(&'static Format, String)>;

fn pick(
    flag: &str,
    name: &str,
    found: Found,
    by_name: fn(&str) -> Option<&'static Format>,
    names: fn(&Format) -> &'static [&'static str],
    has_token: &dyn Fn(&str) -> bool,
) -> Result<(Option<&'static Format>, String), String> {
    match name {
        "none" => Ok((None, format!("{flag} none"))),
        name if name == "auto" || DECLARED.contains(&name) => Ok(match found {
            Some((format, why)) => (Some(format), why),
            None => (
                None,
                "neither the chat template nor the vocabulary shows a format that is known"
                    .to_owned(),
            ),
        }),
        name => {
            let format = by_name(name).ok_or_else(|| {
                let mut known: Vec<_> = overt_parse::formats()
                    .iter()
                    .flat_map(|format| names(format))
                    .copied()
                    .collect();
                known.sort_unstable();
                format!("{flag} {name} is unknown; allowed are auto, none, {}", known.join(", "))
            })?;
            check(format, has_token).map_err(|reason| {
                format!(
                    "{flag} {name} is not this model's format: {reason}. Choose another, or auto."
                )
            })?;
            Ok((Some(format), format!("{flag} {name}")))
        }
    }
}
