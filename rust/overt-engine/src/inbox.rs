//! Messages from the API process, read by a thread of their own that never writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overt_grammar::{CompileError, Matcher};
use overt_link::{Received, Receiver, Submit, ToEngine};
use overt_text::StopMatcher;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

use crate::grammars::{Grammars, Workers};
use crate::request::stop_matcher;

/// A message, and what takes long to make of it.
pub(crate) enum Mail {
    /// A new request.
    New { submit: Box<Submit>, prepared: Box<Prepared> },
    /// The client left.
    Abort(u64),
    /// The reader lags, or goes on.
    Hold { request: u64, on: bool },
    /// Nothing more is wanted of a choice.
    End { request: u64, choice: u32 },
}

/// What was made of a request before a step looks at it.
pub(crate) struct Prepared {
    /// Finds its stops, or why it cannot.
    pub(crate) stop: Result<StopMatcher, String>,
    /// Its grammar at the start of an output.
    pub(crate) grammar: Option<Result<Matcher, CompileError>>,
}

/// What has arrived and was not looked at yet.
#[derive(Clone, Default)]
pub struct Inbox {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Mail>,
    /// Requests whose grammars are being compiled, with what came for them since.
    compiling: FxHashMap<u64, Vec<Mail>>,
    closed: bool,
}

impl Inbox {
    /// Starts the reading thread, and those that compile grammars. They end with the link.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn spawn(
        mut receiver: Receiver<ToEngine>,
        grammars: Arc<Grammars>,
    ) -> std::io::Result<Self> {
        let inbox = Self::default();
        let shared = Arc::clone(&inbox.shared);
        let workers = Workers::spawn(&grammars)?;
        std::thread::Builder::new().name("overt-link".into()).spawn(move || {
            loop {
                match receiver.recv() {
                    Ok(Received::Message(message)) => shared.receive(message, &workers),
                    Ok(Received::Tick) => {}
                    // A link that carries no messages is as good as closed: the engine ends with it.
                    Ok(Received::Closed) | Err(_) => {
                        shared.state.lock().closed = true;
                        shared.arrived.notify_one();
                        return;
                    }
                }
            }
        })?;
        Ok(inbox)
    }

    /// Sleeps until there is a message or the time is over; false when the API process is gone.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.shared.state.lock();
        while state.messages.is_empty() && !state.closed {
            if self.shared.arrived.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        !state.closed
    }

    pub(crate) fn take(&self, into: &mut VecDeque<Mail>) {
        std::mem::swap(&mut self.shared.state.lock().messages, into);
    }
}

impl Shared {
    /// What takes long is made here and by the workers, where no step waits for it.
    fn receive(self: &Arc<Self>, message: ToEngine, workers: &Workers) {
        match message {
            ToEngine::Submit(submit) => match submit.params.grammar.clone() {
                None => self
                    .deliver(Mail::New { prepared: Box::new(Prepared::of(&submit, None)), submit }),
                Some(source) => {
                    self.state.lock().compiling.insert(submit.request, Vec::new());
                    let shared = Arc::clone(self);
                    workers.run(move |grammars| {
                        let grammar = grammars.compile(&source);
                        shared.compiled(submit, grammar);
                    });
                }
            },
            ToEngine::Abort { request } => self.follow(request, Mail::Abort(request)),
            ToEngine::Hold { request, on } => self.follow(request, Mail::Hold { request, on }),
            ToEngine::End { request, choice } => {
                self.follow(request, Mail::End { request, choice })
            }
        }
    }

    fn deliver(&self, mail: Mail) {
        self.state.lock().messages.push_back(mail);
        self.arrived.notify_one();
    }

    /// News of a request whose grammar is being compiled waits for the request.
    fn follow(&self, request: u64, mail: Mail) {
        let mut state = self.state.lock();
        match state.compiling.get_mut(&request) {
            Some(waiting) => waiting.push(mail),
            None => {
                state.messages.push_back(mail);
                drop(state);
                self.arrived.notify_one();
            }
        }
    }

    fn compiled(&self, submit: Box<Submit>, grammar: Result<Matcher, CompileError>) {
        let prepared = Box::new(Prepared::of(&submit, Some(grammar)));
        let mut state = self.state.lock();
        let waiting = state.compiling.remove(&submit.request).unwrap_or_default();
        // The client may have left meanwhile: then there is nothing to admit.
        if !waiting.iter().any(|mail| matches!(mail, Mail::Abort(_))) {
            state.messages.push_back(Mail::New { submit, prepared });
            state.messages.extend(waiting);
            drop(state);
            self.arrived.notify_one();
        }
    }
}

impl Prepared {
    fn of(submit: &Submit, grammar: Option<Result<Matcher, CompileError>>) -> Self {
        Self { stop: stop_matcher(&submit.params), grammar }
    }
}
