//! The front: requests in from the routes, frames out to the connections, the link between.

use std::collections::hash_map::Entry;
use std::hash::RandomState;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use overt_link::{LinkError, Submit, ToEngine};
use overt_wire::Protocol;
use parking_lot::{Condvar, Mutex};
use serde::Deserialize;

use crate::adapted::Adapted;
use crate::error::RequestError;
use crate::exchange::Exchange;
use crate::generation::Generation;
use crate::metrics::Stats;
use crate::model::{Reading, ServedModel};
use crate::pool;
use crate::prepare::{Limits, Prepared};
use crate::prompt::{self, Making};
use crate::shared::{Job, Shared, TICK};
use crate::show::{Showing, show};
use crate::wake::Wake;

/// What the health probe's prompt is made of: every vocabulary has it.
const PROBE_TOKEN: u32 = 0;

/// The front's settings.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Work is pending and no step finished for this long: not healthy.
    pub watchdog_us: u64,
    /// Bytes that may wait for a lagging client before its decoding pauses.
    pub outbox_bytes: usize,
    /// A client that lags for longer is given up.
    pub lag_timeout_us: u64,
    /// Threads that parse, render and tokenise.
    pub threads: usize,
    /// How text is read.
    #[serde(flatten)]
    pub reading: Reading,
    /// Choices of one request, over all its prompts.
    pub max_choices: usize,
    /// What the log probabilities of one request's prompts may take.
    pub max_prompt_logprobs_bytes: usize,
}

impl Config {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_choices: self.max_choices,
            max_prompt_logprobs_bytes: self.max_prompt_logprobs_bytes,
        }
    }
}

/// One answer's bytes to write now.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The caller's name for the request.
    pub handle: u64,
    /// Nothing follows.
    pub ended: bool,
    /// 200 or an error's status with the first bytes, 0 with later ones.
    pub status: u16,
    /// With the first bytes: fields that were changed for the prompt's sake.
    pub adapted: Vec<Adapted>,
    /// Where the bytes stand in the buffer given to [`Front::take_ready`].
    pub bytes: std::ops::Range<usize>,
}

/// The API side of the server.
pub struct Front {
    shared: Arc<Shared>,
    jobs: crossbeam_channel::Sender<Job>,
}

impl Front {
    /// A front that speaks to the engine over `socket`.
    ///
    /// # Errors
    /// The system has no thread or socket left.
    pub fn new(socket: UnixStream, config: Config) -> Result<Self, LinkError> {
        let (link, receiver) = overt_link::pair(socket)?;
        let threads = config.threads.max(1);
        let (mail, letters) = crossbeam_channel::unbounded::<ToEngine>();
        let shared = Arc::new(Shared {
            config,
            link,
            mail,
            wake: Wake::new()?,
            hasher: RandomState::new(),
            model: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        receiver.set_tick(TICK)?;
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("overt-present".into()).spawn(move || {
            let read = AssertUnwindSafe(|| reader.read(receiver));
            if catch_unwind(read).is_err() {
                reader.die("The server cannot read from its engine any more.");
            }
        })?;
        let sender = Arc::clone(&shared);
        std::thread::Builder::new().name("overt-tell".into()).spawn(move || {
            for letter in letters {
                if sender.link.send(&letter).is_err() {
                    return;
                }
            }
        })?;
        let (jobs, queue) = crossbeam_channel::unbounded::<Job>();
        for index in 0..threads {
            let (shared, queue) = (Arc::clone(&shared), queue.clone());
            std::thread::Builder::new().name(format!("overt-prepare-{index}")).spawn(
                move || {
                    for job in queue {
                        shared.prepare(&job);
                    }
                },
            )?;
        }
        Ok(Self { shared, jobs })
    }

    /// Waits for the engine's hello (its JSON part); none when the time is over.
    ///
    /// # Errors
    /// Why the engine will never be ready, for the operator.
    pub fn wait_ready(&self, timeout: Duration) -> Result<Option<Vec<u8>>, String> {
        let until = Instant::now() + timeout;
        let mut state = self.shared.state.lock();
        loop {
            if let Some(reason) = &state.dead {
                return Err(reason.clone());
            }
            if let Some(hello) = &state.hello {
                return Ok(Some(hello.clone()));
            }
            if self.shared.changed.wait_until(&mut state, until).timed_out() {
                return Ok(None);
            }
        }
    }

    /// The served model, once the engine is ready.
    #[must_use]
    pub fn model(&self) -> Option<&ServedModel> {
        self.shared.model.get()
    }

    /// Readable when [`Front::take_ready`] has something.
    #[must_use]
    pub fn wake_fd(&self) -> RawFd {
        self.shared.wake.fd()
    }

    /// Starts a request; what comes of it is told by [`Front::take_ready`].
    pub fn submit(
        &self,
        handle: u64,
        protocol: Protocol,
        body: Vec<u8>,
        generation: Generation,
        chunked: bool,
    ) {
        let generation = Arc::new(generation);
        let head = self.shared.head(protocol, &generation);
        let exchange = Exchange::new(Arc::clone(&generation), protocol, head, chunked);
        {
            let mut state = self.shared.state.lock();
            let dead = state.dead.clone();
            match state.exchanges.entry(handle) {
                // The caller's mistake; the request that has the handle keeps it.
                Entry::Occupied(_) => return,
                Entry::Vacant(entry) => entry.insert(exchange),
            };
            if let Some(reason) = dead {
                state.fail(handle, &RequestError::unavailable(reason));
                self.shared.wake.set();
                return;
            }
        }
        if self.jobs.send(Job { handle, protocol, body, generation }).is_err() {
            let mut state = self.shared.state.lock();
            state.fail(handle, &RequestError::unavailable("The server is stopping."));
            self.shared.wake.set();
        }
    }

    /// Starts a request of one token that passes the queue: whether the model can answer at all. Its answer is a
    /// completion in one piece.
    pub fn probe(&self, handle: u64) {
        let generation = Arc::new(Generation { max_tokens: Some(1), ..Generation::default() });
        let head = self.shared.head(Protocol::Completions, &generation);
        let mut exchange =
            Exchange::new(Arc::clone(&generation), Protocol::Completions, head, false);
        let mut state = self.shared.state.lock();
        let error = match (&state.dead, self.model()) {
            (Some(reason), _) => Some(RequestError::unavailable(reason.clone())),
            (None, None) => Some(RequestError::unavailable("The model is still loading.")),
            (None, Some(model)) => {
                let prepared = Prepared::of_prompt(vec![PROBE_TOKEN]);
                let choices = pool::choices(model, Protocol::Completions, &generation, &prepared);
                exchange.begin(choices, 1, Vec::new(), &prepared.form);
                let params =
                    generation.params(1, Vec::new(), &prepared.form, false, &self.shared.hasher);
                self.shared.tell(ToEngine::Submit(Box::new(Submit {
                    request: handle,
                    prompts: prepared.prompts,
                    n: 1,
                    params,
                    probe: true,
                })));
                None
            }
        };
        state.exchanges.insert(handle, exchange);
        if let Some(error) = error {
            state.fail(handle, &error);
            self.shared.wake.set();
        }
    }

    /// The headers go out before the first token: later errors are frames. Returns the fields that were changed for
    /// the prompt's sake.
    pub fn start(&self, handle: u64) -> Vec<Adapted> {
        let mut state = self.shared.state.lock();
        state.exchanges.get_mut(&handle).map(Exchange::head_goes).unwrap_or_default()
    }

    /// The client left: frees everything of the request.
    pub fn abort(&self, handle: u64) {
        let mut state = self.shared.state.lock();
        if let Some(exchange) = state.exchanges.remove(&handle)
            && !exchange.ended
        {
            state.stats.requests_aborted += 1;
            self.shared.tell(ToEngine::Abort { request: handle });
        }
    }

    /// The connection takes no bytes for now, or does again.
    pub fn hold(&self, handle: u64, on: bool) {
        let mut state = self.shared.state.lock();
        let Some(exchange) = state.exchanges.get_mut(&handle) else { return };
        exchange.block(on);
        if !on && exchange.has_bytes() {
            state.list(handle);
            self.shared.wake.set();
        }
    }

    /// Moves all bytes that can be written now to `bytes`, and says whose they are.
    pub fn take_ready(&self, bytes: &mut Vec<u8>, ready: &mut Vec<Ready>) {
        bytes.clear();
        ready.clear();
        self.shared.wake.clear();
        let mut state = self.shared.state.lock();
        let listed = std::mem::take(&mut state.ready);
        for &handle in &listed {
            let Some(exchange) = state.exchanges.get_mut(&handle) else { continue };
            exchange.listed = false;
            if exchange.is_blocked() || !exchange.has_bytes() {
                continue;
            }
            let start = bytes.len();
            let taken = exchange.take(bytes);
            if exchange.lagging.take().is_some() && !taken.ended {
                self.shared.tell(ToEngine::Hold { request: handle, on: false });
            }
            if taken.ended {
                state.exchanges.remove(&handle);
            }
            ready.push(Ready {
                handle,
                ended: taken.ended,
                status: taken.status,
                adapted: taken.adapted,
                bytes: start..bytes.len(),
            });
        }
        // Keep the list's memory.
        if state.ready.is_empty() {
            state.ready = listed;
            state.ready.clear();
        }
    }

    /// Token ids of a body's messages or prompt, made as `generation` says, and the fields that were changed for it.
    ///
    /// # Errors
    /// What is wrong with the body, or that there is no model yet.
    pub fn tokenize(
        &self,
        protocol: Protocol,
        body: &[u8],
        generation: &Generation,
    ) -> Result<(Vec<u32>, Vec<Adapted>), RequestError> {
        let model = self.ready_model()?;
        let making = Making::of(generation, model);
        let mut prompts = prompt::tokenize(model, protocol, body, &making)?.into_iter();
        match (prompts.next(), prompts.next()) {
            (Some(prompt), None) => Ok((prompt.ids, prompt.adapted)),
            _ => Err(RequestError::invalid("prompt", "`prompt` must be one string.")),
        }
    }

    /// A body's prompts as the model would see them, made as `generation` says.
    ///
    /// # Errors
    /// What is wrong with the body, or that there is no model yet.
    pub fn show(
        &self,
        protocol: Protocol,
        body: &[u8],
        generation: &Generation,
    ) -> Result<Showing, RequestError> {
        show(self.ready_model()?, protocol, body, generation, &self.shared.config.limits())
    }

    /// Text of ids, special tokens included.
    ///
    /// # Errors
    /// An id outside the vocabulary.
    pub fn detokenize(&self, ids: &[u32]) -> Result<String, RequestError> {
        let model = self.ready_model()?;
        check_ids(model, ids)?;
        model.tokenizer.decode(ids, false).map_err(|error| {
            RequestError::invalid("tokens", format!("The tokens cannot be decoded: {error}"))
        })
    }

    /// Each token's spelling in the vocabulary.
    ///
    /// # Errors
    /// An id outside the vocabulary.
    pub fn token_strings(&self, ids: &[u32]) -> Result<Vec<String>, RequestError> {
        let model = self.ready_model()?;
        check_ids(model, ids)?;
        Ok(ids.iter().map(|id| model.tokenizer.id_to_token(*id).unwrap_or_default()).collect())
    }

    /// Counters, gauges and histograms now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.shared.state.lock().stats.clone();
        if let Some(model) = self.model() {
            let cache = model.cache.stats();
            stats.encode_cache_queries = cache.hits + cache.misses;
            stats.encode_cache_hits = cache.hits;
            stats.encode_cache_bytes = cache.bytes;
        }
        stats
    }

    /// Whether the engine lives and makes progress, and if not, why.
    #[must_use]
    pub fn health(&self) -> (bool, String) {
        let state = self.shared.state.lock();
        if let Some(reason) = &state.dead {
            return (false, reason.clone());
        }
        let limit = Duration::from_micros(self.shared.config.watchdog_us);
        let asked = state
            .exchanges
            .values()
            .filter(|exchange| !exchange.ended && exchange.lagging.is_none())
            .filter_map(|exchange| exchange.sent)
            .min();
        // Work is pending since then, and the engine has said nothing since.
        let Some(silent) =
            asked.map(|asked| state.last_progress.map_or(asked, |last| asked.max(last)).elapsed())
        else {
            return (true, String::new());
        };
        if silent > limit {
            return (
                false,
                format!("No step has finished for {} s while requests run.", silent.as_secs()),
            );
        }
        (true, String::new())
    }

    /// Ends every live request with an error, and the link.
    pub fn close(&self) {
        self.shared.die("The server is stopping.");
        self.shared.link.close();
    }

    fn ready_model(&self) -> Result<&ServedModel, RequestError> {
        self.model().ok_or_else(|| RequestError::unavailable("The model is still loading."))
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.shared.link.close();
    }
}

fn check_ids(model: &ServedModel, ids: &[u32]) -> Result<(), RequestError> {
    match ids.iter().position(|id| *id >= model.vocab_size) {
        None => Ok(()),
        Some(index) => Err(RequestError::invalid(
            format!("tokens[{index}]"),
            format!(
                "{} is no token id of this model: ids are integers from 0 to {}.",
                ids[index],
                model.vocab_size.saturating_sub(1)
            ),
        )),
    }
}
