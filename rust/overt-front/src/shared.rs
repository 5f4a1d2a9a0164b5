//! What the routes' side, the pool and the link's thread share.

use std::hash::RandomState;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use overt_link::{Sender, ToEngine};
use overt_wire::{Head, Protocol};
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

use crate::choice::Scratch;
use crate::error::RequestError;
use crate::exchange::Exchange;
use crate::front::Config;
use crate::generation::Generation;
use crate::metrics::Stats;
use crate::model::ServedModel;
use crate::wake::Wake;

/// How often the link's thread looks at the clock.
pub(crate) const TICK: std::time::Duration = std::time::Duration::from_millis(250);

pub(crate) struct Job {
    pub(crate) handle: u64,
    pub(crate) protocol: Protocol,
    pub(crate) body: Vec<u8>,
    pub(crate) generation: Arc<Generation>,
}

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) link: Sender<ToEngine>,
    /// What a thread of its own sends over `link`: nobody who holds the state ever waits for the socket.
    pub(crate) mail: crossbeam_channel::Sender<ToEngine>,
    pub(crate) wake: Wake,
    pub(crate) hasher: RandomState,
    pub(crate) model: OnceLock<ServedModel>,
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) exchanges: FxHashMap<u64, Exchange>,
    pub(crate) ready: Vec<u64>,
    pub(crate) scratch: Scratch,
    pub(crate) stats: Stats,
    pub(crate) hello: Option<Vec<u8>>,
    /// Why there is no engine (any more).
    pub(crate) dead: Option<String>,
    pub(crate) last_progress: Option<Instant>,
    pub(crate) last_look: Option<Instant>,
}

impl State {
    pub(crate) fn list(&mut self, handle: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&handle)
            && !exchange.listed
            && !exchange.is_blocked()
        {
            exchange.listed = true;
            self.ready.push(handle);
        }
    }

    pub(crate) fn fail(&mut self, handle: u64, error: &RequestError) {
        if let Some(exchange) = self.exchanges.get_mut(&handle) {
            exchange.fail(error);
            self.list(handle);
        }
    }
}

impl Shared {
    pub(crate) fn head(&self, protocol: Protocol, generation: &Generation) -> Head {
        let prefix = match protocol {
            Protocol::Chat => "chatcmpl-",
            Protocol::Completions => "cmpl-",
        };
        Head {
            id: generation
                .id
                .clone()
                .unwrap_or_else(|| format!("{prefix}{:032x}", fastrand::u128(..))),
            created: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            model: generation.model.clone(),
            fingerprint: generation
                .fingerprint
                .clone()
                .or_else(|| self.model.get().map(|model| model.fingerprint.clone()))
                .unwrap_or_default(),
            extra: String::new(),
        }
    }

    /// Puts a message into the mail, in the order of the calls. A link that is gone is noticed by its reader, which
    /// ends everything.
    pub(crate) fn tell(&self, message: ToEngine) {
        let _ = self.mail.send(message);
    }

    pub(crate) fn die(&self, reason: &str) {
        let mut state = self.state.lock();
        if state.dead.is_none() {
            state.dead = Some(reason.to_owned());
        }
        state.stats.requests_running = 0;
        state.stats.requests_waiting = 0;
        state.stats.kv_blocks_used = 0;
        let live: Vec<u64> = state.exchanges.keys().copied().collect();
        let error = RequestError::unavailable(reason);
        for handle in live {
            state.fail(handle, &error);
        }
        self.changed.notify_all();
        self.wake.set();
    }
}
