//! The front: requests in from the routes, frames out to the connections, the link between.

use std::collections::hash_map::Entry;
use std::hash::RandomState;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use overt_link::{Batch, LinkError, Received, Receiver, Sender, Submit, ToEngine, ToFront};
use overt_parse::Plain;
use overt_text::{Detokenizer, StopMatcher};
use overt_wire::{Head, Protocol};
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::choice::{Choice, Scratch};
use crate::error::RequestError;
use crate::exchange::Exchange;
use crate::generation::Generation;
use crate::metrics::Stats;
use crate::model::ServedModel;
use crate::prepare::{self, Prepared};
use crate::wake::Wake;

/// How often the link's thread looks at the clock.
const TICK: Duration = Duration::from_millis(250);

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
    /// `auto`, `none` or a format's name.
    pub tool_call_parser: String,
}

/// One answer's bytes to write now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The caller's name for the request.
    pub handle: u64,
    /// Nothing follows.
    pub ended: bool,
    /// 200 or an error's status with the first bytes, 0 with later ones.
    pub status: u16,
    /// Where the bytes stand in the buffer given to [`Front::take_ready`].
    pub bytes: std::ops::Range<usize>,
}

/// The API side of the server.
pub struct Front {
    shared: Arc<Shared>,
    jobs: crossbeam_channel::Sender<Job>,
}

struct Job {
    handle: u64,
    protocol: Protocol,
    body: Vec<u8>,
    generation: Arc<Generation>,
}

struct Shared {
    config: Config,
    link: Sender<ToEngine>,
    wake: Wake,
    hasher: RandomState,
    model: OnceLock<ServedModel>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    exchanges: FxHashMap<u64, Exchange>,
    ready: Vec<u64>,
    scratch: Scratch,
    stats: Stats,
    hello: Option<Vec<u8>>,
    /// Why there is no engine (any more).
    dead: Option<String>,
    last_progress: Option<Instant>,
}

impl Front {
    /// A front that speaks to the engine over `socket`.
    ///
    /// # Errors
    /// The system has no thread or socket left.
    pub fn new(socket: UnixStream, config: Config) -> Result<Self, LinkError> {
        let (link, receiver) = overt_link::pair(socket)?;
        let threads = config.threads.max(1);
        let shared = Arc::new(Shared {
            config,
            link,
            wake: Wake::new()?,
            hasher: RandomState::new(),
            model: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        receiver.set_tick(TICK)?;
        let reader = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("overt-present".into())
            .spawn(move || reader.read(receiver))?;
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

    /// The headers have gone out: later errors are frames.
    pub fn start(&self, handle: u64) {
        if let Some(exchange) = self.shared.state.lock().exchanges.get_mut(&handle) {
            exchange.head_goes();
        }
    }

    /// The client left: frees everything of the request.
    pub fn abort(&self, handle: u64) {
        let mut state = self.shared.state.lock();
        if let Some(exchange) = state.exchanges.remove(&handle)
            && !exchange.ended
        {
            state.stats.requests_aborted += 1;
            self.shared.tell(&ToEngine::Abort { request: handle });
        }
    }

    /// The connection takes no bytes for now, or does again.
    pub fn hold(&self, handle: u64, on: bool) {
        let mut state = self.shared.state.lock();
        let Some(exchange) = state.exchanges.get_mut(&handle) else { return };
        exchange.blocked = on;
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
            if exchange.blocked || !exchange.has_bytes() {
                continue;
            }
            let start = bytes.len();
            let taken = exchange.take(bytes);
            if exchange.lagging.take().is_some() && !taken.ended {
                self.shared.tell(&ToEngine::Hold { request: handle, on: false });
            }
            if taken.ended {
                state.exchanges.remove(&handle);
            }
            ready.push(Ready {
                handle,
                ended: taken.ended,
                status: taken.status,
                bytes: start..bytes.len(),
            });
        }
        // Keep the list's memory.
        if state.ready.is_empty() {
            state.ready = listed;
            state.ready.clear();
        }
    }

    /// Token ids of a body's messages or prompt.
    ///
    /// # Errors
    /// What is wrong with the body, or that there is no model yet.
    pub fn tokenize(
        &self,
        protocol: Protocol,
        body: &[u8],
        add_generation_prompt: bool,
        add_special_tokens: Option<bool>,
    ) -> Result<Vec<u32>, RequestError> {
        let model = self.ready_model()?;
        let prompts = prepare::tokenize(
            model,
            protocol,
            body,
            add_generation_prompt,
            false,
            add_special_tokens,
        )?;
        let mut prompts = prompts.into_iter();
        match (prompts.next(), prompts.next()) {
            (Some(prompt), None) => Ok(prompt),
            _ => Err(RequestError::invalid("prompt", "`prompt` must be one string.")),
        }
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
        self.shared.state.lock().stats.clone()
    }

    /// Whether the engine lives and makes progress, and if not, why.
    #[must_use]
    pub fn health(&self) -> (bool, String) {
        let state = self.shared.state.lock();
        if let Some(reason) = &state.dead {
            return (false, reason.clone());
        }
        let limit = Duration::from_micros(self.shared.config.watchdog_us);
        let working = state.stats.requests_running > 0
            && state
                .exchanges
                .values()
                .any(|exchange| !exchange.ended && exchange.lagging.is_none());
        match state.last_progress {
            Some(last) if working && last.elapsed() > limit => (
                false,
                format!(
                    "No step has finished for {} s while requests run.",
                    last.elapsed().as_secs()
                ),
            ),
            _ => (true, String::new()),
        }
    }

    /// Ends every live request with an error, and the link.
    pub fn close(&self) {
        self.shared.link.close();
        self.shared.die("The server is stopping.");
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

impl State {
    fn list(&mut self, handle: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&handle)
            && !exchange.listed
            && !exchange.blocked
        {
            exchange.listed = true;
            self.ready.push(handle);
        }
    }

    fn fail(&mut self, handle: u64, error: &RequestError) {
        if let Some(exchange) = self.exchanges.get_mut(&handle) {
            exchange.fail(error);
            self.list(handle);
        }
    }
}

impl Shared {
    fn head(&self, protocol: Protocol, generation: &Generation) -> Head {
        let prefix = match protocol {
            Protocol::Chat => "chatcmpl-",
            Protocol::Completions => "cmpl-",
        };
        Head {
            id: format!("{prefix}{:032x}", fastrand::u128(..)),
            created: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            model: generation.model.clone(),
            fingerprint: self
                .model
                .get()
                .map(|model| model.fingerprint.clone())
                .unwrap_or_default(),
        }
    }

    /// A link that is gone is noticed by its reader, which ends everything.
    fn tell(&self, message: &ToEngine) {
        let _ = self.link.send(message);
    }

    fn prepare(&self, job: &Job) {
        let outcome = match self.model.get() {
            None => Err(RequestError::unavailable("The model is still loading.")),
            Some(model) => prepare::prepare(model, job.protocol, &job.body, &job.generation)
                .map(|prepared| (model, prepared)),
        };
        let mut state = self.state.lock();
        match outcome {
            Ok((model, prepared)) => self.send_off(&mut state, job, model, prepared),
            Err(error) => {
                state.fail(job.handle, &error);
                self.wake.set();
            }
        }
    }

    /// Under the state's lock, so that an abort can never overtake its request.
    fn send_off(&self, state: &mut State, job: &Job, model: &ServedModel, prepared: Prepared) {
        // A client that left meanwhile has no exchange any more.
        let Some(exchange) = state.exchanges.get_mut(&job.handle) else { return };
        if exchange.ended {
            return;
        }
        let generation = &job.generation;
        let format = model.format.filter(|_| generation.tools);
        let reads_specials = format.is_some();
        let choices = choices(model, generation, &prepared);
        let prompt_tokens = prepared.prompts.iter().map(|prompt| prompt.len() as u64).sum();
        exchange.begin(choices, prompt_tokens);
        self.tell(&ToEngine::Submit(Box::new(Submit {
            request: job.handle,
            prompts: prepared.prompts,
            n: generation.n,
            params: generation.params(prepared.max_tokens, reads_specials, &self.hasher),
        })));
    }

    fn read(&self, mut receiver: Receiver<ToFront>) {
        loop {
            match receiver.recv() {
                Ok(Received::Message(ToFront::Batch(batch))) => self.present(&batch),
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
        match ServedModel::new(&meta, tokenizer_json, &self.config.tool_call_parser) {
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

    /// One step's tokens: detokenise, parse, frame, then one wake.
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
        for row in &batch.rows {
            let Some(exchange) = state.exchanges.get_mut(&row.request) else { continue };
            exchange.token(row, now, &mut state.scratch, &mut state.stats);
            if exchange.waiting_bytes() > self.config.outbox_bytes
                && exchange.lagging.is_none()
                && exchange.blocked
            {
                exchange.lagging = Some(now);
                self.tell(&ToEngine::Hold { request: row.request, on: true });
            }
            if exchange.has_bytes() && !exchange.listed && !exchange.blocked {
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
        let mut state = self.state.lock();
        let late: Vec<u64> = state
            .exchanges
            .iter()
            .filter(|(_, exchange)| {
                !exchange.ended && exchange.lagging.is_some_and(|since| since.elapsed() > limit)
            })
            .map(|(handle, _)| *handle)
            .collect();
        for handle in late {
            self.tell(&ToEngine::Abort { request: handle });
            state.stats.requests_aborted += 1;
            let error =
                RequestError::unavailable("The client read too slowly, so the request was ended.");
            state.fail(handle, &error);
        }
    }

    fn die(&self, reason: &str) {
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

fn choices(model: &ServedModel, generation: &Generation, prepared: &Prepared) -> Vec<Choice> {
    let format = model.format.filter(|_| generation.tools);
    let stop = StopMatcher::new(&generation.stop).include_stop(generation.include_stop);
    let per_prompt = generation.n as usize;
    prepared
        .prompts
        .iter()
        .flat_map(|prompt| std::iter::repeat_n(prompt, per_prompt))
        .map(|prompt| {
            let tail = &prompt[prompt.len().saturating_sub(8)..];
            let parser = match format {
                Some(format) => (format.build)(fastrand::u64(..)),
                None => Box::new(Plain::new(false)),
            };
            Choice::new(
                Detokenizer::new(&model.tokenizer, generation.skip_special_tokens, tail)
                    .flush_at_specials(format.is_some()),
                stop.clone(),
                parser,
                format.is_some(),
            )
        })
        .collect()
}
