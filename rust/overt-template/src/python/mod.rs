//! Values as Python sees them.

pub(crate) mod access;
pub(crate) mod compare;
pub(crate) mod math;
pub(crate) mod namespace;
pub(crate) mod objects;
pub(crate) mod sort;

use std::borrow::Cow;

use indexmap::IndexMap;
use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::budget;
use crate::error::invalid;
use crate::provenance::{Marked, marked_keys, marks};
use namespace::Namespace;
use objects::Own;

/// A mapping as the engine holds it.
pub(crate) type Dict = IndexMap<Value, Value>;

/// Containers inside each other.
pub(crate) const MAX_DEPTH: usize = 128;

/// Values looked at for one step of the budget.
const VISITS_PER_STEP: u64 = 4;

/// A value by Python's type.
pub(crate) enum Kind<'a> {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(&'a str),
    List(&'a [Value]),
    Tuple(&'a [Value]),
    Dict(&'a Dict),
    Own(&'a Own),
    Namespace(&'a Namespace),
    /// `loop`.
    Loop,
    Macro,
    /// A function of the environment.
    Function,
    /// A sequence of the engine's own making.
    Foreign,
}

impl Kind<'_> {
    /// The kind of a value.
    pub(crate) fn of(value: &Value) -> Kind<'_> {
        match value.kind() {
            ValueKind::Undefined => Kind::Undefined,
            ValueKind::None => Kind::None,
            ValueKind::Bool => Kind::Bool(value.is_true()),
            ValueKind::Number => number(value),
            ValueKind::String | ValueKind::Bytes => Kind::Str(value.as_str().unwrap_or_default()),
            _ => of_object(value),
        }
    }

    /// Python's name of the type.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined value",
            Self::None => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) | Self::Foreign => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Own(own) => own.type_name(),
            Self::Namespace(_) => "namespace",
            Self::Loop => "loop",
            Self::Macro => "macro",
            Self::Function => "function",
        }
    }
}

fn number(value: &Value) -> Kind<'_> {
    if value.is_integer()
        && let Ok(number) = i128::try_from(value.clone())
    {
        return Kind::Int(number);
    }
    Kind::Float(f64::try_from(value.clone()).unwrap_or(f64::INFINITY))
}

fn of_object(value: &Value) -> Kind<'_> {
    let Some(object) = value.as_object() else { return Kind::Undefined };
    if let Some(list) = object.downcast_ref::<Vec<Value>>() {
        return Kind::List(list);
    }
    if let Some(dict) = object.downcast_ref::<Dict>() {
        return Kind::Dict(dict);
    }
    if let Some(tuple) = object.downcast_ref::<Tuple>() {
        return Kind::Tuple(tuple);
    }
    if let Some(marked) = object.downcast_ref::<Marked>() {
        return Kind::of(&marked.inner);
    }
    if let Some(own) = object.downcast_ref::<Own>() {
        return match own {
            Own::Group(pair) => Kind::Tuple(pair),
            own => Kind::Own(own),
        };
    }
    if let Some(namespace) = object.downcast_ref::<Namespace>() {
        return Kind::Namespace(namespace);
    }
    // The engine keeps these types to itself.
    match object.type_name().rsplit("::").next() {
        Some("Loop") => Kind::Loop,
        Some("Macro") => Kind::Macro,
        _ => match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => Kind::Foreign,
            _ => Kind::Function,
        },
    }
}

/// A refusal that names an operation and a type.
pub(crate) fn refused(what: &str, value: &Value) -> Error {
    if value.is_undefined() {
        return Error::new(ErrorKind::UndefinedError, format!("{what}: the value is undefined"));
    }
    invalid(format!("{what}: not possible for a value of type {}", Kind::of(value).name()))
}

/// A list.
pub(crate) fn list(items: Vec<Value>) -> Value {
    Value::from_object(items)
}

/// A tuple.
pub(crate) fn tuple(items: Vec<Value>) -> Value {
    Value::from(Tuple::from(items))
}

/// An integer.
pub(crate) fn int(number: i128) -> Value {
    match i64::try_from(number) {
        Ok(number) => Value::from(number),
        Err(_) => Value::from(number),
    }
}

/// The integer that `number` is cut to, exactly; None of an infinity and of what is no number.
///
/// # Errors
/// Where that has more than 127 bits.
pub(crate) fn whole(what: &str, number: f64) -> Result<Option<i128>, Error> {
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    match number.trunc() {
        cut if !cut.is_finite() => Ok(None),
        // From -2**127 on, and below 2**127, the cast is exact.
        cut if (-LIMIT..LIMIT).contains(&cut) => Ok(Some(cut as i128)),
        _ => Err(too_large(what)),
    }
}

/// A result that no integer here can hold.
pub(crate) fn too_large(what: &str) -> Error {
    invalid(format!("{what}: the result is too large: at most 127 bits"))
}

/// A text, marked as safe where it comes from one that is.
pub(crate) fn text(text: impl Into<String>, safe: bool) -> Value {
    let text = text.into();
    if safe { Value::from_safe_string(text) } else { Value::from(text) }
}

/// True of None, marked or not.
pub(crate) fn is_none(value: &Value) -> bool {
    matches!(Kind::of(value), Kind::None)
}

/// `len(value)`, where it has one.
pub(crate) fn length(value: &Value) -> Option<usize> {
    match Kind::of(value) {
        Kind::Undefined => Some(0),
        Kind::Str(text) => Some(text.chars().count()),
        Kind::List(items) | Kind::Tuple(items) => Some(items.len()),
        Kind::Dict(dict) => Some(dict.len()),
        Kind::Own(own) => own.length(),
        Kind::Foreign => value.len(),
        Kind::Loop => value.get_attr("length").ok().and_then(|length| length.as_usize()),
        _ => None,
    }
}

/// The keys of a mapping, with the marks that they have.
pub(crate) fn keys<'a>(
    value: &'a Value,
    dict: &'a Dict,
) -> impl ExactSizeIterator<Item = &'a Value> {
    let marked = marked_keys(value);
    dict.keys().enumerate().map(|(index, key)| marked.get(index).unwrap_or(key))
}

/// The items that Python iterates over; a generator is used up.
pub(crate) fn items(state: &State, value: &Value) -> Result<Vec<Value>, Error> {
    let items: Vec<Value> = match Kind::of(value) {
        Kind::Undefined => Vec::new(),
        Kind::Str(text) => {
            state.consume_fuel(text.len() as u64 / 2)?;
            text.chars().map(Value::from).collect()
        }
        Kind::List(items) | Kind::Tuple(items) => items.to_vec(),
        Kind::Dict(dict) => keys(value, dict).cloned().collect(),
        Kind::Own(own) => match own.items() {
            Some(items) => items?,
            None => return Err(refused("iteration", value)),
        },
        Kind::Foreign => value.try_iter()?.collect(),
        _ => return Err(refused("iteration", value)),
    };
    state.consume_fuel(items.len() as u64 / 2)?;
    budget::spend(items.len() * size_of::<Value>())?;
    Ok(items)
}

/// Counts all that a value holds.
pub(crate) fn counted(state: &State, value: &Value) -> Result<(), Error> {
    if let Some(text) = value.as_str() {
        return budget::read(state, text.len());
    }
    match Kind::of(value) {
        Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) => {
            let mut visited = 0;
            check_depth(state, value, 0, &mut visited)?;
            state.consume_fuel(visited / VISITS_PER_STEP)
        }
        _ => Ok(()),
    }
}

/// A new list, its depth checked.
pub(crate) fn sealed(state: &State, value: Value) -> Result<Value, Error> {
    let mut visited = 0;
    check_depth(state, &value, 0, &mut visited)?;
    state.consume_fuel(visited / VISITS_PER_STEP)?;
    Ok(value)
}

/// Refuses containers nested too deep, whose destruction would overflow the stack.
fn check_depth(state: &State, value: &Value, depth: usize, visited: &mut u64) -> Result<(), Error> {
    *visited += 1;
    if *visited > 1024 {
        state.consume_fuel(*visited / VISITS_PER_STEP)?;
        budget::spend(0)?;
        *visited = 0;
    }
    if depth > MAX_DEPTH {
        return Err(invalid(format!("a value is nested deeper than {MAX_DEPTH}")));
    }
    let mut each = |item: &Value| match item.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
            check_depth(state, item, depth + 1, visited)
        }
        _ => {
            *visited += 1;
            Ok(())
        }
    };
    match Kind::of(value) {
        Kind::List(items) | Kind::Tuple(items) => items.iter().try_for_each(&mut each),
        Kind::Dict(dict) => dict.values().try_for_each(&mut each),
        Kind::Own(own) => own.parts().iter().try_for_each(&mut each),
        // It changes later: counted, for no look into it says how deep it will be.
        Kind::Loop => budget::nest(),
        _ => Ok(()),
    }
}

/// `str(value)`.
pub(crate) fn to_text<'a>(state: &State, value: &'a Value) -> Result<Cow<'a, str>, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Cow::Borrowed(text));
    }
    crate::repr::text(state, value).map(Cow::Owned)
}

/// The text of an argument that must be one.
pub(crate) fn expect_text<'a>(what: &str, value: &'a Value) -> Result<&'a str, Error> {
    match value.as_str() {
        Some(text) => Ok(text),
        None => Err(refused(what, value)),
    }
}

/// An argument that must be an integer; booleans are.
pub(crate) fn expect_int(what: &str, value: &Value) -> Result<i128, Error> {
    match Kind::of(value) {
        Kind::Int(number) => Ok(number),
        Kind::Bool(flag) => Ok(i128::from(flag)),
        _ => Err(refused(what, value)),
    }
}

/// HTML's five characters, as entities.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let taint = marks::current();
    for c in text.chars() {
        let (plain, mark) = taint.as_ref().map_or((c, None), |taint| taint.glyph(c));
        let entity = match plain {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\'' => "&#39;",
            '"' => "&#34;",
            _ => {
                out.push(c);
                continue;
            }
        };
        match (&taint, mark) {
            (Some(taint), Some(mark)) => out.push_str(&taint.mark(entity, mark)),
            _ => out.push_str(entity),
        }
    }
    out
}
