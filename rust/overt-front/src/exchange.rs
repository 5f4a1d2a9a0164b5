//! One HTTP answer: its choices, its frames and the bytes that wait for the connection.

use std::sync::Arc;
use std::time::Instant;

use overt_link::{Row, Started};
use overt_wire::{Head, Options, Protocol, Usage, Writer, chunk, error_body, writer};

use crate::choice::{Choice, Scratch};
use crate::error::RequestError;
use crate::generation::Generation;
use crate::metrics::Stats;

pub(crate) struct Exchange {
    pub(crate) generation: Arc<Generation>,
    protocol: Protocol,
    head: Head,
    writer: Box<dyn Writer>,
    choices: Vec<Choice>,
    live: usize,
    usage: Usage,
    /// The tokens a choice may make, where the request asked for more than fits.
    clamped: Option<u32>,
    /// Bytes nobody took yet.
    outbox: Vec<u8>,
    chunked: bool,
    arrived: Instant,
    /// The client has the status line: later errors are frames.
    head_sent: bool,
    /// The status, when it is not 200; set before the head only.
    status: u16,
    pub(crate) ended: bool,
    /// Listed among the ready.
    pub(crate) listed: bool,
    /// The connection takes no bytes now. Never so once ended: what is said last leaves at once, and the request
    /// with it.
    blocked: bool,
    /// When the engine was asked.
    pub(crate) sent: Option<Instant>,
    /// Since when the engine is told to hold.
    pub(crate) lagging: Option<Instant>,
}

/// What leaves an exchange in one write.
pub(crate) struct Taken {
    pub(crate) ended: bool,
    /// The status with the first bytes, 0 with later ones.
    pub(crate) status: u16,
    /// `max_tokens` where it was adapted, with the first bytes.
    pub(crate) max_tokens: Option<u32>,
}

impl Exchange {
    pub(crate) fn new(
        generation: Arc<Generation>,
        protocol: Protocol,
        head: Head,
        chunked: bool,
    ) -> Self {
        Self {
            chunked: chunked && generation.stream,
            // Until the prompts are counted there are no choices, only errors to write.
            writer: make_writer(&generation, protocol, head.clone(), 0),
            generation,
            protocol,
            head,
            choices: Vec::new(),
            live: 0,
            usage: Usage::default(),
            clamped: None,
            outbox: Vec::new(),
            arrived: Instant::now(),
            head_sent: false,
            status: 200,
            ended: false,
            listed: false,
            blocked: false,
            sent: None,
            lagging: None,
        }
    }

    /// The request is on its way to the engine.
    pub(crate) fn begin(&mut self, choices: Vec<Choice>, prompt_tokens: u64, clamped: Option<u32>) {
        self.clamped = clamped;
        self.sent = Some(Instant::now());
        self.live = choices.len();
        let count = u32::try_from(choices.len()).unwrap_or(u32::MAX);
        self.writer = make_writer(&self.generation, self.protocol, self.head.clone(), count);
        self.choices = choices;
        self.usage.prompt_tokens = prompt_tokens;
    }

    pub(crate) fn prompt_tokens(&self) -> u64 {
        self.usage.prompt_tokens
    }

    pub(crate) fn started(&mut self, started: &Started) {
        let first_of_prompt = started.choice.is_multiple_of(self.generation.n.max(1));
        // A prompt counts once, whatever n is.
        if first_of_prompt {
            self.usage.cached_tokens += u64::from(started.cached_tokens);
        }
    }

    /// One token: detokenise, parse, frame.
    pub(crate) fn token(
        &mut self,
        row: &Row,
        now: Instant,
        scratch: &mut Scratch,
        stats: &mut Stats,
    ) {
        let Some(choice) = self.choices.get_mut(row.choice as usize) else { return };
        if choice.done || self.ended {
            return;
        }
        self.usage.completion_tokens += 1;
        stats.generation_tokens += 1;
        match choice.last_token.replace(now) {
            Some(last) => stats.inter_token.add(now - last),
            None if self.usage.completion_tokens == 1 => {
                stats.ttft.add(now.saturating_duration_since(self.arrived));
            }
            None => {}
        }
        if !choice.begun {
            choice.begun = true;
            self.writer.begin(row.choice, &mut self.outbox);
        }
        choice.push(row, self.generation.skip_special_tokens, scratch);
        if !scratch.events.is_empty() {
            self.writer.events(row.choice, &scratch.events, &mut self.outbox);
        }
        if let Some(finish) = row.finish {
            let (finish, reason) = choice.outcome(finish, &self.generation.stop);
            self.writer.finish(row.choice, finish, reason.as_ref(), &mut self.outbox);
            self.live -= 1;
            if self.live == 0 {
                self.writer.end(&self.usage, &mut self.outbox);
                self.ended = true;
            }
        }
    }

    /// Ends the answer with an error: a status before the head, a frame after it.
    pub(crate) fn fail(&mut self, error: &RequestError) {
        if self.ended {
            return;
        }
        self.ended = true;
        if self.generation.stream && (self.head_sent || !self.outbox.is_empty()) {
            self.writer.error(&error.body, &mut self.outbox);
        } else {
            self.status = error.status;
            self.chunked = false;
            self.outbox = error_body(&error.body);
        }
    }

    /// The head goes out before the first token. An answer that has ended meanwhile keeps its status.
    /// Returns `max_tokens` where it was adapted, for the head to say so.
    pub(crate) fn head_goes(&mut self) -> Option<u32> {
        self.head_sent |= !self.ended;
        self.clamped.take()
    }

    pub(crate) fn has_bytes(&self) -> bool {
        !self.outbox.is_empty() || self.ended
    }

    /// The connection takes no bytes, or does again.
    pub(crate) fn block(&mut self, on: bool) {
        self.blocked = on;
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked && !self.ended
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.outbox.len()
    }

    /// Moves what waits to `out`.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> Taken {
        if self.chunked && !self.outbox.is_empty() {
            chunk(&self.outbox, out);
        } else {
            out.extend_from_slice(&self.outbox);
        }
        self.outbox.clear();
        let status = if self.head_sent { 0 } else { self.status };
        self.head_sent = true;
        Taken { ended: self.ended, status, max_tokens: self.clamped.take() }
    }
}

fn make_writer(
    generation: &Generation,
    protocol: Protocol,
    head: Head,
    choices: u32,
) -> Box<dyn Writer> {
    let options = Options { include_usage: generation.include_usage };
    writer(protocol, generation.stream, head, options, choices)
}
