//! The link's thread: a step's tokens become bytes in outboxes, without Python.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use overt_link::{Batch, Received, Receiver, ToEngine, ToFront};

use crate::choice::Scratch;
use crate::error::RequestError;
use crate::model::ServedModel;
use crate::shared::{Shared, TICK};

impl Shared {
    pub(crate) fn read(&self, mut receiver: Receiver<ToFront>) {
        loop {
            match receiver.recv() {
                Ok(Received::Message(ToFront::Batch(batch))) => {
                    self.present(&batch);
                    self.give_up_laggards();
                }
                Ok(Received::Message(ToFront::Hello { meta, tokenizer_json })) => {
                    self.hello(meta, &tokenizer_json);
                }
                Ok(Received::Message(ToFront::CannotStart(reason))) => self.die(&reason),
                Ok(Received::Tick) => self.give_up_laggards(),
                Ok(Received::Closed) => return self.die("The engine process is gone."),
                Err(error) => return self.die(&error.to_string()),
            }
        }
    }

    fn hello(&self, meta: Vec<u8>, tokenizer_json: &[u8]) {
        match ServedModel::new(&meta, tokenizer_json, &self.config.reading) {
            Ok(model) => {
                let _ = self.model.set(model);
                let mut state = self.state.lock();
                state.hello = Some(meta);
                self.changed.notify_all();
            }
            Err(reason) => {
                self.die(&reason);
                self.link.close();
            }
        }
    }

    /// One step's tokens: detokenise, parse, frame, then one wake. A panic in a parser fails the request whose text it
    /// was and no other.
    fn present(&self, batch: &Batch) {
        let now = Instant::now();
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.stats.take_gauges(&batch.gauges);
        state.last_progress = Some(now);
        for request in &batch.admitted {
            if let Some(exchange) = state.exchanges.get(request) {
                state.stats.prompt_tokens += exchange.prompt_tokens();
            }
        }
        for started in &batch.started {
            if let Some(exchange) = state.exchanges.get_mut(&started.request) {
                exchange.started(started);
            }
        }
        for told in &batch.prompt_logprobs {
            if let Some(exchange) = state.exchanges.get_mut(&told.request) {
                exchange.prompt_logprobs(told);
            }
        }
        for row in &batch.rows {
            // Rows come of requests, and those are prepared with the model.
            let Some(model) = self.model.get() else { continue };
            let Some(exchange) = state.exchanges.get_mut(&row.request) else { continue };
            let (scratch, stats) = (&mut state.scratch, &mut state.stats);
            let read = AssertUnwindSafe(|| exchange.token(row, now, model, scratch, stats));
            match catch_unwind(read) {
                Ok(false) => {}
                Ok(true) => {
                    self.tell(ToEngine::End { request: row.request, choice: row.choice });
                }
                Err(_) => {
                    state.scratch = Scratch::default();
                    self.tell(ToEngine::Abort { request: row.request });
                    let error = RequestError::internal("The answer's text could not be read.");
                    state.fail(row.request, &error);
                    continue;
                }
            }
            if exchange.waiting_bytes() > self.config.outbox_bytes
                && exchange.lagging.is_none()
                && exchange.is_blocked()
            {
                exchange.lagging = Some(now);
                self.tell(ToEngine::Hold { request: row.request, on: true });
            }
            if exchange.has_bytes() && !exchange.listed && !exchange.is_blocked() {
                exchange.listed = true;
                state.ready.push(row.request);
            }
        }
        for (request, refused) in &batch.refused {
            state.fail(*request, &refused.into());
        }
        for (request, failure) in &batch.failed {
            state.fail(*request, &failure.into());
        }
        if !state.ready.is_empty() {
            self.wake.set();
        }
    }

    fn give_up_laggards(&self) {
        let limit = Duration::from_micros(self.config.lag_timeout_us);
        let now = Instant::now();
        let mut state = self.state.lock();
        if state.last_look.is_some_and(|last| now - last < TICK) {
            return;
        }
        state.last_look = Some(now);
        let late: Vec<u64> = state
            .exchanges
            .iter()
            .filter(|(_, exchange)| {
                !exchange.ended && exchange.lagging.is_some_and(|since| now - since > limit)
            })
            .map(|(handle, _)| *handle)
            .collect();
        for handle in late {
            self.tell(ToEngine::Abort { request: handle });
            state.stats.requests_aborted += 1;
            let error =
                RequestError::unavailable("The client read too slowly, so the request was ended.");
            state.fail(handle, &error);
            self.wake.set();
        }
    }
}
