//! Runs parsers: every text in every cutting, which must all say the same.

pub mod accepts;
pub mod families;
pub mod pairs;
pub mod rows;

use std::sync::Arc;

use overt_parse::{
    Choice, Event, Events, Format, Options, Parser, Piece, Tools, reasoning_format, tool_format,
};
use serde_json::Value;

/// What an answer said, joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub content: String,
    pub reasoning: String,
    pub calls: Vec<Call>,
    /// The order in which text, reasoning and calls came: `c`, `r`, `t`.
    pub order: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
    pub ended: bool,
}

impl Answer {
    /// Names and arguments of its calls; arguments that are no JSON stay text.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.calls
            .iter()
            .map(|call| {
                let parsed = serde_json::from_str(&call.arguments);
                (
                    call.name.clone(),
                    parsed.unwrap_or_else(|_| Value::String(call.arguments.clone())),
                )
            })
            .collect()
    }

    fn add(&mut self, event: &Event<'_>) {
        let letter = match event {
            Event::Text(text) => {
                self.content.push_str(text);
                'c'
            }
            Event::Reasoning(text) => {
                self.reasoning.push_str(text);
                'r'
            }
            Event::ToolStart { index, id, name } => {
                assert_eq!(*index as usize, self.calls.len(), "calls are numbered in order");
                assert!(self.calls.last().is_none_or(|call| call.ended), "calls do not overlap");
                self.calls.push(Call {
                    id: (*id).to_owned(),
                    name: (*name).to_owned(),
                    ..Call::default()
                });
                't'
            }
            Event::ToolArgs { index, text } => {
                assert_eq!(*index as usize + 1, self.calls.len());
                let call = self.calls.last_mut().expect("arguments belong to a call");
                assert!(!call.ended && !text.is_empty());
                call.arguments.push_str(text);
                't'
            }
            Event::ToolEnd { index } => {
                assert_eq!(*index as usize + 1, self.calls.len());
                let call = self.calls.last_mut().expect("an end belongs to a call");
                assert!(!call.ended && !call.arguments.is_empty());
                call.ended = true;
                't'
            }
        };
        if !self.order.ends_with(letter) {
            self.order.push(letter);
        }
    }
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct How {
    pub tool: Option<String>,
    pub reasoning: Option<String>,
    /// Formats that no registry has, for calls and for reasoning.
    pub formats: Option<(Option<&'static Format>, Option<&'static Format>)>,
    pub options: Options,
    /// Texts that are single special tokens.
    pub specials: Vec<String>,
}

/// Tool format `tool` with these tools (as chat requests spell them).
pub fn with(tool: &str, tools: &Value) -> How {
    let list = tools.as_array().expect("a list of tools");
    How {
        tool: Some(tool.to_owned()),
        options: Options { tools: Arc::new(Tools::of(list)), ..Options::default() },
        ..How::default()
    }
}

impl How {
    pub fn reasoning(mut self, name: &str) -> Self {
        self.reasoning = Some(name.to_owned());
        self
    }

    pub fn tail(mut self, tail: &str) -> Self {
        self.options.prompt_tail = tail.to_owned();
        self
    }

    pub fn choice(mut self, choice: Choice) -> Self {
        self.options.choice = choice;
        self
    }

    pub fn specials(mut self, specials: &[&str]) -> Self {
        self.specials = specials.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    pub fn parser(&self) -> Parser {
        if let Some((tool, reasoning)) = self.formats {
            return Parser::new(tool, reasoning, self.options.clone());
        }
        let tool = self.tool.as_deref().map(|name| tool_format(name).expect("a tool format"));
        let reasoning = self
            .reasoning
            .as_deref()
            .map(|name| reasoning_format(name).expect("a reasoning format"));
        Parser::new(tool, reasoning, self.options.clone())
    }

    /// Reads `pieces` as they are cut.
    pub fn read_pieces(&self, pieces: &[(String, bool)]) -> Answer {
        let mut parser = self.parser();
        let mut out = Events::new();
        let mut answer = Answer::default();
        for (text, special) in pieces {
            out.clear();
            parser.push(Piece { text, special: *special }, &mut out);
            out.iter().for_each(|event| answer.add(&event));
        }
        out.clear();
        parser.finish(&mut out);
        out.iter().for_each(|event| answer.add(&event));
        assert!(answer.calls.iter().all(|call| call.ended));
        assert_eq!(parser.tool_calls() as usize, answer.calls.len());
        answer
    }

    /// Splits `text` into special tokens and the texts between them.
    pub fn pieces(&self, text: &str) -> Vec<(String, bool)> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let next = self
                .specials
                .iter()
                .filter_map(|special| Some((rest.find(special.as_str())?, special)));
            // Where two begin at one place the longer one is the token.
            match next.min_by_key(|(at, special)| (*at, usize::MAX - special.len())) {
                Some((at, special)) => {
                    if at > 0 {
                        pieces.push((rest[..at].to_owned(), false));
                    }
                    pieces.push((special.clone(), true));
                    rest = &rest[at + special.len()..];
                }
                None => {
                    pieces.push((rest.to_owned(), false));
                    break;
                }
            }
        }
        pieces
    }

    /// Reads `text` whole, by characters, and in pieces of two to nine characters: all must say the same.
    pub fn read(&self, text: &str) -> Answer {
        let pieces = self.pieces(text);
        let whole = self.read_pieces(&pieces);
        for size in [1, 2, 3, 5, 9] {
            let mut cut = Vec::new();
            for (text, special) in &pieces {
                if *special {
                    cut.push((text.clone(), true));
                    continue;
                }
                let characters: Vec<char> = text.chars().collect();
                cut.extend(characters.chunks(size).map(|chunk| (chunk.iter().collect(), false)));
            }
            let answer = self.read_pieces(&cut);
            assert_eq!(answer, whole, "cut by {size} characters: {text:?}");
        }
        whole
    }
}
