//! Compiles grammars beside the steps: a request with one is admitted once its grammar is ready.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, OnceLock};

use overt_grammar::{CompileError, Factory, Limits, Matcher, Source, Vocabulary};
use overt_text::TokenTable;
use parking_lot::Mutex;

/// Threads that compile: one long compilation does not keep the others waiting.
const WORKERS: usize = 2;

/// Compilations that may wait; the reader of the link waits beyond that.
const WAITING: usize = 1024;

type Job = Box<dyn FnOnce(&Grammars) + Send>;

/// What grammars are compiled with.
#[derive(Debug)]
pub struct Grammars {
    table: Arc<TokenTable>,
    ends: Vec<u32>,
    /// Made once, by the first worker: it takes a moment for a large vocabulary.
    factory: OnceLock<Result<Factory, CompileError>>,
}

impl Grammars {
    /// Grammars over the tokens of `table`, of which `ends` end an output.
    #[must_use]
    pub fn new(table: Arc<TokenTable>, ends: Vec<u32>) -> Self {
        Self { table, ends, factory: OnceLock::new() }
    }

    /// The state of an output that has not begun.
    pub(crate) fn compile(&self, source: &Source) -> Result<Matcher, CompileError> {
        match self.factory() {
            Ok(factory) => factory.compile(source),
            Err(error) => Err(error.clone()),
        }
    }

    fn factory(&self) -> &Result<Factory, CompileError> {
        self.factory.get_or_init(|| {
            let table = &self.table;
            let ids = 0..u32::try_from(table.len()).unwrap_or(u32::MAX);
            let tokens = ids.map(|id| {
                let special = table.is_special(id).then(|| table.spelling(id).to_owned());
                (table.bytes(id).to_vec(), special)
            });
            let vocabulary = Vocabulary::new(tokens, &self.ends).map_err(|error| CompileError {
                param: "model".to_owned(),
                message: error.to_string(),
            })?;
            Factory::new(Arc::new(vocabulary), Limits::default())
        })
    }
}

/// The threads that compile.
#[derive(Clone)]
pub(crate) struct Workers {
    jobs: SyncSender<Job>,
}

impl Workers {
    /// Starts the threads; they end with the last sender.
    pub(crate) fn spawn(grammars: &Arc<Grammars>) -> std::io::Result<Self> {
        let (jobs, waiting) = mpsc::sync_channel::<Job>(WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..WORKERS {
            let (waiting, grammars) = (Arc::clone(&waiting), Arc::clone(grammars));
            std::thread::Builder::new().name(format!("overt-grammar-{number}")).spawn(
                move || {
                    // The first request with a grammar should not wait for this.
                    let _ = grammars.factory();
                    loop {
                        let job = waiting.lock().recv();
                        let Ok(job) = job else { return };
                        job(&grammars);
                    }
                },
            )?;
        }
        Ok(Self { jobs })
    }

    /// Runs `job` on a thread of its own.
    pub(crate) fn run(&self, job: impl FnOnce(&Grammars) + Send + 'static) {
        // Sending fails only where every worker is gone, and they go only with this sender.
        let _ = self.jobs.send(Box::new(job));
    }
}
