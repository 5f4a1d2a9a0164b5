//! `pprint`: what fits a line as `repr` with sorted keys, else one item a line.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Call;
use super::attributes::sort;
use crate::budget;
use crate::python::{self, Dict, Kind, sealed};
use crate::repr;

const WIDTH: usize = 80;

pub(super) fn pprint(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    let ordered = ordered(state, value)?;
    let mut out = String::new();
    lines(state, &ordered, 0, 0, &mut out)?;
    Ok(Value::from(out))
}

/// The value with the keys of its mappings in order.
fn ordered(state: &State, value: &Value) -> Result<Value, Error> {
    let each = |items: &[Value]| {
        items.iter().map(|item| ordered(state, item)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match Kind::of(value) {
        Kind::List(items) => python::list(each(items)?),
        Kind::Tuple(items) => python::tuple(each(items)?),
        Kind::Dict(dict) => {
            let keyed = dict.iter().map(|(key, value)| (vec![key.clone()], (key, value))).collect();
            // Keys that have no order stay as they are.
            let pairs = match sort(state, keyed, false, false) {
                Ok(sorted) => sorted.into_iter().map(|(_, pair)| pair).collect(),
                Err(_) => dict.iter().collect::<Vec<_>>(),
            };
            let mut sorted = Dict::new();
            for (key, value) in pairs {
                sorted.insert(key.clone(), ordered(state, value)?);
            }
            sealed(state, Value::from_object(sorted))?
        }
        _ => value.clone(),
    })
}

/// Ends a line behind an item, and begins the next below it.
fn new_line(state: &State, indent: usize, out: &mut String) -> Result<(), Error> {
    budget::make(state, indent + 3)?;
    out.push_str(",\n");
    out.push_str(&" ".repeat(indent + 1));
    Ok(())
}

/// Writes a value that begins at column `indent` and is followed by `after` characters.
fn lines(
    state: &State,
    value: &Value,
    indent: usize,
    after: usize,
    out: &mut String,
) -> Result<(), Error> {
    let line = repr::repr(state, value)?;
    state.consume_fuel(line.len() as u64 / 4)?;
    if line.chars().count() + indent + after <= WIDTH {
        out.push_str(&line);
        return Ok(());
    }
    let (open, close, items) = match Kind::of(value) {
        Kind::List(items) => ("[", "]", items),
        Kind::Tuple(items) => ("(", if items.len() == 1 { ",)" } else { ")" }, items),
        Kind::Dict(dict) => {
            out.push('{');
            for (index, (key, value)) in dict.iter().enumerate() {
                let key = repr::repr(state, key)?;
                if index > 0 {
                    new_line(state, indent, out)?;
                }
                out.push_str(&key);
                out.push_str(": ");
                let last = index + 1 == dict.len();
                let column = indent + key.chars().count() + 3;
                lines(state, value, column, if last { after + 1 } else { 1 }, out)?;
            }
            out.push('}');
            return Ok(());
        }
        _ => {
            out.push_str(&line);
            return Ok(());
        }
    };
    out.push_str(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            new_line(state, indent, out)?;
        }
        let last = index + 1 == items.len();
        lines(state, item, indent + 1, if last { after + close.len() } else { 1 }, out)?;
    }
    out.push_str(close);
    Ok(())
}
