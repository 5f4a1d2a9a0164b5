//! The form of an answer: which calls are read, what the output is held to, how long it may think.

use std::sync::Arc;

use overt_grammar::{Around, Constraint, Grammar, Rule, Source};
use overt_link::ThinkingBudget;
use overt_parse::{Many, Options, Thinking, Tool, Tools};
use overt_wire::Protocol;
use serde_json::Value;

use crate::adapted::Adapted;
use crate::calls::{ToolChoice, Wanted};
use crate::error::RequestError;
use crate::generation::Generation;
use crate::model::ServedModel;

/// What the choices and the engine are told of an answer's form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form {
    /// How a choice's output is read, but for its seed.
    pub(crate) reading: Options,
    /// Custom tools by name.
    pub(crate) custom: Arc<[String]>,
    /// What the output is held to.
    pub(crate) grammar: Option<Box<Source>>,
    pub(crate) thinking: Option<Box<ThinkingBudget>>,
    /// The answer is a call of one named tool.
    pub(crate) named: bool,
    pub(crate) adapted: Vec<Adapted>,
}

impl Form {
    /// The form that a chat or completion asks for; `prompt` is what the answer follows.
    ///
    /// # Errors
    /// What cannot be held to, by its field.
    pub(crate) fn of(
        model: &ServedModel,
        protocol: Protocol,
        body: &[u8],
        wanted: &Wanted,
        prompt: &[u32],
        generation: &Generation,
    ) -> Result<Self, RequestError> {
        let chat = protocol == Protocol::Chat;
        let tail = model.reading.tail(model.tokenizer.table(), prompt);
        let thinking = model.reading.reasoning.and_then(|format| format.thinking);
        let open = thinking.is_some_and(|thinking| thinking.is_open_after(&tail));
        let asked = if generation.constrained { Some(asked(body)?) } else { None };
        let (asked, options) = asked.unwrap_or_default();
        let mut form = Self {
            custom: wanted.custom.as_slice().into(),
            named: matches!(wanted.choice, ToolChoice::Named(_)),
            ..Self::default()
        };
        let constraint = form.constraint(model, wanted, asked, generation)?;
        if let Some((field, constraint)) = constraint {
            // A completion has neither frames nor thinking of its own: its text is held from its first token.
            let constraint =
                if chat { framed(model, wanted, &field, constraint)? } else { constraint };
            let around =
                thinking.filter(|_| chat).and_then(|thinking| around(&thinking, open, &tail));
            let options = overt_grammar::Options { thinking: around, ..options };
            form.grammar = Some(Box::new(source(model, &field, &constraint, options)?));
        }
        form.thinking = thinking
            .zip(generation.thinking_budget)
            .map(|(thinking, tokens)| budget(model, &thinking, open, tokens))
            .transpose()?
            .map(Box::new);
        form.reading = Options {
            tools: Arc::new(wanted.callable()),
            choice: wanted.parsed_choice(),
            prompt_tail: tail,
            no_thinking: false,
            merged: generation.merges_reasoning,
            seed: 0,
        };
        Ok(form)
    }

    /// What the output is held to, and the field that asked for it.
    fn constraint(
        &mut self,
        model: &ServedModel,
        wanted: &Wanted,
        asked: Option<(String, Constraint)>,
        generation: &Generation,
    ) -> Result<Option<(String, Constraint)>, RequestError> {
        let mut tools = wanted.callable();
        let calls = if tools.list.is_empty() { None } else { model.reading.calls };
        let strict = tools.list.iter().any(|tool| tool.strict);
        if calls.is_some() && model.reading.constrains {
            self.keep_schemas(wanted, &mut tools)?;
        }
        if wanted.choice.forces() {
            let many = if generation.one_call || self.named { Many::One } else { Many::Some };
            let grammar = calls.and_then(|format| format.grammar(&each(&tools), many));
            let Some(grammar) = grammar else { return Err(cannot_force(model, wanted)) };
            // Without constraints the model is only asked, and the answer says so.
            if !model.reading.constrains {
                self.adapted.push(Adapted {
                    field: wanted.field.to_owned(),
                    requested: wanted.asked.clone(),
                    applied: "auto".into(),
                    reason: "this server does not constrain outputs, so a call cannot be forced"
                        .into(),
                    counted: wanted.field.to_owned(),
                });
                return Ok(None);
            }
            return Ok(Some((wanted.field.to_owned(), Constraint::Rule(grammar))));
        }
        let Some(format) = calls else { return held(model, asked) };
        let limited = matches!(wanted.choice, ToolChoice::Allowed { .. });
        let holds = model.reading.constrains && (limited || strict);
        let many = if generation.one_call { Many::One } else { Many::Some };
        match asked {
            None if !holds => Ok(None),
            None => {
                if format.framed {
                    let mut tell = |field: &str, requested: &str| {
                        self.adapted.push(Adapted {
                            field: field.to_owned(),
                            requested: requested.into(),
                            applied: "as the model writes them".into(),
                            reason: "in this model's format calls can be held to only where one is required"
                                .to_owned(),
                            counted: field.to_owned(),
                        });
                    };
                    if strict {
                        tell("tools", "calls held to their schemas");
                    }
                    if limited {
                        tell(wanted.field, "calls of the allowed tools alone");
                    }
                    return Ok(None);
                }
                let Some(grammar) = format.grammar(&each(&tools), Many::One) else {
                    return Ok(None);
                };
                let grammar = among_text(grammar, format.openers(), many);
                Ok(Some((wanted.field.to_owned(), Constraint::Rule(grammar))))
            }
            Some((field, constraint)) => {
                let Some(rule) = rule_of(&constraint) else {
                    return Err(RequestError::invalid(
                        field.clone(),
                        format!(
                            "`{field}` cannot stand beside tools that the model may call. Send `tool_choice: \"none\"`, \
                             or a JSON schema, a regular expression or a list of choices."
                        ),
                    ));
                };
                let Some(grammar) = format.grammar_beside_json(&each(&tools), many) else {
                    return held(model, Some((field, constraint)));
                };
                let Grammar { start, rules } = grammar;
                let rule = format.answer_rule(rule);
                let either = Grammar { start: Rule::Any(vec![start, rule]), rules };
                held(model, Some((field, Constraint::Rule(either))))
            }
        }
    }
}

impl Form {
    /// Leaves the schemas that calls are held to: of strict tools, and of all where a call is forced. A schema that
    /// cannot be held to is refused where its tool is strict, and else its tool takes any object, which is told.
    fn keep_schemas(&mut self, wanted: &Wanted, tools: &mut Tools) -> Result<(), RequestError> {
        for tool in &mut tools.list {
            if tool.parameters.is_null() {
                continue;
            }
            if !tool.strict && !wanted.choice.forces() {
                tool.parameters = Value::Null;
                continue;
            }
            let path = wanted.path_of(&tool.name);
            let schema = Constraint::Json(tool.parameters.clone());
            match overt_grammar::source(&schema, &path, &overt_grammar::Options::default()) {
                Ok(_) => {}
                Err(error) if tool.strict => return Err(refused(error)),
                Err(error) => {
                    tool.parameters = Value::Null;
                    self.adapted.push(Adapted {
                        field: error.param.clone(),
                        requested: "arguments of its schema".into(),
                        applied: "any object".into(),
                        reason: format!("a call cannot be held to it: {}", error.message),
                        counted: "tools[].function.parameters".to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A constraint that the server must be able to keep.
fn held(
    model: &ServedModel,
    asked: Option<(String, Constraint)>,
) -> Result<Option<(String, Constraint)>, RequestError> {
    match asked {
        Some((field, _)) if !model.reading.constrains => Err(RequestError::invalid(
            field.clone(),
            format!(
                "`{field}` asks for constrained output, and this server was started with --grammar-backend none. Leave \
                 it out, or ask the operator."
            ),
        )
        .code("unsupported_parameter")),
        asked => Ok(asked),
    }
}

/// The constraint within the frame of an answer, where the model frames its answers. Calls have frames of their own.
fn framed(
    model: &ServedModel,
    wanted: &Wanted,
    field: &str,
    constraint: Constraint,
) -> Result<Constraint, RequestError> {
    let Some(format) = model.reading.framed() else { return Ok(constraint) };
    if matches!(constraint, Constraint::Rule(_)) && !wanted.callable().list.is_empty() {
        return Ok(constraint);
    }
    match rule_of(&constraint) {
        Some(rule) if format.answer.is_some() => {
            Ok(Constraint::Rule(format.answer_rule(rule).into()))
        }
        _ => Err(RequestError::invalid(
            field,
            format!(
                "`{field}` cannot be kept in this model's format ({}), which frames its answers. Send a JSON schema, a \
                 regular expression or a list of choices, or leave it out.",
                format.name
            ),
        )),
    }
}

fn each(tools: &Tools) -> Vec<&Tool> {
    tools.list.iter().collect()
}

/// Free text in which calls may stand, each as the grammar has it.
fn among_text(grammar: Grammar, openers: &[&'static str], many: Many) -> Grammar {
    let text = Rule::until(openers.iter().copied());
    let most = if many == Many::One { Some(1) } else { None };
    let calls = Rule::Seq(vec![grammar.start, text.clone()]).many(0, most);
    Grammar { start: Rule::Seq(vec![text, calls]), rules: grammar.rules }
}

/// The constraint as a part of a larger grammar, where it can be one.
fn rule_of(constraint: &Constraint) -> Option<Rule> {
    match constraint {
        Constraint::Json(schema) => Some(Rule::Json(schema.clone())),
        Constraint::AnyObject => Some(Rule::Json(serde_json::json!({"type": "object"}))),
        Constraint::Regex(pattern) => Some(Rule::pattern(pattern.clone())),
        Constraint::Choice(texts) => Some(Rule::Any(texts.iter().map(Rule::text).collect())),
        _ => None,
    }
}

type Asked = (Option<(String, Constraint)>, overt_grammar::Options<'static>);

/// What the body asks the output to be held to, and how.
fn asked(body: &[u8]) -> Result<Asked, RequestError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|_| RequestError::bad("The body is not the JSON this route reads."))?;
    let asked = overt_grammar::requested(&body).map_err(refused)?;
    let options = overt_grammar::Options::default().with_request(&body).map_err(refused)?;
    Ok((asked, options))
}

fn refused(refused: overt_grammar::Refused) -> RequestError {
    let message = format!("`{}`: {}.", refused.param, refused.message);
    RequestError::invalid(refused.param, message)
}

fn source(
    model: &ServedModel,
    field: &str,
    constraint: &Constraint,
    options: overt_grammar::Options<'static>,
) -> Result<Source, RequestError> {
    let table = model.tokenizer.table();
    let markers = |spelling: &str| {
        let id = model.tokenizer.token_to_id(spelling)?;
        table.is_special(id).then_some(id)
    };
    let options = overt_grammar::Options { markers: &markers, ..options };
    overt_grammar::source(constraint, field, &options).map_err(refused)
}

/// Thinking before what is held; none where the prompt has closed it.
fn around(thinking: &Thinking, open: bool, tail: &str) -> Option<Around> {
    let closed = !open && thinking.close.iter().any(|marker| tail.contains(marker));
    let texts = |markers: &[&str]| markers.iter().map(|marker| (*marker).to_owned()).collect();
    (!closed).then(|| Around {
        start_open: open,
        open: if open { Vec::new() } else { texts(thinking.open) },
        close: texts(thinking.close),
    })
}

fn budget(
    model: &ServedModel,
    thinking: &Thinking,
    open: bool,
    tokens: u32,
) -> Result<ThinkingBudget, RequestError> {
    let texts = |markers: &[&str]| markers.iter().map(|marker| (*marker).to_owned()).collect();
    let close = thinking.close.first().copied().unwrap_or_default();
    let text = match model.reading.framed().and_then(|format| format.answer) {
        Some(answer) => format!("{close}{}{}", answer.again, answer.open),
        None => format!("\n{close}\n\n"),
    };
    let closing = model.tokenizer.encode(&text, false).map_err(|error| {
        RequestError::invalid(
            "thinking_token_budget",
            format!("The end of the thinking cannot be tokenised: {error}"),
        )
    })?;
    Ok(ThinkingBudget {
        tokens,
        open,
        opens: texts(thinking.open),
        closes: texts(thinking.close),
        closing,
    })
}

/// Why a call cannot be forced.
fn cannot_force(model: &ServedModel, wanted: &Wanted) -> RequestError {
    let field = wanted.field;
    let message = if wanted.tools.is_empty() {
        format!("`{field}` asks for a call, and no tools were sent.")
    } else if wanted.callable().list.is_empty() {
        format!("`{field}` names no tool that is among the tools.")
    } else if model.reading.calls.is_none() {
        format!(
            "`{field}` asks for a call, and this server does not know how its model writes one. Start it with \
             --tool-call-parser, or send \"auto\" or \"none\"."
        )
    } else {
        format!("`{field}` asks for a call, and this model's format has none.")
    };
    RequestError::invalid(field, message)
}
