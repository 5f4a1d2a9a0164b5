//! One choice of an answer: tokens in, events out.

use std::time::Instant;

use overt_link::{Finish, Row};
use overt_parse::{Events, Parser, Piece};
use overt_text::{Detokenizer, Pushed, StopMatcher};
use overt_wire::{Finish as WireFinish, StopReason};

/// Reused by every token, so that none allocates.
#[derive(Default)]
pub(crate) struct Scratch {
    decoded: String,
    special: String,
    shown: String,
    pub(crate) events: Events,
}

pub(crate) struct Choice {
    detokenizer: Detokenizer,
    stop: StopMatcher,
    parser: Box<dyn Parser>,
    /// The parser acts on special tokens that the text does not show.
    reads_specials: bool,
    pub(crate) begun: bool,
    pub(crate) done: bool,
    pub(crate) last_token: Option<Instant>,
}

impl Choice {
    pub(crate) fn new(
        detokenizer: Detokenizer,
        stop: StopMatcher,
        parser: Box<dyn Parser>,
        reads_specials: bool,
    ) -> Self {
        Self {
            detokenizer,
            stop,
            parser,
            reads_specials,
            begun: false,
            done: false,
            last_token: None,
        }
    }

    pub(crate) fn reads_specials(&self) -> bool {
        self.reads_specials
    }

    /// Reads one token; what it says is in `scratch.events`.
    pub(crate) fn push(&mut self, row: &Row, skip_special: bool, scratch: &mut Scratch) {
        scratch.events.clear();
        // Tokens that end the turn are no text.
        if !matches!(row.finish, Some(Finish::EndOfTurn | Finish::StopToken(_))) {
            scratch.decoded.clear();
            scratch.special.clear();
            match self.detokenizer.push(row.token, &mut scratch.decoded) {
                Pushed::Text => {}
                Pushed::Special(spelling) => scratch.special.push_str(spelling),
            }
            self.text(scratch);
            if !scratch.special.is_empty() {
                self.special(skip_special, scratch);
            }
        }
        if row.finish.is_some() {
            self.end(scratch);
        }
    }

    fn text(&mut self, scratch: &mut Scratch) {
        scratch.shown.clear();
        self.stop.push(&scratch.decoded, &mut scratch.shown);
        self.parser.push(Piece { text: &scratch.shown, special: false }, &mut scratch.events);
    }

    fn special(&mut self, skip: bool, scratch: &mut Scratch) {
        if !skip {
            std::mem::swap(&mut scratch.decoded, &mut scratch.special);
            return self.text(scratch);
        }
        if self.reads_specials {
            scratch.shown.clear();
            self.stop.finish(&mut scratch.shown);
            self.parser.push(Piece { text: &scratch.shown, special: false }, &mut scratch.events);
        }
        self.parser.push(Piece { text: &scratch.special, special: true }, &mut scratch.events);
    }

    fn end(&mut self, scratch: &mut Scratch) {
        self.done = true;
        scratch.decoded.clear();
        self.detokenizer.finish(&mut scratch.decoded);
        self.text(scratch);
        scratch.shown.clear();
        self.stop.finish(&mut scratch.shown);
        self.parser.push(Piece { text: &scratch.shown, special: false }, &mut scratch.events);
        self.parser.finish(&mut scratch.events);
    }

    /// What the client is told of the end.
    pub(crate) fn outcome(
        &self,
        finish: Finish,
        stops: &[String],
    ) -> (WireFinish, Option<StopReason>) {
        let stop =
            if self.parser.tool_calls() > 0 { WireFinish::ToolCalls } else { WireFinish::Stop };
        match finish {
            Finish::Length => (WireFinish::Length, None),
            Finish::EndOfTurn => (stop, None),
            Finish::StopToken(id) => (stop, Some(StopReason::Token(id))),
            Finish::StopText(index) => {
                (stop, stops.get(index as usize).map(|text| StopReason::Text(text.clone())))
            }
        }
    }
}
