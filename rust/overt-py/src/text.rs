//! Tokenizer and error shape.

use overt_text::EncodeCache;
use overt_wire::ErrorBody;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyclass(frozen, module = "overt._core")]
struct Tokenizer(overt_text::Tokenizer, EncodeCache);

/// Ids and byte ranges, side by side.
type IdsAndOffsets = (Vec<u32>, Vec<(usize, usize)>);

impl Tokenizer {
    fn check(&self, id: u32) -> PyResult<()> {
        let size = self.0.vocab_size();
        if (id as usize) < size {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("token id {id} is outside the vocabulary of {size}")))
    }
}

#[pymethods]
impl Tokenizer {
    #[new]
    fn new(py: Python<'_>, tokenizer_json: &[u8]) -> PyResult<Self> {
        py.detach(|| overt_text::Tokenizer::from_bytes(tokenizer_json))
            .map(|tokenizer| Self(tokenizer, EncodeCache::default()))
            .map_err(value_error)
    }

    #[pyo3(signature = (text, add_special_tokens = true))]
    fn encode(&self, py: Python<'_>, text: &str, add_special_tokens: bool) -> PyResult<Vec<u32>> {
        py.detach(|| self.0.encode(text, add_special_tokens)).map_err(value_error)
    }

    fn encode_cached(&self, py: Python<'_>, text: &str) -> PyResult<Vec<u32>> {
        py.detach(|| self.0.encode_cached(text, &self.1)).map_err(value_error)
    }

    fn encode_plain(
        &self,
        py: Python<'_>,
        text: &str,
        ranges: Vec<(usize, usize)>,
    ) -> PyResult<Vec<u32>> {
        let plain: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        py.detach(|| self.0.encode_plain(text, &plain, Some(&self.1))).map_err(value_error)
    }

    #[pyo3(signature = (text, add_special_tokens = true))]
    fn encode_offsets(
        &self,
        py: Python<'_>,
        text: &str,
        add_special_tokens: bool,
    ) -> PyResult<IdsAndOffsets> {
        py.detach(|| self.0.encode_offsets(text, add_special_tokens)).map_err(value_error)
    }

    #[pyo3(signature = (ids, skip_special_tokens = true))]
    fn decode(&self, py: Python<'_>, ids: Vec<u32>, skip_special_tokens: bool) -> PyResult<String> {
        ids.iter().try_for_each(|id| self.check(*id))?;
        py.detach(|| self.0.decode(&ids, skip_special_tokens)).map_err(value_error)
    }

    fn token_bytes<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        self.check(id)?;
        Ok(PyBytes::new(py, self.0.table().bytes(id)))
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }
}

#[pyfunction]
#[pyo3(signature = (message, r#type, param, code, status = 400, shape = "openai"))]
fn error_body<'py>(
    py: Python<'py>,
    message: String,
    r#type: String,
    param: Option<String>,
    code: Option<String>,
    status: u16,
    shape: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let error = ErrorBody { message, kind: r#type, param, code, status };
    let shape = crate::front::error_shape(shape)?;
    Ok(PyBytes::new(py, &overt_wire::error_body(&error, shape)))
}

#[pyfunction]
fn json_outline(py: Python<'_>, body: &[u8]) -> (usize, Option<String>) {
    py.detach(|| {
        let outline = overt_front::outline(body);
        (outline.depth, outline.twice.map(|name| String::from_utf8_lossy(name).into_owned()))
    })
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tokenizer>()?;
    module.add_function(wrap_pyfunction!(error_body, module)?)?;
    module.add_function(wrap_pyfunction!(json_outline, module)?)
}
