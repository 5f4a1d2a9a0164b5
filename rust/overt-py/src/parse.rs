//! Parsers of model output, by themselves.

use std::sync::Arc;

use overt_parse::{Choice, Event, Events, Options, Piece, Tools};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

/// kind, index of the call, id, name, text.
type Told = (&'static str, Option<u32>, Option<String>, Option<String>, String);

#[pyclass(frozen, module = "overt._core")]
struct Parser(Mutex<(overt_parse::Parser, Events)>);

#[pymethods]
impl Parser {
    #[new]
    fn new(
        tool_parser: Option<&str>,
        reasoning_parser: Option<&str>,
        tools: &[u8],
        tool_choice: &str,
        named: Option<String>,
        prompt_tail: String,
        seed: u64,
    ) -> PyResult<Self> {
        let unknown =
            |what: &str, name: &str| PyValueError::new_err(format!("no {what} is named {name:?}"));
        let calls = tool_parser
            .map(|name| {
                overt_parse::tool_format(name).ok_or_else(|| unknown("tool-call parser", name))
            })
            .transpose()?;
        let reasoning = reasoning_parser
            .map(|name| {
                overt_parse::reasoning_format(name).ok_or_else(|| unknown("reasoning parser", name))
            })
            .transpose()?;
        let tools: Vec<Value> = serde_json::from_slice(tools)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let choice = match (tool_choice, named) {
            ("none", _) => Choice::None,
            ("auto", _) => Choice::Auto,
            ("required", _) => Choice::Required,
            ("named", Some(name)) => Choice::Named(name),
            (other, _) => {
                return Err(PyValueError::new_err(format!("no choice of tools is {other:?}")));
            }
        };
        let options = Options {
            tools: Arc::new(Tools::of(&tools)),
            choice,
            prompt_tail,
            seed,
            ..Options::default()
        };
        Ok(Self(Mutex::new((overt_parse::Parser::new(calls, reasoning, options), Events::new()))))
    }

    fn push(&self, py: Python<'_>, text: &str, special: bool) -> Vec<Told> {
        py.detach(|| {
            let (parser, events) = &mut *self.0.lock();
            events.clear();
            parser.push(Piece { text, special }, events);
            events.iter().map(told).collect()
        })
    }

    fn finish(&self, py: Python<'_>) -> Vec<Told> {
        py.detach(|| {
            let (parser, events) = &mut *self.0.lock();
            events.clear();
            parser.finish(events);
            events.iter().map(told).collect()
        })
    }
}

fn told(event: Event<'_>) -> Told {
    match event {
        Event::Text(text) => ("content", None, None, None, text.to_owned()),
        Event::Reasoning(text) => ("reasoning", None, None, None, text.to_owned()),
        Event::ToolStart { index, id, name } => {
            ("call_start", Some(index), Some(id.to_owned()), Some(name.to_owned()), String::new())
        }
        Event::ToolArgs { index, text } => {
            ("call_arguments", Some(index), None, None, text.to_owned())
        }
        Event::ToolEnd { index } => ("call_end", Some(index), None, None, String::new()),
    }
}

/// Makes a described format known; answers its name.
#[pyfunction]
fn register_format(description: &str) -> PyResult<&'static str> {
    let format = overt_parse::described(description).map_err(PyValueError::new_err)?;
    overt_parse::register(format);
    Ok(format.name)
}

#[pyfunction]
fn tool_parsers() -> Vec<&'static str> {
    let formats = overt_parse::formats();
    let mut names: Vec<_> = formats.iter().flat_map(|format| format.tool_names).copied().collect();
    names.sort_unstable();
    names
}

#[pyfunction]
fn reasoning_parsers() -> Vec<&'static str> {
    let formats = overt_parse::formats();
    let mut names: Vec<_> =
        formats.iter().flat_map(|format| format.reasoning_names).copied().collect();
    names.sort_unstable();
    names
}

/// A format's own spelling of calls; `calls` is JSON, a list of `{name, arguments}`.
#[pyfunction]
fn write_calls(parser: &str, calls: &[u8], tools: &[u8]) -> PyResult<String> {
    let format = overt_parse::tool_format(parser)
        .ok_or_else(|| PyValueError::new_err(format!("no tool-call parser is named {parser:?}")))?;
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let calls: Vec<Value> = serde_json::from_slice(calls).map_err(wrong)?;
    let tools: Vec<Value> = serde_json::from_slice(tools).map_err(wrong)?;
    let tools = Tools::of(&tools);
    let written: Vec<_> = calls
        .iter()
        .map(|call| {
            let name = call["name"].as_str().unwrap_or_default();
            overt_parse::Written { name, arguments: &call["arguments"], tool: tools.get(name) }
        })
        .collect();
    Ok(format.write(&written))
}

/// What constrained outputs are held to, for the capabilities.
#[pyfunction]
fn grammar<'py>(py: Python<'py>) -> Bound<'py, PyBytes> {
    let limits = overt_grammar::Limits::default();
    let told = json!({
        "whitespace": {
            "policy": "bounded",
            "pattern": overt_grammar::Whitespace::BOUNDED,
            "meaning": "between the parts of JSON, once",
        },
        "numbers": {
            "largest": overt_grammar::Numbers::LARGEST,
            "largest_integer": overt_grammar::Numbers::INTEGER,
            "fraction_digits": overt_grammar::Numbers::FRACTION,
            "exponents": false,
            "meaning": "on either side of 0, where the schema sets no bound of its own",
        },
        "limits": {
            "schema_bytes": limits.schema_bytes,
            "schema_depth": limits.schema_depth,
            "properties": limits.properties,
            "enum_values": limits.enum_values,
            "regex_bytes": limits.regex_bytes,
            "grammar_bytes": limits.grammar_bytes,
            "choices": limits.choices,
            "repeats": limits.repeats,
        },
    });
    PyBytes::new(py, told.to_string().as_bytes())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Parser>()?;
    module.add_function(wrap_pyfunction!(register_format, module)?)?;
    module.add_function(wrap_pyfunction!(tool_parsers, module)?)?;
    module.add_function(wrap_pyfunction!(reasoning_parsers, module)?)?;
    module.add_function(wrap_pyfunction!(write_calls, module)?)?;
    module.add_function(wrap_pyfunction!(grammar, module)?)
}
