//! The API process's side.

use std::os::fd::RawFd;
use std::time::Duration;

use overt_front::{
    Adapted, Config, ErrorShape, Generation, Limits, Overflow, Protocol, Reading, Ready,
    ReasoningField, Report, ServedModel, Shape, Side, StopField,
};
use parking_lot::Mutex;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use serde::Serialize;
use serde_json::{Map, Value};

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
    typical_p: f32,
    repetition_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    logit_bias: Vec<(u32, f32)>,
    allowed_token_ids: Option<Vec<u32>>,
    bad_words: Vec<String>,
    min_tokens: u32,
    seed: Option<i64>,
    n: u32,
    best_of: u32,
    beam: bool,
    length_penalty: f32,
    logprobs: Option<u32>,
    prompt_logprobs: Option<u32>,
    echo: bool,
    tokens_as_ids: bool,
    stop: Vec<String>,
    stop_regex: Vec<String>,
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
    constrained: bool,
    one_call: bool,
    functions: bool,
    merges_reasoning: bool,
    gathers_reasoning: bool,
    thinking_budget: Option<u32>,
    add_generation_prompt: bool,
    continue_final_message: bool,
    assistant_to_user: bool,
    template_variables: Option<String>,
    add_special_tokens: Option<bool>,
    suffix: Option<String>,
    /// -1: to what fits.
    truncate_prompt_tokens: Option<i64>,
    truncation_side: String,
    overflow: String,
    max_tokens_field: String,
    max_tokens_sent: bool,
    strict: Option<Vec<String>>,
    id: Option<String>,
    fingerprint: Option<String>,
    extra: String,
    report: Option<(String, String)>,
    copies: bool,
    tell_ends: bool,
    token_ids: bool,
    prompt_text: bool,
    continuous_usage: bool,
    obfuscation: bool,
    stop_field: String,
    reasoning_field: String,
    cached_tokens: bool,
    empty_content: bool,
    error_shape: String,
}

impl TryFrom<Params> for Generation {
    type Error = PyErr;

    fn try_from(params: Params) -> PyResult<Self> {
        let shape = Shape {
            stop: one_of(
                "stop_field",
                &params.stop_field,
                [
                    ("stop_reason", StopField::StopReason),
                    ("matched_stop", StopField::MatchedStop),
                    ("none", StopField::None),
                ],
            )?,
            reasoning: one_of(
                "reasoning_field",
                &params.reasoning_field,
                [
                    ("both", ReasoningField::Both),
                    ("reasoning", ReasoningField::Reasoning),
                    ("reasoning_content", ReasoningField::ReasoningContent),
                    ("none", ReasoningField::None),
                ],
            )?,
            cached_tokens: params.cached_tokens,
            empty_content: params.empty_content,
            errors: error_shape(&params.error_shape)?,
        };
        let overflow = one_of(
            "overflow",
            &params.overflow,
            [
                ("clamp", Overflow::Clamp),
                ("clamp_within", Overflow::ClampWithin),
                ("refuse", Overflow::Refuse),
            ],
        )?;
        let side = one_of(
            "truncation_side",
            &params.truncation_side,
            [("left", Side::Left), ("right", Side::Right)],
        )?;
        let template_variables = match &params.template_variables {
            Some(text) => variables(text)
                .map_err(|error| PyValueError::new_err(format!("template_variables: {error}")))?,
            None => Map::new(),
        };
        Ok(Self {
            max_tokens: params.max_tokens,
            temperature: params.temperature,
            top_p: params.top_p,
            top_k: params.top_k,
            min_p: params.min_p,
            typical_p: params.typical_p,
            repetition_penalty: params.repetition_penalty,
            presence_penalty: params.presence_penalty,
            frequency_penalty: params.frequency_penalty,
            logit_bias: params.logit_bias,
            allowed_token_ids: params.allowed_token_ids,
            bad_words: params.bad_words,
            min_tokens: params.min_tokens,
            seed: params.seed.map(i64::cast_unsigned),
            n: params.n,
            best_of: params.best_of,
            beam: params.beam,
            length_penalty: params.length_penalty,
            logprobs: params.logprobs,
            prompt_logprobs: params.prompt_logprobs,
            echo: params.echo,
            tokens_as_ids: params.tokens_as_ids,
            stop: params.stop,
            stop_regex: params.stop_regex,
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
            constrained: params.constrained,
            one_call: params.one_call,
            functions: params.functions,
            merges_reasoning: params.merges_reasoning,
            gathers_reasoning: params.gathers_reasoning,
            thinking_budget: params.thinking_budget,
            add_generation_prompt: params.add_generation_prompt,
            continue_final_message: params.continue_final_message,
            assistant_to_user: params.assistant_to_user,
            template_variables,
            add_special_tokens: params.add_special_tokens,
            suffix: params.suffix,
            truncate_prompt_tokens: params
                .truncate_prompt_tokens
                .map(|most| u32::try_from(most).ok()),
            truncation_side: side,
            overflow,
            max_tokens_field: params.max_tokens_field,
            max_tokens_sent: params.max_tokens_sent,
            strict: params.strict,
            id: params.id,
            fingerprint: params.fingerprint,
            extra: params.extra,
            report: params.report.map(|(effects, more)| Report { effects, more }),
            copies: params.copies,
            tell_ends: params.tell_ends,
            token_ids: params.token_ids,
            prompt_text: params.prompt_text,
            continuous_usage: params.continuous_usage,
            obfuscation: params.obfuscation,
            shape,
        })
    }
}

fn variables(text: &str) -> Result<Map<String, Value>, String> {
    match overt_template::wide_integer(text) {
        Some(wide) => Err(format!("64 bits do not hold the integer {}", wide.literal)),
        None => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

/// The value that `name` stands for.
fn one_of<T: Copy, const N: usize>(field: &str, name: &str, known: [(&str, T); N]) -> PyResult<T> {
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("{field} {name:?} is none of {}", names.join(", ")))
    })
}

pub(crate) fn error_shape(name: &str) -> PyResult<ErrorShape> {
    one_of(
        "error_shape",
        name,
        [
            ("openai", ErrorShape::OpenAi),
            ("vllm", ErrorShape::Vllm),
            ("sglang", ErrorShape::SgLang),
        ],
    )
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
        self.front.model().and_then(|model| model.reading.calls).map(|format| format.name)
    }

    /// The formats that outputs are read in, and why, as JSON.
    #[getter]
    fn reading<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.front.model().map(|model| told(py, &model.reading.told)).transpose()
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
        let generation = Generation::try_from(params)?;
        py.detach(|| self.front.submit(handle, protocol, body.to_vec(), generation, chunked));
        Ok(())
    }

    fn probe(&self, py: Python<'_>, handle: u64) {
        py.detach(|| self.front.probe(handle));
    }

    #[getter]
    fn fills_gaps(&self) -> bool {
        self.front.model().is_some_and(|model| model.fim.is_some())
    }

    fn start<'py>(&self, py: Python<'py>, handle: u64) -> PyResult<Bound<'py, PyList>> {
        late(py, &py.detach(|| self.front.start(handle)))
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
        let items = ready.iter().map(|item| {
            let bytes = PyBytes::new(py, &bytes[item.bytes.clone()]);
            Ok((item.handle, item.ended, item.status, bytes, late(py, &item.adapted)?))
        });
        PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
    }

    fn tokenize<'py>(
        &self,
        py: Python<'py>,
        protocol: &str,
        body: &[u8],
        params: Params,
    ) -> PyResult<(Vec<u32>, Bound<'py, PyList>)> {
        let protocol = protocol_named(protocol)?;
        let generation = Generation::try_from(params)?;
        let made = py.detach(|| self.front.tokenize(protocol, body, &generation));
        let (ids, adapted) = made.map_err(to_python)?;
        Ok((ids, late(py, &adapted)?))
    }

    fn show<'py>(
        &self,
        py: Python<'py>,
        protocol: &str,
        body: &[u8],
        params: Params,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let protocol = protocol_named(protocol)?;
        let generation = Generation::try_from(params)?;
        let shown = py.detach(|| self.front.show(protocol, body, &generation));
        told(py, &shown.map_err(to_python)?)
    }

    /// `text` cut into special tokens (true) and the texts between them.
    fn pieces(&self, text: &str) -> Vec<(String, bool)> {
        let Some(model) = self.front.model() else { return vec![(text.to_owned(), false)] };
        let mut pieces = Vec::new();
        let mut from = 0;
        for (start, token) in model.specials.find(text) {
            if start > from {
                pieces.push((text[from..start].to_owned(), false));
            }
            pieces.push((token.to_owned(), true));
            from = start + token.len();
        }
        if from < text.len() {
            pieces.push((text[from..].to_owned(), false));
        }
        pieces
    }

    fn detokenize(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<String> {
        py.detach(|| self.front.detokenize(&ids)).map_err(to_python)
    }

    fn token_strings(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<Vec<String>> {
        py.detach(|| self.front.token_strings(&ids)).map_err(to_python)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        told(py, &py.detach(|| self.front.stats()))
    }

    fn health(&self, py: Python<'_>) -> (bool, String) {
        py.detach(|| self.front.health())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.front.close());
    }
}

#[derive(IntoPyObject)]
enum Applied<'a> {
    Number(u64),
    Text(&'a str),
}

/// Changed fields as (field, applied, reason, counted).
fn late<'py>(py: Python<'py>, adapted: &[Adapted]) -> PyResult<Bound<'py, PyList>> {
    let told = adapted.iter().map(|one| {
        let applied = match &one.applied {
            Value::String(text) => Applied::Text(text),
            number => Applied::Number(number.as_u64().unwrap_or_default()),
        };
        (&one.field, applied, &one.reason, &one.counted)
    });
    PyList::new(py, told.collect::<Vec<_>>())
}

fn told<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = serde_json::to_vec(value);
    Ok(PyBytes::new(py, &bytes.map_err(|error| PyRuntimeError::new_err(error.to_string()))?))
}

/// A model's prompts without the model: its tokenizer and its templates.
#[pyclass(frozen, module = "overt._core")]
struct Prompts(ServedModel);

#[pymethods]
impl Prompts {
    #[new]
    fn new(py: Python<'_>, meta: &[u8], tokenizer_json: &[u8], reading: &[u8]) -> PyResult<Self> {
        let reading: Reading = serde_json::from_slice(reading)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.detach(|| ServedModel::new(meta, tokenizer_json, &reading))
            .map(Self)
            .map_err(PyValueError::new_err)
    }

    fn show<'py>(
        &self,
        py: Python<'py>,
        protocol: &str,
        body: &[u8],
        params: Params,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let protocol = protocol_named(protocol)?;
        let generation = Generation::try_from(params)?;
        let shown = py
            .detach(|| overt_front::show(&self.0, protocol, body, &generation, &Limits::default()));
        told(py, &shown.map_err(to_python)?)
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
    RequestError::new_err((body.status, body.message, body.kind, body.param, body.code))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RequestError", module.py().get_type::<RequestError>())?;
    module.add_class::<Front>()?;
    module.add_class::<Prompts>()
}
