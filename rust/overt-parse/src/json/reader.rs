//! Reads an answer whose calls are JSON.

use super::Shape;
use super::batch::{Batch, Outcome, arguments};
use super::head::{self, Head};
use super::table::{Hit, Mark, Table};
use crate::core::input::Input;
use crate::core::value::Value;
use crate::format::{Reader, Reading, Said};

/// Behind a call: closers read once more are dropped, and further calls may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// Something else has come, or no call yet.
    Prose,
    /// Nothing but white space.
    Call,
    /// Nothing but white space and closers.
    Close,
}

#[derive(Debug)]
enum State {
    /// Text, or what stands between calls.
    Between,
    /// An opener was read, at which the input's mark stands.
    Open,
    /// A comma, a semicolon or a bracket too many was read behind a call; the mark stands at it.
    Separated,
    Head(Head),
    Batch(Batch),
    /// Arguments behind a head.
    Arguments(Value),
}

#[derive(Debug)]
pub(super) struct Calls {
    shape: Shape,
    state: State,
    since: Since,
    /// How many closers are to come for the openers that were read.
    pending: usize,
    /// What `pending` was where the mark stands.
    before: usize,
    /// Only a declared tool's name makes a call of what is being read, or was read last.
    declared: bool,
    /// Calls may follow the last one without an opener.
    follows: bool,
    /// What is looked for in text: without closers, and with them.
    outside: Table,
    inside: Table,
    /// Openers and closers, and what may stand in a head.
    markers: Table,
    heads: [Table; 2],
}

impl Calls {
    pub(super) fn new(shape: Shape, options: &Reading) -> Self {
        let header = shape.header.unwrap_or_default();
        let fence: &[&'static str] = if shape.fenced { &["```"] } else { &[] };
        let (open, close) = ((Mark::Open, shape.open), (Mark::Close, shape.close));
        let outside = [open, (Mark::Bare, shape.bare), (Mark::Hidden, options.hidden)];
        let head = [open, close, (Mark::Split, header.split), (Mark::Id, header.id)];
        let lead = [(Mark::Lead, header.lead)];
        let brace: [(Mark, &[&'static str]); 1] = [(Mark::Brace, &["{"])];
        Self {
            shape,
            state: State::Between,
            since: Since::Prose,
            pending: 0,
            before: 0,
            declared: false,
            follows: false,
            outside: Table::new(&outside),
            inside: Table::new(&[&outside[..], &[close, (Mark::Fence, fence)]].concat()),
            markers: Table::new(&[&head[..], &lead].concat()),
            heads: [
                Table::new(&[&head[..], &lead, &brace].concat()),
                Table::new(&[&head[..], &brace].concat()),
            ],
        }
    }

    /// Reads on; false when nothing more can be said now.
    fn step(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match &mut self.state {
            State::Between => self.between(input, said),
            State::Open => self.open(input, said),
            State::Separated => self.separated(input, said),
            State::Head(head) => match head.read(input, &self.heads) {
                head::Outcome::More => false,
                head::Outcome::Broken => self.give_up(input, said),
                head::Outcome::Arguments => self.begin(false, input, said),
                head::Outcome::Closed => self.begin(true, input, said),
            },
            State::Batch(batch) => match batch.read(input, said, self.markers.texts()) {
                Outcome::More => false,
                Outcome::Ended => self.called(),
                Outcome::Broken => self.give_up(input, said),
            },
            State::Arguments(value) => match arguments(value, input, said, self.markers.texts()) {
                Outcome::More => false,
                Outcome::Ended | Outcome::Broken => {
                    said.end();
                    self.called()
                }
            },
        }
    }

    fn between(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let closes = self.pending > 0 || self.since != Since::Prose;
        let table = if closes { &self.inside } else { &self.outside };
        match table.next(input) {
            Hit::More => return false,
            Hit::Text { len, special } => self.text(len, special, input, said),
            Hit::Marker(Mark::Hidden, _) => said.prose.wrapper(),
            Hit::Marker(Mark::Fence, _) if self.since == Since::Call => {
                self.since = Since::Close;
                said.prose.closed();
            }
            Hit::Marker(Mark::Fence, text) => {
                self.since = Since::Prose;
                said.text(text, false);
            }
            Hit::Marker(Mark::Close, _) => self.close(said),
            Hit::Marker(mark, text) => {
                input.mark(text.len());
                self.opened(mark == Mark::Bare, text, input);
            }
        }
        true
    }

    /// An opener was read, at which the mark stands.
    fn opened(&mut self, bare: bool, text: &str, input: &mut Input) {
        self.before = self.pending;
        self.declared = bare;
        self.state = State::Open;
        if !bare {
            self.pending += 1;
        } else if matches!(text, "{" | "[") {
            input.back(1);
            self.state = State::Batch(Batch::new(self.shape.keys, true));
        }
    }

    fn close(&mut self, said: &mut Said<'_>) {
        self.pending = self.pending.saturating_sub(1);
        self.since = Since::Close;
        said.prose.closed();
    }

    /// Text of this length stands between calls.
    fn text(&mut self, len: usize, special: bool, input: &mut Input, said: &mut Said<'_>) {
        let text = &input.rest()[..len];
        let blank = len - text.trim_start().len();
        if special || self.since == Since::Prose || blank == len {
            return said.text(input.take(len), special);
        }
        said.text(&text[..blank], false);
        let next = text.as_bytes()[blank];
        input.advance(blank);
        let follows = self.since == Since::Call && self.follows;
        match next {
            b',' | b';' | b'}' | b']' if self.since == Since::Call => {
                input.mark(0);
                input.advance(1);
                self.before = self.pending;
                self.state = State::Separated;
            }
            b'{' | b'[' if follows => {
                input.mark(0);
                // Between markers a call may stand behind another; elsewhere it takes more to be one.
                self.declared |= self.shape.close.is_empty();
                self.follow();
            }
            _ => {
                self.since = Since::Prose;
                said.text(input.take(len - blank), false);
            }
        }
    }

    /// A call without an opener stands next, and the mark before it.
    fn follow(&mut self) {
        self.before = self.pending;
        self.state = State::Batch(Batch::new(self.shape.keys, self.declared));
    }

    fn open(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match self.markers.next(input) {
            Hit::More => return false,
            Hit::Text { len, special: true } => input.advance(len),
            Hit::Text { len, special: false } => {
                let text = &input.rest()[..len];
                let blank = len - text.trim_start().len();
                let next = text.as_bytes().get(blank).copied();
                input.advance(blank);
                match next {
                    None => {}
                    Some(b'{' | b'[') => {
                        self.state = State::Batch(Batch::new(self.shape.keys, self.declared));
                    }
                    Some(_) if self.shape.header.is_some() => {
                        self.state = State::Head(Head::default());
                    }
                    Some(_) => return self.give_up(input, said),
                }
            }
            Hit::Marker(Mark::Open, _) => self.pending += 1,
            Hit::Marker(mark, text) => {
                input.back(text.len());
                if mark == Mark::Close {
                    return self.give_up(input, said);
                }
                self.state = State::Head(Head::default());
            }
        }
        true
    }

    fn separated(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match self.markers.next(input) {
            Hit::More => return false,
            Hit::Text { len, special: true } => input.advance(len),
            Hit::Text { len, special: false } => {
                let text = &input.rest()[..len];
                let rest = text.trim_start_matches([' ', '\t', '\r', '\n', ',', ';', '}', ']']);
                let next = rest.as_bytes().first().copied();
                input.advance(len - rest.len());
                match next {
                    None => {}
                    Some(b'{' | b'[') if self.follows => self.follow(),
                    Some(_) => return self.give_up(input, said),
                }
            }
            Hit::Marker(Mark::Open, text) => {
                input.mark(text.len());
                self.opened(false, text, input);
            }
            Hit::Marker(Mark::Close, _) => {
                input.unmark();
                self.state = State::Between;
                self.close(said);
            }
            Hit::Marker(_, text) => {
                input.back(text.len());
                return self.give_up(input, said);
            }
        }
        true
    }

    /// A call's head has been read; `closed`: a closer stands next, not the arguments.
    fn begin(&mut self, closed: bool, input: &mut Input, said: &mut Said<'_>) -> bool {
        let (State::Head(head), Some(header)) = (&self.state, &self.shape.header) else {
            return self.give_up(input, said);
        };
        let Some((name, id)) = head.named(header, &said.calls.tools, closed) else {
            return self.give_up(input, said);
        };
        input.unmark();
        said.begin(&name, id.as_deref());
        if closed {
            said.end();
            return self.called();
        }
        self.state = State::Arguments(Value::default());
        true
    }

    /// A call has ended.
    fn called(&mut self) -> bool {
        self.follows = matches!(self.state, State::Batch(_));
        self.since = Since::Call;
        self.state = State::Between;
        true
    }

    /// What was read since the mark is no call. Where none is set a call had begun, and has been ended as it stands.
    fn give_up(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let state = std::mem::replace(&mut self.state, State::Between);
        match state {
            State::Batch(batch) if batch.has_called() => {
                self.since = Since::Call;
                self.follows = true;
            }
            _ => {
                self.since = Since::Prose;
                self.pending = self.before;
            }
        }
        said.give_up(input);
        true
    }
}

impl Reader for Calls {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            while self.step(input, said) {}
            if !input.has_ended() || self.is_idle() {
                return;
            }
            // Cut short.
            match self.state {
                State::Arguments(_) => {
                    said.end();
                    self.called();
                }
                _ => {
                    self.give_up(input, said);
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, State::Between)
    }
}
