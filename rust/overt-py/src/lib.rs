//! PyO3 module `overt._core`: converts, detaches, calls.

// Python's buffers and file descriptors come in as raw memory and numbers; `raw` alone touches them.
#![allow(unsafe_code, reason = "raw memory from Python is confined to the module `raw`")]

mod bench;
mod engine;
mod front;
mod parse;
mod raw;
mod template;
mod text;

use pyo3::prelude::*;

#[pymodule(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    text::register(module)?;
    template::register(module)?;
    engine::register(module)?;
    front::register(module)?;
    parse::register(module)?;
    bench::register(module)
}
