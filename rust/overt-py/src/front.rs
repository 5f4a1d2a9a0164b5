//! The API process's side.

use std::os::fd::RawFd;
use std::time::Duration;

use overt_front::{Config, Generation, Protocol, Ready};
use parking_lot::Mutex;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::raw;

create_exception!(overt._core, RequestError, PyException);

#[pyclass(frozen, module = "overt._core")]
struct Front {
    front: overt_front::Front,
    taken: Mutex<(Vec<u8>, Vec<Ready>)>,
}

/// The attributes of the contract's `GenerationParams`.
#[derive(FromPyObject)]
struct Params {
    max_tokens: Option<u32>,
    temperature: f32,
    top_p: f32,
    top_k: u32,
    min_p: f32,
    seed: Option<i64>,
    n: u32,
    stop: Vec<String>,
    stop_token_ids: Vec<u32>,
    ignore_eos: bool,
    skip_special_tokens: bool,
    include_stop: bool,
    stream: bool,
    include_usage: bool,
    priority: i32,
    user: Option<String>,
    key: Option<String>,
    cache_salt: Option<String>,
    model: String,
    tools: bool,
    add_generation_prompt: bool,
    continue_final_message: bool,
}

impl From<Params> for Generation {
    fn from(params: Params) -> Self {
        Self {
            max_tokens: params.max_tokens,
            temperature: params.temperature,
            top_p: params.top_p,
            top_k: params.top_k,
            min_p: params.min_p,
            seed: params.seed.map(i64::cast_unsigned),
            n: params.n,
            stop: params.stop,
            stop_token_ids: params.stop_token_ids,
            ignore_eos: params.ignore_eos,
            skip_special_tokens: params.skip_special_tokens,
            include_stop: params.include_stop,
            stream: params.stream,
            include_usage: params.include_usage,
            priority: params.priority,
            user: params.user,
            key: params.key,
            cache_salt: params.cache_salt,
            model: params.model,
            tools: params.tools,
            add_generation_prompt: params.add_generation_prompt,
            continue_final_message: params.continue_final_message,
        }
    }
}

#[pymethods]
impl Front {
    #[new]
    fn new(fd: i32, config: &[u8]) -> PyResult<Self> {
        let config: Config = serde_json::from_slice(config).map_err(|error| {
            PyValueError::new_err(format!("the front's config is malformed: {error}"))
        })?;
        let front = overt_front::Front::new(raw::socket(fd)?, config)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self { front, taken: Mutex::default() })
    }

    fn wait_ready<'py>(
        &self,
        py: Python<'py>,
        timeout_ms: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let hello = py
            .detach(|| self.front.wait_ready(Duration::from_millis(timeout_ms)))
            .map_err(PyRuntimeError::new_err)?;
        Ok(hello.map(|hello| PyBytes::new(py, &hello)))
    }

    #[getter]
    fn parser(&self) -> Option<&'static str> {
        self.front.model().and_then(|model| model.format).map(|format| format.name)
    }

    #[getter]
    fn wake_fd(&self) -> RawFd {
        self.front.wake_fd()
    }

    fn submit(
        &self,
        py: Python<'_>,
        handle: u64,
        protocol: &str,
        body: &[u8],
        params: Params,
        chunked: bool,
    ) -> PyResult<()> {
        let protocol = protocol_named(protocol)?;
        py.detach(|| self.front.submit(handle, protocol, body.to_vec(), params.into(), chunked));
        Ok(())
    }

    fn start(&self, py: Python<'_>, handle: u64) -> Option<u32> {
        py.detach(|| self.front.start(handle))
    }

    fn abort(&self, py: Python<'_>, handle: u64) {
        py.detach(|| self.front.abort(handle));
    }

    fn hold(&self, py: Python<'_>, handle: u64, on: bool) {
        py.detach(|| self.front.hold(handle, on));
    }

    fn take_ready<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // Only the event loop takes, so the lock is never waited for.
        let mut taken = self.taken.lock();
        let (bytes, ready) = &mut *taken;
        py.detach(|| self.front.take_ready(bytes, ready));
        PyList::new(
            py,
            ready.iter().map(|item| {
                let bytes = PyBytes::new(py, &bytes[item.bytes.clone()]);
                (item.handle, item.ended, item.status, bytes, item.max_tokens)
            }),
        )
    }

    #[pyo3(signature = (protocol, body, add_generation_prompt, add_special_tokens))]
    fn tokenize(
        &self,
        py: Python<'_>,
        protocol: &str,
        body: &[u8],
        add_generation_prompt: bool,
        add_special_tokens: Option<bool>,
    ) -> PyResult<Vec<u32>> {
        let protocol = protocol_named(protocol)?;
        py.detach(|| self.front.tokenize(protocol, body, add_generation_prompt, add_special_tokens))
            .map_err(to_python)
    }

    fn detokenize(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<String> {
        py.detach(|| self.front.detokenize(&ids)).map_err(to_python)
    }

    fn token_strings(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<Vec<String>> {
        py.detach(|| self.front.token_strings(&ids)).map_err(to_python)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let stats = py.detach(|| serde_json::to_vec(&self.front.stats()));
        Ok(PyBytes::new(py, &stats.map_err(|error| PyRuntimeError::new_err(error.to_string()))?))
    }

    fn health(&self, py: Python<'_>) -> (bool, String) {
        py.detach(|| self.front.health())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.front.close());
    }
}

fn protocol_named(name: &str) -> PyResult<Protocol> {
    match name {
        "chat" => Ok(Protocol::Chat),
        "completions" => Ok(Protocol::Completions),
        other => Err(PyValueError::new_err(format!(
            "protocol {other:?} is neither \"chat\" nor \"completions\""
        ))),
    }
}

fn to_python(error: overt_front::RequestError) -> PyErr {
    let body = error.body;
    RequestError::new_err((error.status, body.message, body.kind, body.param, body.code))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RequestError", module.py().get_type::<RequestError>())?;
    module.add_class::<Front>()
}
