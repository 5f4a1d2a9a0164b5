//! Messages from the API process, read by a thread of their own that never writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overt_link::{Received, Receiver, ToEngine};
use overt_text::StopMatcher;
use parking_lot::{Condvar, Mutex};

use crate::request::stop_matcher;

/// A message, and what takes long to make of it.
pub(crate) struct Mail {
    pub(crate) message: ToEngine,
    /// Of a new request: finds its stops, or why it cannot.
    pub(crate) stop: Result<StopMatcher, String>,
}

impl Mail {
    /// Patterns are compiled here, where no step waits for it.
    fn of(message: ToEngine) -> Self {
        let stop = match &message {
            ToEngine::Submit(submit) => stop_matcher(&submit.params),
            _ => Ok(StopMatcher::new::<&str>(&[])),
        };
        Self { message, stop }
    }
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
    closed: bool,
}

impl Inbox {
    /// Starts the reading thread. It ends with the link.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn spawn(mut receiver: Receiver<ToEngine>) -> std::io::Result<Self> {
        let inbox = Self::default();
        let shared = Arc::clone(&inbox.shared);
        std::thread::Builder::new().name("overt-link".into()).spawn(move || {
            loop {
                match receiver.recv() {
                    Ok(Received::Message(message)) => {
                        let mail = Mail::of(message);
                        shared.state.lock().messages.push_back(mail);
                        shared.arrived.notify_one();
                    }
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
