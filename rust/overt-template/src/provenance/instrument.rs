//! An environment in which decisions see text without marks and text keeps its marks.

use std::sync::Arc;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::expression::{NUMBER, PLAIN};
use super::taint::Taint;
use super::value::{is_scalar, marked, of, plain, plain_all};
use super::{operations, print};
use crate::environment::environment;
use crate::error::invalid;
use crate::{filters, methods};

/// Tests that look at a value; the others look at its kind, which marks do not change.
const TESTS: [&str; 37] = [
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "eq",
    "equalto",
    "ne",
    "lt",
    "lessthan",
    "le",
    "gt",
    "greaterthan",
    "ge",
    "in",
    "startingwith",
    "endingwith",
    "lower",
    "upper",
    "sameas",
    "true",
    "false",
    "boolean",
    "odd",
    "even",
    "divisibleby",
    "number",
    "integer",
    "int",
    "float",
    "string",
    "mapping",
    "iterable",
    "sequence",
    "containing",
    "none",
];

/// Filters that look into text, or into numbers.
const FILTERS: [&str; 18] = [
    "trim",
    "upper",
    "lower",
    "title",
    "capitalize",
    "replace",
    "escape",
    "e",
    "indent",
    "split",
    "lines",
    "int",
    "float",
    "abs",
    "round",
    "bool",
    "sum",
    "pprint",
];

/// Filters that put items in order or pick among them by their values.
const CHOOSERS: [&str; 4] = ["sort", "unique", "min", "max"];

/// An environment without templates, for marks of `taint`.
pub(crate) fn environment_for(taint: &Arc<Taint>) -> Environment<'static> {
    let base = Arc::new(environment());
    let mut env = environment();
    let (marks, plain_env) = (taint.clone(), base.clone());
    env.set_formatter(move |out, _, value| {
        out.write_str(&printed(&marks, &plain_env, value)?)
            .map_err(|_| invalid("the output cannot be written"))
    });
    let marks = taint.clone();
    env.set_unknown_method_callback(move |state, value, method, args| {
        call_method(&marks, state, value, method, args)
    });
    for name in TESTS {
        let (marks, plain_env) = (taint.clone(), base.clone());
        env.add_test(name, move |args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            plain_env.empty_state().perform_test(name, &plain_all(&marks, &args))
        });
    }
    for name in FILTERS {
        let (marks, plain_env) = (taint.clone(), base.clone());
        env.add_filter(name, move |args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
            let args = args.into_values();
            let result = plain_env.empty_state().apply_filter(name, &plain_all(&marks, &args))?;
            Ok(operations::carry(&marks, name, &args, result))
        });
    }
    for name in CHOOSERS {
        let (marks, plain_env) = (taint.clone(), base.clone());
        env.add_filter(name, move |args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
            let args = args.into_values();
            let result = plain_env.empty_state().apply_filter(name, &plain_all(&marks, &args))?;
            Ok(chosen(&marks, &args, result))
        });
    }
    let (marks, plain_env) = (taint.clone(), base.clone());
    env.add_filter("tojson", move |args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
        let args = args.into_values();
        let plain_args = plain_all(&marks, &args);
        let text = plain_env.empty_state().apply_filter("tojson", &plain_args)?;
        let Some(value) = args.first() else { return Ok(text) };
        let text = text.as_str().unwrap_or_default();
        Ok(Value::from(print::with_marks(&marks, value, text, sorts_keys(&plain_args))))
    });
    let (marks, plain_env) = (taint.clone(), base.clone());
    env.add_filter("string", move |value: Value| -> Result<Value, Error> {
        match value.as_str() {
            Some(_) => Ok(value),
            None => Ok(Value::from(printed(&marks, &plain_env, &value)?)),
        }
    });
    let (marks, plain_env) = (taint.clone(), base.clone());
    env.add_filter("dictsort", move |args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
        let args = args.into_values();
        let pairs = plain_env.empty_state().apply_filter("dictsort", &plain_all(&marks, &args))?;
        Ok(args.first().map_or(Value::default(), |map| sorted_pairs(&marks, map, &pairs)))
    });
    let (marks, plain_env) = (taint.clone(), base.clone());
    env.add_filter("format", move |args: Rest<ValueOrKwargs>| {
        let format = |args: &[Value]| plain_env.empty_state().apply_filter("format", args);
        formatted(&marks, "%s", &args.into_values(), format)
    });
    let (marks, plain_env) = (taint.clone(), base);
    env.add_function("range", move |args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
        let args = args.into_values();
        let mut state = plain_env.empty_state();
        let range = state.lookup("range").unwrap_or_default();
        range.call(&mut state, &plain_all(&marks, &args))
    });
    let marks = taint.clone();
    env.add_function("strftime_now", move |state: &State, format: &str| {
        filters::strftime_now(state, &marks.plain(format))
    });
    let marks = taint.clone();
    env.add_filter(PLAIN, move |value: &Value| plain(&marks, value));
    let marks = taint.clone();
    env.add_filter(NUMBER, move |value: Value| match is_scalar(&value) {
        true => plain(&marks, &value),
        false => value,
    });
    env
}

/// A value as a template prints it.
fn printed(
    taint: &Arc<Taint>,
    base: &Environment<'static>,
    value: &Value,
) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let text = base.empty_state().format(plain(taint, value))?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
            Ok(print::with_marks(taint, value, &text, false))
        }
        _ => Ok(text),
    }
}

/// The result of a formatting operation on `args`; `one` is the format that prints a value as it is.
fn formatted(
    taint: &Arc<Taint>,
    one: &str,
    args: &[Value],
    mut format: impl FnMut(&[Value]) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let result = format(&plain_all(taint, args))?;
    let mut texts = args.to_vec();
    for value in texts.iter_mut().skip(1).filter(|value| marked(value).is_some()) {
        if let Ok(text) = format(&[Value::from(one), plain(taint, value)]) {
            let text = text.as_str().unwrap_or_default();
            *value = Value::from(print::with_marks(taint, value, text, false));
        }
    }
    let carried = format(&texts).ok();
    Ok(operations::checked(taint, carried, args, result))
}

fn sorts_keys(args: &[Value]) -> bool {
    let named = args.last().filter(|value| value.is_kwargs());
    named.or(args.get(4)).is_some_and(|value| match value.is_kwargs() {
        true => of(value, "sort_keys").is_true(),
        false => value.is_true(),
    })
}

/// The items of the first of `args` that `result`, a list or one item without marks, consists of.
fn chosen(taint: &Arc<Taint>, args: &[Value], result: Value) -> Value {
    let items = args.first().and_then(|items| items.try_iter().ok()).into_iter().flatten();
    let mut items: Vec<(Value, Value)> = items.map(|item| (plain(taint, &item), item)).collect();
    let mut find = |wanted: &Value| {
        let at = items.iter().position(|item| item.0 == *wanted)?;
        Some(items.remove(at).1)
    };
    if let Some(item) = find(&result) {
        return item;
    }
    match result.try_iter() {
        Ok(list) => list.map(|item| find(&item).unwrap_or(item)).collect(),
        Err(_) => result,
    }
}

/// `pairs`, the pairs of `map` in some order, with the marks of `map`.
fn sorted_pairs(taint: &Arc<Taint>, map: &Value, pairs: &Value) -> Value {
    let keys: Vec<(Value, Value)> =
        map.try_iter().into_iter().flatten().map(|key| (plain(taint, &key), key)).collect();
    let with_marks = |pair: &Value| {
        let wanted = pair.get_item_by_index(0).ok()?;
        let key = &keys.iter().find(|key| key.0 == wanted)?.1;
        Some(Value::from(vec![key.clone(), map.get_item(key).ok()?]))
    };
    let pairs = pairs.try_iter().into_iter().flatten();
    pairs.map(|pair| with_marks(&pair).unwrap_or(pair)).collect()
}

fn call_method(
    taint: &Arc<Taint>,
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let plain_args = plain_all(taint, args);
    match value.kind() {
        // It puts the items into the result, whatever is in them.
        ValueKind::String if method == "join" => {
            methods::unknown_method(state, value, method, args)
        }
        ValueKind::String if method == "format" => {
            let all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
            formatted(taint, "{}", &all, |all| {
                methods::unknown_method(state, &all[0], method, &all[1..])
            })
        }
        ValueKind::String => {
            let result = methods::unknown_method(state, &plain(taint, value), method, &plain_args)?;
            let all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
            Ok(match result.kind() {
                // Positions and answers are for decisions.
                ValueKind::Number | ValueKind::Bool => result,
                _ => operations::carry(taint, method, &all, result),
            })
        }
        ValueKind::Map if method == "copy" && marked(value).is_some() && args.is_empty() => {
            Ok(value.clone())
        }
        ValueKind::Map if method == "get" && !args.is_empty() => {
            let mut with_key = args.to_vec();
            with_key[0] = plain_args[0].clone();
            methods::unknown_method(state, value, method, &with_key)
        }
        ValueKind::Seq | ValueKind::Iterable if method == "count" || method == "index" => {
            methods::unknown_method(state, &plain(taint, value), method, &plain_args)
        }
        _ => methods::unknown_method(state, value, method, args),
    }
}
