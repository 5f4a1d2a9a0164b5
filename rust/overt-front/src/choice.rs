//! One choice of an answer: tokens in, events out.

use std::time::Instant;

use overt_link::{Finish, Row};
use overt_parse::{Events, Parser, Piece};
use overt_text::{Detokenizer, Pushed, StopMatcher};
use overt_wire::{Finish as WireFinish, StopReason, TokenLogprobs};

use crate::generation::Generation;
use crate::shaping::Shaping;
use crate::telling::Telling;

/// Reused by every token, so that none allocates.
#[derive(Default)]
pub(crate) struct Scratch {
    decoded: String,
    special: String,
    shown: String,
    pub(crate) events: Events,
    spare: Events,
    /// Log probabilities of the tokens whose text is in `events`.
    pub(crate) told: Vec<TokenLogprobs>,
}

/// What reads a choice's text.
pub(crate) struct Reader {
    pub(crate) parser: Parser,
    /// The parser acts on special tokens that the text does not show.
    pub(crate) reads_specials: bool,
    /// Its reasoning is told apart, and counted.
    pub(crate) tells_reasoning: bool,
    /// The answer is a call of one named tool.
    pub(crate) named: bool,
    /// What is changed of the events.
    pub(crate) shaping: Option<Box<Shaping>>,
}

pub(crate) struct Choice {
    detokenizer: Detokenizer,
    stop: StopMatcher,
    /// Tokens that are no part of a stop.
    min_tokens: u32,
    reader: Reader,
    telling: Option<Telling>,
    /// The token that ends the turn is told of.
    tells_end: bool,
    made: u32,
    /// Of these, of reasoning.
    reasoned: u64,
    /// It is over, though the engine does not know yet.
    pub(crate) over: bool,
    /// Sum of its tokens' log probabilities, where they are known.
    sum: f64,
    pub(crate) begun: bool,
    pub(crate) done: bool,
    pub(crate) last_token: Option<Instant>,
}

impl Choice {
    pub(crate) fn new(
        detokenizer: Detokenizer,
        stop: StopMatcher,
        min_tokens: u32,
        reader: Reader,
        telling: Option<Telling>,
        tells_end: bool,
    ) -> Self {
        Self {
            detokenizer,
            stop,
            min_tokens,
            reader,
            telling,
            tells_end,
            made: 0,
            reasoned: 0,
            over: false,
            sum: 0.0,
            begun: false,
            done: false,
            last_token: None,
        }
    }

    pub(crate) fn reads_specials(&self) -> bool {
        self.reader.reads_specials
    }

    /// Tokens of reasoning so far, where reasoning is told apart.
    pub(crate) fn reasoning_tokens(&self) -> Option<u64> {
        self.reader.tells_reasoning.then_some(self.reasoned)
    }

    /// Mean log probability of its tokens.
    pub(crate) fn likelihood(&self) -> f64 {
        self.sum / f64::from(self.made.max(1))
    }

    /// Reads one token; what it says is in `scratch.events`, and whose text that is in `scratch.told`.
    pub(crate) fn push(&mut self, row: &Row, generation: &Generation, scratch: &mut Scratch) {
        scratch.events.clear();
        scratch.told.clear();
        self.made += 1;
        self.reasoned += u64::from(self.reader.parser.is_reasoning());
        if let Some(logprobs) = &row.logprobs {
            self.sum += f64::from(logprobs.logprob);
        }
        // Tokens that end the turn are no text, unless what ends it is wanted.
        let ends = matches!(row.finish, Some(Finish::EndOfTurn | Finish::StopToken(_)));
        if !ends || (generation.include_stop && !self.detokenizer.hides(row.token)) {
            self.read(row, generation.skip_special_tokens, scratch);
        } else if let (true, Some(telling), Some(logprobs)) =
            (self.tells_end, &mut self.telling, &row.logprobs)
        {
            telling.token(row.token, logprobs);
        }
        if row.finish.is_some() {
            self.end(scratch);
        }
        if let Some(shaping) = &mut self.reader.shaping {
            self.over |=
                shaping.shape(&mut scratch.events, &mut scratch.spare, row.finish.is_some());
            self.done |= self.over;
        }
    }

    fn read(&mut self, row: &Row, skip_special: bool, scratch: &mut Scratch) {
        if let (Some(telling), Some(logprobs)) = (&mut self.telling, &row.logprobs) {
            telling.token(row.token, logprobs);
        }
        scratch.decoded.clear();
        scratch.special.clear();
        match self.detokenizer.push(row.token, &mut scratch.decoded) {
            Pushed::Text => {}
            Pushed::Special(spelling) => scratch.special.push_str(spelling),
        }
        let partial = scratch.decoded.is_empty() && scratch.special.is_empty();
        self.text(scratch);
        if !scratch.special.is_empty() {
            self.special(skip_special, scratch);
        }
        if let Some(telling) = &mut self.telling {
            telling.read(partial);
            // What a parser holds back is told with what it says next.
            if !scratch.events.is_empty() {
                telling.release(&mut scratch.told);
            }
        }
    }

    fn text(&mut self, scratch: &mut Scratch) {
        scratch.shown.clear();
        if self.made <= self.min_tokens {
            scratch.shown.push_str(&scratch.decoded);
        } else {
            self.stop.push(&scratch.decoded, &mut scratch.shown);
        }
        if let Some(telling) = &mut self.telling {
            telling.text(&scratch.decoded, scratch.shown.len());
        }
        self.reader
            .parser
            .push(Piece { text: &scratch.shown, special: false }, &mut scratch.events);
    }

    fn special(&mut self, skip: bool, scratch: &mut Scratch) {
        if !skip {
            std::mem::swap(&mut scratch.decoded, &mut scratch.special);
            return self.text(scratch);
        }
        if self.reader.reads_specials {
            self.let_go(scratch);
        }
        self.reader
            .parser
            .push(Piece { text: &scratch.special, special: true }, &mut scratch.events);
    }

    /// No stop goes on from here: what was held for one is shown.
    fn let_go(&mut self, scratch: &mut Scratch) {
        scratch.shown.clear();
        self.stop.finish(&mut scratch.shown);
        if let Some(telling) = &mut self.telling {
            telling.text("", scratch.shown.len());
        }
        self.reader
            .parser
            .push(Piece { text: &scratch.shown, special: false }, &mut scratch.events);
    }

    fn end(&mut self, scratch: &mut Scratch) {
        self.done = true;
        scratch.decoded.clear();
        self.detokenizer.finish(&mut scratch.decoded);
        self.text(scratch);
        self.let_go(scratch);
        self.reader.parser.finish(&mut scratch.events);
        if let Some(telling) = &mut self.telling {
            telling.finish(&mut scratch.told);
        }
    }

    /// What the client is told of the end.
    pub(crate) fn outcome(
        &self,
        finish: Finish,
        generation: &Generation,
    ) -> (WireFinish, Option<StopReason>) {
        let calls = self.reader.parser.tool_calls() > 0 && !self.reader.named;
        let stop = if calls { WireFinish::ToolCalls } else { WireFinish::Stop };
        match finish {
            Finish::Length => (WireFinish::Length, None),
            Finish::EndOfTurn | Finish::Complete => (stop, None),
            Finish::StopToken(id) => (stop, Some(StopReason::Token(id))),
            Finish::StopText(index) => {
                let mut stops = generation.stop.iter().chain(&generation.stop_regex);
                (stop, stops.nth(index as usize).map(|text| StopReason::Text(text.clone())))
            }
        }
    }
}
