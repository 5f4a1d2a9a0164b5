//! The engine process's side.

use std::sync::Arc;
use std::time::Duration;

use overt_engine::{
    COLUMNS, Config, EngineError, FLAG_ALL_GREEDY, FLAG_PROMPT_LOGPROBS, Grammars, Inbox,
};
use overt_link::{Sender, ToFront};
use overt_sched::arena;
use parking_lot::Mutex;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBrokenPipeError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::raw::{self, Arena};

#[pyclass(frozen, module = "overt._core")]
struct Engine {
    inner: Mutex<Inner>,
    inbox: Inbox,
    tokenizer_json: Vec<u8>,
}

struct Inner {
    engine: overt_engine::Engine,
    arenas: Option<(Arena, Arena)>,
}

#[pymethods]
impl Engine {
    #[new]
    fn new(fd: i32, config: &[u8], tokenizer_json: &[u8]) -> PyResult<Self> {
        let config: Config = serde_json::from_slice(config).map_err(|error| {
            PyValueError::new_err(format!("the engine's config is malformed: {error}"))
        })?;
        let tokenizer = overt_text::Tokenizer::from_bytes(tokenizer_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (link, receiver) =
            overt_link::pair(raw::socket(fd)?).map_err(|error| broken(&error))?;
        let table = Arc::clone(tokenizer.table());
        let grammars = Grammars::new(Arc::clone(&table), config.eos_token_ids.clone());
        let inbox = Inbox::spawn(receiver, Arc::new(grammars))?;
        let engine = overt_engine::Engine::new(&config, table, link, inbox.clone());
        Ok(Self {
            inner: Mutex::new(Inner { engine, arenas: None }),
            inbox,
            tokenizer_json: tokenizer_json.to_vec(),
        })
    }

    fn hello(&self, py: Python<'_>, meta: &[u8]) -> PyResult<()> {
        let message =
            ToFront::Hello { meta: meta.to_vec(), tokenizer_json: self.tokenizer_json.clone() };
        py.detach(|| self.inner.lock().engine.say(&message)).map_err(to_python)
    }

    fn bind(&self, first: PyBuffer<i32>, second: PyBuffer<i32>) -> PyResult<()> {
        self.inner.lock().arenas = Some((Arena::new(first)?, Arena::new(second)?));
        Ok(())
    }

    /// The layout of the arenas to bind.
    fn layout<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(&'static str, usize, Bound<'py, PyTuple>)>> {
        sections(py, self.inner.lock().engine.layout())
    }

    fn schedule(&self, py: Python<'_>, now_us: u64) -> PyResult<i64> {
        py.detach(|| {
            let mut inner = self.inner.lock();
            let Inner { engine, arenas } = &mut *inner;
            let Some((first, second)) = arenas else {
                return Err(PyRuntimeError::new_err("bind the arenas before the first step"));
            };
            let plan =
                engine.schedule(now_us, [first.words(), second.words()]).map_err(to_python)?;
            Ok(plan.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX)))
        })
    }

    fn wait(&self, py: Python<'_>, timeout_ms: u64) -> bool {
        py.detach(|| self.inbox.wait(Duration::from_millis(timeout_ms)))
    }

    fn edits<'py>(&self, py: Python<'py>, plan_id: u64) -> Option<Bound<'py, PyBytes>> {
        let block = py.detach(|| self.inner.lock().engine.edits(plan_id));
        block.map(|block| PyBytes::new(py, &block))
    }

    #[pyo3(signature = (plan_id, tokens, logprobs = None, prompt_logprobs = None))]
    fn decide(
        &self,
        py: Python<'_>,
        plan_id: u64,
        tokens: PyBuffer<i32>,
        logprobs: Option<PyBuffer<i32>>,
        prompt_logprobs: Option<PyBuffer<i32>>,
    ) -> PyResult<()> {
        let tokens = tokens.to_vec(py)?;
        let words = |buffer: Option<PyBuffer<i32>>| {
            buffer.map_or(Ok(Vec::new()), |buffer| buffer.to_vec(py))
        };
        let (logprobs, prompt_logprobs) = (words(logprobs)?, words(prompt_logprobs)?);
        py.detach(|| self.inner.lock().engine.decide(plan_id, &tokens, &logprobs, &prompt_logprobs))
            .map_err(to_python)
    }

    fn fail(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.lock().engine.fail()).map_err(to_python)
    }

    fn row(&self, plan_id: u64, row: usize) -> PyResult<(u64, u32, Vec<u32>, u32)> {
        let info = self.inner.lock().engine.row(plan_id, row);
        let info = info.ok_or_else(|| {
            PyValueError::new_err(format!("plan {plan_id} has no live row {row}"))
        })?;
        Ok((info.request, info.choice, info.prompt, info.made))
    }
}

/// Tells the API process, over its link, why there will be no engine.
#[pyfunction]
fn cannot_start(fd: i32, message: String) -> PyResult<()> {
    let (link, _): (Sender<ToFront>, overt_link::Receiver<overt_link::ToEngine>) =
        overt_link::pair(raw::socket(fd)?).map_err(|error| broken(&error))?;
    link.send(&ToFront::CannotStart(message)).map_err(|error| broken(&error))
}

#[pyfunction]
fn arena_layout(
    py: Python<'_>,
    max_rows: usize,
    max_tokens: usize,
    max_blocks: usize,
) -> PyResult<Vec<(&'static str, usize, Bound<'_, PyTuple>)>> {
    sections(py, &arena::layout(max_rows, max_tokens, max_blocks, COLUMNS.len()))
}

fn sections<'py>(
    py: Python<'py>,
    layout: &arena::Layout,
) -> PyResult<Vec<(&'static str, usize, Bound<'py, PyTuple>)>> {
    let mut sections = Vec::new();
    for (name, offset, shape) in layout.sections() {
        sections.push((name, offset, PyTuple::new(py, shape)?));
    }
    sections.push(("end", layout.words(), PyTuple::empty(py)));
    Ok(sections)
}

fn to_python(error: EngineError) -> PyErr {
    match error {
        EngineError::Link(error) => broken(&error),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

fn broken(error: &overt_link::LinkError) -> PyErr {
    PyBrokenPipeError::new_err(error.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PARAM_COLUMNS", PyTuple::new(module.py(), COLUMNS)?)?;
    module.add("HEADER", PyTuple::new(module.py(), arena::HEADER)?)?;
    module.add("FLAG_ALL_GREEDY", FLAG_ALL_GREEDY)?;
    module.add("FLAG_PROMPT_LOGPROBS", FLAG_PROMPT_LOGPROBS)?;
    module.add_class::<Engine>()?;
    module.add_function(wrap_pyfunction!(cannot_start, module)?)?;
    module.add_function(wrap_pyfunction!(arena_layout, module)?)
}
