//! A constraint, and what stands around it, as a grammar source.

use overt_rule::{Grammar, Rule};
use serde_json::json;

use crate::limits::Limits;
use crate::rules::{self, PART};
use crate::source::{Around, Constraint, Options, Refused, Source};
use crate::{ebnf, pattern, schema, tags};

/// White space that may stand before reasoning, and between it and what follows.
const GAP: &str = "[ \\n]{0,4}";
/// The name of a client's own grammar among the parts of a source.
const OWN: &str = "own";

/// Checks a constraint and writes it as the grammar of a whole output.
///
/// # Errors
/// [`Refused`] names the place in the request, from `field` on, and what is wrong there.
pub fn source(
    constraint: &Constraint,
    field: &str,
    options: &Options<'_>,
) -> Result<Source, Refused> {
    let limits = &options.limits;
    let mut parts = Vec::new();
    let mut grammar = match constraint {
        Constraint::Json(schema) => Rule::Json(schema.clone()).into(),
        Constraint::AnyObject => Rule::Json(json!({"type": "object"})).into(),
        Constraint::Regex(regex) => {
            pattern::whole(regex, limits.regex_bytes).map_err(|error| {
                Refused::new(field, format!("the regular expression cannot be used: {error}"))
            })?;
            Rule::Pattern(regex.clone()).into()
        }
        Constraint::Choice(choices) => choice(choices, field, limits)?,
        Constraint::Ebnf(text) => {
            sized(text, field, limits)?;
            ebnf::read(text, limits.rules).map_err(|error| Refused::new(field, error))?
        }
        Constraint::Lark(text) => {
            sized(text, field, limits)?;
            if options.thinking.is_none() {
                return Ok(Source { lark: text.clone(), parts, field: field.to_owned() });
            }
            parts.push((OWN.to_owned(), text.clone()));
            Rule::Named(format!("{PART}{OWN}")).into()
        }
        Constraint::StructuralTag(tag) => tags::read(tag, field, options)?,
        Constraint::Rule(grammar) => grammar.clone(),
    };
    if let Some(around) = &options.thinking {
        grammar.start = after_thinking(around, grammar.start);
    }
    let mut refused = None;
    let in_json = matches!(constraint, Constraint::Json(_) | Constraint::AnyObject);
    let lark = {
        let mut prepare = |value: &serde_json::Value| {
            schema::prepared(value, options).map_err(|error| {
                let told = error.to_string();
                refused = Some(if in_json {
                    Refused::new(format!("{field}{}", error.param), error.message)
                } else {
                    Refused::new(field, format!("a schema in it cannot be used: {told}"))
                });
                told
            })
        };
        rules::write(&grammar, options.markers, &mut prepare, limits.regex_bytes)
    };
    let lark = match (lark, refused) {
        (_, Some(refused)) => return Err(refused),
        (Err(error), None) => return Err(Refused::new(field, error)),
        (Ok(lark), None) => lark,
    };
    if lark.len() > limits.source_bytes {
        let message = format!(
            "its grammar takes {} bytes; at most {} are allowed",
            lark.len(),
            limits.source_bytes
        );
        return Err(Refused::new(field, message));
    }
    Ok(Source { lark, parts, field: field.to_owned() })
}

fn choice(choices: &[String], field: &str, limits: &Limits) -> Result<Grammar, Refused> {
    if choices.is_empty() {
        return Err(Refused::new(field, "give at least one choice"));
    }
    if choices.len() > limits.choices {
        let message = format!("{} choices; at most {} are allowed", choices.len(), limits.choices);
        return Err(Refused::new(field, message));
    }
    Ok(Rule::Any(choices.iter().cloned().map(Rule::Text).collect()).into())
}

fn sized(text: &str, field: &str, limits: &Limits) -> Result<(), Refused> {
    if text.len() > limits.grammar_bytes {
        let message = format!(
            "the grammar has {} bytes; at most {} are allowed",
            text.len(),
            limits.grammar_bytes
        );
        return Err(Refused::new(field, message));
    }
    Ok(())
}

/// Reasoning up to its close marker, then the rest.
fn after_thinking(around: &Around, then: Rule) -> Rule {
    let any = |markers: &[String]| Rule::Any(markers.iter().map(Rule::marker).collect());
    if around.close.is_empty() || (!around.start_open && around.open.is_empty()) {
        return then;
    }
    let gap = || Rule::pattern(GAP);
    let thoughts = Rule::Seq(vec![Rule::Until(around.close.clone()), any(&around.close), gap()]);
    if around.start_open {
        return Rule::Seq(vec![thoughts, then]);
    }
    Rule::Seq(vec![Rule::Seq(vec![gap(), any(&around.open), thoughts]).maybe(), then])
}
