//! What a format is: a row of data. From it come the streaming parser, the constraint and the texts of tests.

use std::fmt::Debug;

use overt_rule::{Grammar, Rule};
use serde::Deserialize;
use serde_json::Value;

use crate::core::calls::{Calls, Ids};
use crate::core::input::Input;
use crate::core::prose::Prose;
use crate::core::thinking::Thinking;
use crate::{Events, Tool, leak};

/// One family's way to write reasoning and tool calls.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its own name.
    pub name: &'static str,
    /// Every name under which a tool-call parser finds it (vLLM's and SGLang's among them).
    pub tool_names: &'static [&'static str],
    /// Every name under which a reasoning parser finds it.
    pub reasoning_names: &'static [&'static str],
    /// How it sets reasoning apart; none where it has none. Where its frames do, these are the markers around it, by
    /// which grammars let a model think first.
    pub thinking: Option<Thinking>,
    /// How it writes calls.
    pub(crate) calls: Option<&'static dyn Dialect>,
    /// Its dialect frames everything: text and reasoning too are read by it.
    pub framed: bool,
    /// How an answer that is no call is framed; none where it stands free.
    pub answer: Option<Answer>,
    /// How its call ids are spelled.
    pub ids: Ids,
    /// Markers that a vocabulary of this family has as single tokens: without one of them the format is not the
    /// model's.
    pub tokens: &'static [&'static str],
    /// What a chat template of this family holds, for `auto`: the format is meant when every text of one of these
    /// groups stands in the template, and none of those that a `!` stands before.
    pub signs: &'static [&'static [&'static str]],
}

impl Format {
    /// The engine that reads its calls: the name of the module of its argument grammar; none where it has no calls.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.calls.map(|dialect| dialect.engine())
    }

    /// Writes calls as the model does: the parser reads them back. Empty where the format has no
    /// calls.
    #[must_use]
    pub fn write(&self, calls: &[Written<'_>]) -> String {
        let mut out = String::new();
        if let Some(dialect) = self.calls {
            dialect.write(calls, &mut out);
        }
        out
    }

    /// What the model may write when it calls one of `tools`, from the opener on; none where the format has no
    /// calls.
    #[must_use]
    pub fn grammar(&self, tools: &[&Tool], many: Many) -> Option<Grammar> {
        self.calls.map(|dialect| dialect.grammar(tools, many))
    }

    /// The same as [`grammar`](Self::grammar), where an answer in JSON may stand in the place of calls.
    #[must_use]
    pub fn grammar_beside_json(&self, tools: &[&Tool], many: Many) -> Option<Grammar> {
        self.calls.map(|dialect| dialect.grammar_beside_json(tools, many))
    }

    /// What the model may write when it answers with what `inner` describes: `inner` itself, or a frame around it,
    /// maybe behind what stands between closed thinking and the next frame.
    #[must_use]
    pub fn answer_rule(&self, inner: Rule) -> Rule {
        let (Some(answer), Some(dialect)) = (self.answer, self.calls) else { return inner };
        let mut rules = Vec::new();
        if !answer.again.is_empty() {
            rules.push(Rule::Seq(dialect.spell(answer.again)).maybe());
        }
        rules.extend(dialect.spell(answer.open));
        rules.push(inner);
        rules.extend(dialect.spell(answer.close));
        Rule::Seq(rules)
    }

    /// Texts at which calls begin.
    #[must_use]
    pub fn openers(&self) -> &[&'static str] {
        self.calls.map_or(&[], |dialect| dialect.openers())
    }
}

/// How a framed format sets an answer apart that is no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What stands between closed thinking and the next frame; empty where nothing does.
    #[serde(default, deserialize_with = "leak::text")]
    pub again: leak::Text,
    /// What opens the frame.
    #[serde(deserialize_with = "leak::text")]
    pub open: leak::Text,
    /// What closes it before the end of the turn; empty where the token that ends the turn does.
    #[serde(default, deserialize_with = "leak::text")]
    pub close: leak::Text,
}

/// How calls are written: one of the argument grammars with a family's own words.
pub(crate) trait Dialect: Debug + Sync {
    /// The engine's name, that of its module.
    fn engine(&self) -> &'static str;

    /// A reader for one choice.
    fn reader(&self, options: &Reading) -> Box<dyn Reader>;

    /// Markers at which a call, or a section of calls, may begin; empty where calls have none.
    fn openers(&self) -> &[&'static str];

    /// Those of the openers that are markers: within thinking, nothing else shows that a call begins.
    fn markers(&self) -> &[&'static str] {
        self.openers()
    }

    /// `text` as rules, the family's special tokens in it as such.
    fn spell(&self, text: &str) -> Vec<Rule> {
        vec![Rule::text(text)]
    }

    /// Writes calls as the model does; the reader reads them back. Arguments are objects.
    fn write(&self, calls: &[Written<'_>], out: &mut String);

    /// What the model may write when it calls: from the first byte of the opener on, at least one call of `tools`.
    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar;

    /// The same where JSON may stand in the place of calls: both must be made of the same parts as far as they begin
    /// alike.
    fn grammar_beside_json(&self, tools: &[&Tool], many: Many) -> Grammar {
        self.grammar(tools, many)
    }
}

/// How many calls may follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// One or more.
    Some,
}

/// A call to be written.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// Its arguments, an object.
    pub arguments: &'a Value,
    /// The tool, where its schema decides how values are spelled.
    pub tool: Option<&'a Tool>,
}

/// What a reader is to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    /// Calls are read; otherwise (no tools, or `tool_choice: none`) what looks like one is text.
    pub(crate) calls: bool,
    /// Markers that are dropped wherever they stand in the answer, such as `</answer>`.
    pub(crate) hidden: &'static [&'static str],
    /// Reasoning that a frame holds is said as text.
    pub(crate) merged: bool,
    /// The end of the rendered prompt.
    pub(crate) tail: String,
}

/// Reads the answer of one choice: what it finds it says.
pub(crate) trait Reader: Send + Debug {
    /// Reads as much of `input` as can be told apart now; all of it once the input has ended.
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>);

    /// True between calls, where the thinking may open again.
    fn is_idle(&self) -> bool;

    /// True while what comes is reasoning (of framed formats).
    fn is_reasoning(&self) -> bool {
        false
    }
}

/// Where a reader says what it found.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    pub(crate) calls: &'a mut Calls,
    pub(crate) prose: &'a mut Prose,
    pub(crate) out: &'a mut Events,
}

impl Said<'_> {
    /// Says text of the answer; a special token's spelling is left out.
    pub(crate) fn text(&mut self, text: &str, special: bool) {
        if !special {
            self.prose.say(text, self.out);
        }
    }

    /// A call begins.
    pub(crate) fn begin(&mut self, name: &str, id: Option<&str>) {
        self.prose.called();
        self.calls.begin(name, id, self.out);
    }

    /// More of the open call's arguments.
    pub(crate) fn arguments(&mut self, text: &str) {
        self.calls.arguments(text, self.out);
    }

    /// The open call ends.
    pub(crate) fn end(&mut self) {
        self.calls.end(self.out);
    }

    /// What was read since the input's mark turned out to be no call: it is text.
    pub(crate) fn give_up(&mut self, input: &mut Input) {
        input.give_up(|text, special| {
            if !special {
                self.prose.say(text, self.out);
            }
        });
    }
}
