//! `<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen 2.5, Qwen 3 and many more.
//!
//! - A marker may be a special token or literal text, cut anywhere.
//! - A call ends where its JSON object ends: markers within strings are text of the string.
//! - Arguments are the model's own bytes, said as they come once the name is known; `{}` when absent or null.
//! - What does not become a call is text again, marker and all.
//! - White space that stands alone before, between or behind calls is dropped; prose keeps its own.

use crate::call::{Call, Outcome};
use crate::registry::Format;
use crate::value::Place;
use crate::{Events, Parser, Piece};

pub(crate) const FORMAT: Format =
    Format { name: "hermes", aliases: &["qwen25", "qwen"], build, markers: &[OPEN] };

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

fn build(seed: u64) -> Box<dyn Parser> {
    Box::new(Hermes { seed, calls: 0, prose: Prose::default(), call: None })
}

struct Hermes {
    seed: u64,
    calls: u32,
    prose: Prose,
    /// The call being read.
    call: Option<Call>,
}

/// Text outside of calls.
#[derive(Default)]
struct Prose {
    /// What has come of something that may be a marker.
    held: String,
    /// White space since the last call, or since the start, while nothing else has come.
    blank: String,
    /// Something else has come.
    spoken: bool,
    /// A call's object has ended, its closing marker has not come yet.
    in_block: bool,
}

impl Parser for Hermes {
    fn push(&mut self, piece: Piece<'_>, out: &mut Events) {
        let marker = matches!(piece.text, OPEN | CLOSE);
        let quoted = self.call.as_ref().is_some_and(Call::in_string);
        if !piece.special || (marker && quoted) {
            self.text(piece.text, out);
        } else if marker {
            if let Some(call) = self.call.take() {
                self.give_up(call, out);
            }
            self.prose.release_held(out);
            match piece.text {
                OPEN => self.open(""),
                _ => self.prose.leave_block(),
            }
        }
    }

    fn finish(&mut self, out: &mut Events) {
        match self.call.take() {
            Some(call) => self.give_up(call, out),
            None => {
                self.prose.release_held(out);
                if self.calls == 0 {
                    out.text(&self.prose.blank);
                }
                self.prose.blank.clear();
            }
        }
    }

    fn tool_calls(&self) -> u32 {
        self.calls
    }
}

impl Hermes {
    fn text(&mut self, mut text: &str, out: &mut Events) {
        while !text.is_empty() {
            let read = match self.call.take() {
                Some(call) => self.read_call(call, text, out),
                None => match self.prose.read(text, out) {
                    (read, true) => {
                        self.open(OPEN);
                        read
                    }
                    (read, false) => read,
                },
            };
            text = &text[read..];
        }
    }

    /// Begins a call whose marker was `spelt` as text.
    fn open(&mut self, spelt: &str) {
        let mut raw = std::mem::take(&mut self.prose.blank);
        raw.push_str(spelt);
        self.prose.in_block = false;
        self.call = Some(Call::new(raw));
    }

    /// Reads as much of `text` as belongs to the call; says how much.
    fn read_call(&mut self, mut call: Call, text: &str, out: &mut Events) -> usize {
        let mut at = 0;
        while at < text.len() {
            if call.streams() {
                let (read, place) = call.run(&text.as_bytes()[at..]);
                out.tool_args(self.calls - 1, &text[at..at + read]);
                at += read;
                match place {
                    Place::Invalid => {
                        self.give_up(call, out);
                        return at;
                    }
                    Place::Last => call.arguments_ended(),
                    Place::Inside | Place::Behind => {}
                }
                continue;
            }
            let end = at + text[at..].chars().next().map_or(1, char::len_utf8);
            let outcome = call.read(&text[at..end]);
            if !matches!(outcome, Outcome::Broken) {
                at = end;
                if call.ready(matches!(outcome, Outcome::Ended)) {
                    self.begin(&mut call, out);
                }
            }
            match outcome {
                Outcome::Goes => {}
                Outcome::Ended if call.has_begun() => {
                    self.end(&call, out);
                    return at;
                }
                Outcome::Ended | Outcome::Broken => {
                    self.give_up(call, out);
                    return at;
                }
            }
        }
        self.call = Some(call);
        at
    }

    fn begin(&mut self, call: &mut Call, out: &mut Events) {
        out.tool_start(self.calls, &call_id(self.seed, self.calls), call.name());
        out.tool_args(self.calls, &call.begin());
        self.calls += 1;
    }

    /// The call that has begun is over.
    fn end(&mut self, call: &Call, out: &mut Events) {
        let index = self.calls - 1;
        if !call.has_arguments() {
            out.tool_args(index, "{}");
        }
        out.tool_end(index);
        self.prose = Prose { in_block: true, ..Prose::default() };
    }

    /// The call breaks off: one that has begun is ended as it stands, any other was text.
    fn give_up(&mut self, call: Call, out: &mut Events) {
        if call.has_begun() {
            self.end(&call, out);
        } else {
            self.prose.say(call.raw(), out);
        }
    }
}

impl Prose {
    /// Reads text up to an opening marker; says how much was read and whether the marker has come.
    fn read(&mut self, text: &str, out: &mut Events) -> (usize, bool) {
        if self.held.is_empty() {
            let at = text.find('<').unwrap_or(text.len());
            self.say(&text[..at], out);
            if at == text.len() {
                return (at, false);
            }
            self.held.push('<');
            return (at + 1, false);
        }
        let next = text.chars().next().unwrap_or_default();
        self.held.push(next);
        let fits = |marker: &str| marker.starts_with(self.held.as_str());
        if fits(OPEN) || (self.in_block && fits(CLOSE)) {
            let opened = self.held == OPEN;
            if !opened && self.held == CLOSE {
                self.leave_block();
            }
            if opened || self.held == CLOSE {
                self.held.clear();
            }
            return (next.len_utf8(), opened);
        }
        // Only the first character of a marker is `<`, so that what is held cannot hide another's start.
        self.held.pop();
        self.release_held(out);
        (0, false)
    }

    /// The closing marker has come: white space before it belonged to the block.
    fn leave_block(&mut self) {
        if self.in_block {
            self.blank.clear();
            self.in_block = false;
        }
    }

    fn release_held(&mut self, out: &mut Events) {
        let held = std::mem::take(&mut self.held);
        self.say(&held, out);
    }

    fn say(&mut self, text: &str, out: &mut Events) {
        if self.spoken {
            return out.text(text);
        }
        let blank = text.len() - text.trim_start().len();
        self.blank.push_str(&text[..blank]);
        if blank < text.len() {
            out.text(&self.blank);
            out.text(&text[blank..]);
            self.blank.clear();
            self.spoken = true;
        }
    }
}

/// `call_` and 24 hexadecimal digits, unlike for every seed and index.
fn call_id(seed: u64, index: u32) -> String {
    let first = mix(seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let second = mix(first ^ seed.rotate_left(32)) >> 32;
    format!("call_{first:016x}{second:08x}")
}

/// SplitMix64's finaliser: a bijection, so that ids of one parser never repeat.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
