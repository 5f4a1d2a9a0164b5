//! The load generator.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyfunction]
#[pyo3(name = "bench")]
fn run<'py>(py: Python<'py>, options: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let report = py.detach(|| {
        let options = serde_json::from_slice(options).map_err(|error| error.to_string())?;
        let report = overt_bench::run(options).map_err(|error| error.to_string())?;
        serde_json::to_vec(&report).map_err(|error| error.to_string())
    });
    Ok(PyBytes::new(py, &report.map_err(PyValueError::new_err)?))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)
}
