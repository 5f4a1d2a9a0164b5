//! Chat templates without a model: what they read, what they want, what they write.

use overt_template::{Normalisation, RenderInput, TemplateError as Error, Wants};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::{Map, Value};

create_exception!(overt._core, TemplateError, PyValueError);

#[pyclass(frozen, module = "overt._core")]
struct Template(overt_template::Template);

/// What `apply_chat_template` takes, as JSON.
#[derive(Deserialize)]
struct Request {
    messages: Value,
    #[serde(default)]
    tools: Option<Value>,
    #[serde(default)]
    documents: Option<Value>,
    #[serde(default)]
    add_generation_prompt: bool,
    #[serde(default)]
    continue_final_message: bool,
    #[serde(default)]
    chat_template_kwargs: Map<String, Value>,
    #[serde(default)]
    special_tokens: Map<String, Value>,
    /// Seconds since 1970 as the local wall clock shows them; none: now.
    #[serde(default)]
    clock: Option<i64>,
}

impl Request {
    fn read(bytes: &[u8]) -> Result<(RenderInput, Option<i64>), Error> {
        if let Some(wide) = std::str::from_utf8(bytes).ok().and_then(overt_template::wide_integer) {
            return Err(Error::Input(format!("64 bits do not hold the integer {}", wide.literal)));
        }
        let request: Self =
            serde_json::from_slice(bytes).map_err(|error| Error::Input(error.to_string()))?;
        let input = RenderInput {
            messages: request.messages,
            tools: request.tools,
            documents: request.documents,
            add_generation_prompt: request.add_generation_prompt,
            continue_final_message: request.continue_final_message,
            kwargs: request.chat_template_kwargs,
            special_tokens: request.special_tokens,
        };
        Ok((input, request.clock))
    }
}

#[pymethods]
impl Template {
    #[new]
    fn new(py: Python<'_>, source: &str) -> PyResult<Self> {
        py.detach(|| overt_template::Template::compile(source)).map(Self).map_err(to_python)
    }

    #[getter]
    fn variables(&self) -> Vec<String> {
        self.0.variables().to_vec()
    }

    fn reads_key(&self, key: &str) -> bool {
        self.0.reads_key(key)
    }

    fn normalisations(&self, py: Python<'_>, special_tokens: &[u8]) -> PyResult<Vec<&'static str>> {
        let special_tokens: Map<String, Value> = serde_json::from_slice(special_tokens)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(py.detach(|| {
            let wants = Wants::probe(&self.0, &special_tokens);
            made().filter(|one| wants.may_apply(*one)).map(Normalisation::name).collect()
        }))
    }

    fn render(&self, py: Python<'_>, request: &[u8]) -> PyResult<String> {
        py.detach(|| {
            let (input, clock) = Request::read(request)?;
            match clock {
                Some(seconds) => self.0.render_at(&input, seconds),
                None => self.0.render(&input),
            }
        })
        .map_err(to_python)
    }

    fn trace<'py>(&self, py: Python<'py>, request: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let told = py
            .detach(|| {
                let (input, clock) = Request::read(request)?;
                let traced = match clock {
                    Some(seconds) => self.0.trace_at(&input, seconds),
                    None => self.0.trace(&input),
                }?;
                Ok(overt_front::told_trace(&traced).to_string())
            })
            .map_err(to_python)?;
        Ok(PyBytes::new(py, told.as_bytes()))
    }
}

/// Those that requests reach: parts that are no text are refused before.
fn made() -> impl Iterator<Item = Normalisation> {
    Normalisation::ALL.iter().copied().filter(|one| *one != Normalisation::PartDropped)
}

/// (name, meaning, whether it changes the meaning) of every normalisation.
#[pyfunction]
fn normalisations() -> Vec<(&'static str, &'static str, bool)> {
    made().map(|one| (one.name(), one.meaning(), one.changes_meaning())).collect()
}

/// With the message, the template's line (none: no line is at fault) and the reason alone.
fn to_python(error: Error) -> PyErr {
    TemplateError::new_err((error.to_string(), error.line(), error.reason()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TemplateError", module.py().get_type::<TemplateError>())?;
    module.add_class::<Template>()?;
    module.add_function(wrap_pyfunction!(normalisations, module)?)
}
