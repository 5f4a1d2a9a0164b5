//! One choice's parser: thinking first, then the answer with its calls.

use std::sync::Arc;

use crate::core::calls::{Calls, Ids};
use crate::core::input::{Found, Input};
use crate::core::prose::Prose;
use crate::core::thinking::{EndedByCall, Reasoning, Thinking};
use crate::core::value::{Place, Value};
use crate::format::{Format, Reader, Reading, Said};
use crate::plain::Plain;
use crate::{Events, Piece, Tools};

/// What the calls of an answer are to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// No call is read.
    None,
    /// The model decides.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// A call of this tool: an answer that is only its arguments' object is read as that call too.
    Named(String),
}

/// What a parser is made for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The request's tools; without any, calls are text.
    pub tools: Arc<Tools>,
    /// What was asked of calls.
    pub choice: Choice,
    /// The end of the rendered prompt, from its last special token on that is no marker of thinking: whether
    /// thinking is open already.
    pub prompt_tail: String,
    /// Output begins in the answer whatever the prompt says (a grammar from the first token left no room to think).
    pub no_thinking: bool,
    /// Reasoning stays in the answer's text, markers and all.
    pub merged: bool,
    /// Makes the call ids unlike those of other choices.
    pub seed: u64,
}

/// Reads the output of one choice and says [`Events`]; they do not depend on where the pieces were cut.
#[derive(Debug)]
pub struct Parser {
    input: Input,
    thinking: Option<Thinking>,
    state: State,
    reasoning: Reasoning,
    /// Reasoning is said as text.
    merged: bool,
    openers: Vec<&'static str>,
    /// Openers at which thinking may end.
    markers: Vec<&'static str>,
    /// Only white space has come since the last line feed of the thinking, or since its start.
    line: bool,
    /// A choice of this tool may be answered by its bare arguments.
    named: Option<String>,
    reader: Box<dyn Reader>,
    calls: Calls,
    prose: Prose,
}

#[derive(Debug)]
enum State {
    /// Nothing but white space has come: thinking may open; `open`: it is open, and may be opened once more.
    Start {
        open: bool,
    },
    Thinking,
    /// Thinking has closed: line feeds behind it are dropped.
    Closed,
    Answer,
    /// Bare arguments of a named tool.
    Bare(Value),
}

impl Parser {
    /// A parser of tool format `calls` and reasoning format `thinking`; either may be none.
    #[must_use]
    pub fn new(calls: Option<&Format>, thinking: Option<&Format>, options: Options) -> Self {
        let framed = [calls, thinking].into_iter().flatten().find(|format| format.framed);
        let wanted = !options.tools.list.is_empty() && options.choice != Choice::None;
        let thoughts = thinking.and_then(|format| format.thinking).filter(|_| framed.is_none());
        let reading = Reading {
            calls: wanted && calls.is_some(),
            hidden: thoughts.map_or(&[], |thinking| thinking.answer),
            merged: options.merged,
            tail: if options.no_thinking { String::new() } else { options.prompt_tail.clone() },
        };
        let dialect = framed.or(calls.filter(|_| wanted)).and_then(|format| format.calls);
        let reader = match dialect {
            Some(dialect) => dialect.reader(&reading),
            None => Box::new(Plain::new(&reading)),
        };
        let (openers, markers) = match dialect {
            Some(dialect) if reading.calls => {
                (dialect.openers().to_vec(), dialect.markers().to_vec())
            }
            _ => (Vec::new(), Vec::new()),
        };
        let open = thoughts.is_some_and(|thinking| thinking.is_open_after(&options.prompt_tail));
        let named = match options.choice {
            Choice::Named(name) if reading.calls => Some(name),
            _ => None,
        };
        Self {
            input: Input::default(),
            merged: options.merged || thoughts.is_some_and(|thinking| thinking.kept),
            thinking: thoughts,
            state: State::Start { open: open && !options.no_thinking },
            reasoning: Reasoning::default(),
            openers,
            markers,
            line: true,
            named,
            reader,
            calls: Calls::new(
                options.tools,
                calls.map_or(Ids::Plain, |format| format.ids),
                options.seed,
            ),
            prose: Prose::default(),
        }
    }

    /// Reads a piece of output; each byte is looked at once.
    pub fn push(&mut self, piece: Piece<'_>, out: &mut Events) {
        self.reopen(piece, out);
        self.input.push(piece);
        self.read(out);
    }

    /// The output has ended: says what was held back. Prose is never lost; a call cut short is ended as it stands.
    pub fn finish(&mut self, out: &mut Events) {
        self.input.end();
        self.read(out);
        self.reasoning.finish(out);
        self.calls.end(out);
        self.prose.finish(out);
    }

    /// How many calls have begun.
    #[must_use]
    pub fn tool_calls(&self) -> u32 {
        self.calls.count()
    }

    /// True while what comes next is reasoning.
    #[must_use]
    pub fn is_reasoning(&self) -> bool {
        match self.state {
            State::Start { open } => open || self.reader.is_reasoning(),
            State::Thinking => true,
            _ => self.reader.is_reasoning(),
        }
    }

    /// A special token that opens thinking does so anywhere between calls.
    fn reopen(&mut self, piece: Piece<'_>, out: &mut Events) {
        let Some(thinking) = self.thinking.filter(|_| piece.special) else { return };
        let answering = matches!(self.state, State::Answer | State::Closed);
        if answering && thinking.open.contains(&piece.text) && self.reader.is_idle() {
            let rest = self.input.rest().to_owned();
            self.input.advance(rest.len());
            self.prose.say(&rest, out);
            self.state = State::Start { open: false };
        }
    }

    fn read(&mut self, out: &mut Events) {
        loop {
            let goes_on = match self.state {
                State::Start { open } => self.start(open, out),
                State::Thinking => self.think(out),
                State::Closed => self.skip_line_feeds(),
                State::Bare(_) => self.bare(out),
                State::Answer => {
                    let Self { calls, prose, .. } = self;
                    self.reader.read(&mut self.input, &mut Said { calls, prose, out });
                    false
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Looks for an opener of thinking behind white space. What it answers says whether more can be read.
    fn start(&mut self, open: bool, out: &mut Events) -> bool {
        if self.thinking.is_none() && self.named.is_none() {
            self.state = State::Answer;
            return true;
        }
        let rest = self.input.rest();
        let blank = rest.len() - rest.trim_start().len();
        let tail = &rest[blank..];
        let ended = self.input.has_ended();
        let openers = self.thinking.map_or(&[][..], |thinking| thinking.open);
        // Thoughts that are none may be closed without having been opened.
        let closers = self.thinking.filter(|_| !open).map_or(&[][..], |thinking| thinking.close);
        let may_come = |marker: &&str| tail.len() < marker.len() && marker.starts_with(tail);
        let markers = || openers.iter().chain(closers).copied();
        if !ended && (tail.is_empty() || markers().any(|marker| may_come(&marker))) {
            return false;
        }
        if let Some(closer) = closers.iter().find(|closer| tail.starts_with(**closer)) {
            self.input.advance(blank + closer.len());
            self.say_marker(closer, out);
            self.state = State::Closed;
            return true;
        }
        if let Some(opener) =
            openers.iter().filter(|opener| tail.starts_with(**opener)).max_by_key(|o| o.len())
        {
            self.input.advance(blank + opener.len());
            self.say_marker(opener, out);
            self.state = State::Thinking;
            return true;
        }
        if open {
            if let (true, Some(thinking)) =
                (self.thinking.is_some_and(|thinking| thinking.kept), self.thinking)
            {
                self.say_marker(thinking.open.first().copied().unwrap_or_default(), out);
            }
            self.state = State::Thinking;
            return true;
        }
        self.answer(tail.starts_with('{'));
        true
    }

    /// The answer begins; `object`: with a brace.
    fn answer(&mut self, object: bool) {
        let bare = object
            && self.named.is_some()
            && !self.reader.is_reasoning()
            && !self.openers.iter().any(|opener| opener.starts_with('{'));
        self.state = if bare { State::Bare(Value::default()) } else { State::Answer };
    }

    fn think(&mut self, out: &mut Events) -> bool {
        let Some(thinking) = self.thinking else { return false };
        let mut markers = thinking.close.to_vec();
        if thinking.ended_by_call != EndedByCall::Never {
            markers.extend(&self.markers);
        }
        match self.input.next(&markers) {
            Found::More => return false,
            Found::Text { len, special } => {
                let text = self.input.take(len);
                if !special {
                    let (last, fed) = match text.rsplit_once('\n') {
                        Some((_, last)) => (last, true),
                        None => (text, self.line),
                    };
                    self.line = fed && last.trim_start().is_empty();
                    self.reasoning.say_or(self.merged, text, out);
                }
            }
            // The model quotes an opener.
            Found::Marker(index)
                if index >= thinking.close.len()
                    && thinking.ended_by_call == EndedByCall::Line
                    && !self.line
                    && !self.input.was_special(markers[index].len()) =>
            {
                self.reasoning.say_or(self.merged, markers[index], out);
            }
            Found::Marker(index) => {
                self.reasoning.close();
                self.line = true;
                self.state = State::Closed;
                let marker = markers[index];
                if index < thinking.close.len() {
                    self.say_marker(marker, out);
                } else {
                    // The opener belongs to the reader of calls.
                    self.input.back(marker.len());
                }
            }
        }
        true
    }

    fn skip_line_feeds(&mut self) -> bool {
        let rest = self.input.rest();
        let text = rest.trim_start_matches('\n');
        let feeds = rest.len() - text.len();
        let (empty, object) = (text.trim_start().is_empty(), text.trim_start().starts_with('{'));
        if !self.merged {
            self.input.advance(feeds);
        }
        // A named tool's bare arguments may stand behind white space.
        if empty && !self.input.has_ended() {
            return false;
        }
        self.answer(object);
        true
    }

    fn bare(&mut self, out: &mut Events) -> bool {
        let State::Bare(value) = &mut self.state else { return false };
        let run = self.input.rest();
        let mut said = Said { calls: &mut self.calls, prose: &mut self.prose, out };
        let blank = if said.calls.is_open() { 0 } else { run.len() - run.trim_start().len() };
        if let (false, Some(name)) = (said.calls.is_open(), &self.named) {
            said.begin(name, None);
        }
        let bytes = run.as_bytes();
        let mut end = blank;
        let mut ended = false;
        while end < bytes.len() && !ended {
            let place = value.step(bytes[end]);
            ended = place != Place::Inside;
            end += usize::from(matches!(place, Place::Inside | Place::Last));
        }
        said.arguments(&run[blank..end]);
        self.input.advance(end);
        if ended || self.input.has_ended() {
            said.end();
            self.state = State::Answer;
        }
        ended
    }

    fn say_marker(&mut self, marker: &str, out: &mut Events) {
        if self.merged {
            out.text(marker);
        }
    }
}
