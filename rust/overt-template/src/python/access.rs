//! Attributes, items, slices and calls.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind, State};

use super::objects::{Own, range_slice};
use super::{Kind, compare, expect_int, list, math, refused, text, tuple};
use crate::budget;
use crate::error::invalid;
use crate::methods;
use crate::provenance::marks;

/// Attributes of Python's own, which the sandbox hides.
const INTERNAL: [&str; 28] = [
    "__class__",
    "__init__",
    "__new__",
    "__doc__",
    "__dir__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__hash__",
    "__str__",
    "__repr__",
    "__format__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__contains__",
    "__getattribute__",
    "__setattr__",
    "__delattr__",
    "__reduce__",
    "__reduce_ex__",
    "__sizeof__",
    "__subclasshook__",
];

fn undefined(what: &str) -> Error {
    Error::new(ErrorKind::UndefinedError, format!("{what} of an undefined value"))
}

/// `value.name`: a method or another attribute of the type first, then an item.
pub(crate) fn attribute(value: &Value, name: &str) -> Result<Value, Error> {
    if let Some(found) = type_attribute(value, name)? {
        return Ok(found);
    }
    Ok(value.get_item(&Value::from(name)).unwrap_or_default())
}

/// What Python's type itself has under a name.
pub(crate) fn type_attribute(value: &Value, name: &str) -> Result<Option<Value>, Error> {
    let kind = Kind::of(value);
    if INTERNAL.contains(&name) {
        // There, but not for templates.
        return Ok(Some(Value::UNDEFINED));
    }
    if matches!(kind, Kind::Undefined) {
        return Err(undefined(&format!("attribute {name}")));
    }
    if let Some(found) = methods::property(&kind, name) {
        return Ok(Some(found));
    }
    if methods::changes(&kind, name) {
        // Not to be had in a template, which must not change its input.
        return Ok(Some(Value::UNDEFINED));
    }
    Ok(match kind {
        Kind::Namespace(_) | Kind::Loop | Kind::Macro => {
            value.get_attr(name).ok().filter(|found| !found.is_undefined())
        }
        kind if methods::has(&kind, name) => {
            Some(Value::from_object(Own::Bound(value.clone(), name.to_owned())))
        }
        Kind::Tuple(_) if matches!(name, "grouper" | "list") => {
            value.get_attr(name).ok().filter(|found| !found.is_undefined())
        }
        _ => None,
    })
}

/// `value[key]`: an item, or an attribute of that name.
pub(crate) fn item(state: &State, value: &Value, key: &Value) -> Result<Value, Error> {
    let key = &*marks::bare(key);
    let found = match Kind::of(value) {
        Kind::Undefined => return Err(undefined("an item")),
        Kind::Dict(dict) if !compare::is_key(state, key, dict.len())? => None,
        Kind::Dict(dict) => dict.get(key).cloned(),
        Kind::Str(content) => {
            // Characters have no fixed width: reaching one takes time.
            budget::read(state, content.len())?;
            character(content, key).map(|c| text(c, value.is_safe()))
        }
        Kind::List(items) | Kind::Tuple(items) => {
            index(key, || items.len()).and_then(|index| items.get(index).cloned())
        }
        Kind::Own(own) => index(key, || own.length().unwrap_or(0)).and_then(|index| own.at(index)),
        Kind::Foreign => value.get_item(key).ok().filter(|found| !found.is_undefined()),
        _ => None,
    };
    match (found, key.as_str()) {
        (Some(found), _) => Ok(found),
        (None, Some(name)) => Ok(type_attribute(value, name)?.unwrap_or_default()),
        (None, None) => Ok(Value::UNDEFINED),
    }
}

fn character(content: &str, key: &Value) -> Option<char> {
    let at = match Kind::of(key) {
        Kind::Int(at) => at,
        Kind::Bool(flag) => i128::from(flag),
        _ => return None,
    };
    if at < 0 {
        return content.chars().nth_back(usize::try_from(-(at + 1)).ok()?);
    }
    content.chars().nth(usize::try_from(at).ok()?)
}

fn index(key: &Value, length: impl Fn() -> usize) -> Option<usize> {
    let index = match Kind::of(key) {
        Kind::Int(index) => index,
        Kind::Bool(flag) => i128::from(flag),
        _ => return None,
    };
    usize::try_from(if index < 0 { index + length() as i128 } else { index }).ok()
}

/// `value[start:stop:step]`.
pub(crate) fn slice(state: &State, value: &Value, bounds: [&Value; 3]) -> Result<Value, Error> {
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        if !matches!(Kind::of(bound), Kind::None) {
            *number = Some(expect_int("the bound of a slice", bound)?);
        }
    }
    let [start, stop, step] = numbers;
    let spend = |length: usize, each: usize| budget::make(state, length * each);
    match Kind::of(value) {
        Kind::Undefined => Err(undefined("a slice")),
        Kind::Str(content) => {
            spend(content.len(), 1)?;
            let safe = value.is_safe();
            if step.is_none_or(|step| step == 1) {
                return Ok(text(contiguous(content, start, stop)?, safe));
            }
            let chars: Vec<char> = content.chars().collect();
            let bounds = math::bounds(chars.len(), start, stop, step)?;
            Ok(text(math::indices(bounds).map(|index| chars[index]).collect::<String>(), safe))
        }
        Kind::List(items) | Kind::Tuple(items) => {
            spend(items.len(), size_of::<Value>())?;
            let bounds = math::bounds(items.len(), start, stop, step)?;
            let sliced: Vec<Value> =
                math::indices(bounds).map(|index| items[index].clone()).collect();
            Ok(if matches!(Kind::of(value), Kind::Tuple(_)) { tuple(sliced) } else { list(sliced) })
        }
        Kind::Own(own @ Own::Range { .. }) => {
            let (start, stop, step) = math::bounds(own.length().unwrap_or(0), start, stop, step)?;
            range_slice(own, start, stop, step)
        }
        _ => Err(refused("a slice", value)),
    }
}

/// Characters from `start` to `stop`.
fn contiguous(content: &str, start: Option<i128>, stop: Option<i128>) -> Result<&str, Error> {
    let length = if content.is_ascii() { content.len() } else { content.chars().count() };
    let (start, stop, _) = math::bounds(length, start, stop, None)?;
    let (start, stop) = (usize::try_from(start).unwrap_or(0), usize::try_from(stop).unwrap_or(0));
    if start >= stop {
        return Ok("");
    }
    if length == content.len() {
        return Ok(&content[start..stop]);
    }
    let mut at = content.char_indices().map(|(at, _)| at).chain([content.len()]);
    let first = at.nth(start).unwrap_or(content.len());
    let last = at.nth(stop - start - 1).unwrap_or(content.len());
    Ok(&content[first..last])
}

/// `value.name(args)`.
pub(crate) fn call(
    state: &mut State,
    value: &Value,
    name: &str,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let kind = Kind::of(value);
    match &kind {
        Kind::Undefined => return Err(undefined(&format!("method {name}"))),
        Kind::Loop if name == "cycle" && args.is_empty() => {
            return Err(invalid("loop.cycle: no items to cycle through"));
        }
        Kind::Loop if name == "changed" => {
            args.iter().try_for_each(|arg| compare::comparable(state, arg))?;
            let args: Vec<Value> = args.iter().map(|arg| marks::bare(arg).into_owned()).collect();
            return value.call_method(state, name, &args);
        }
        Kind::Loop if name == "cycle" => return value.call_method(state, name, args),
        kind if methods::changes(kind, name) => {
            return Err(invalid(format!(
                "{name}() would change its object, which a chat template cannot"
            )));
        }
        kind if methods::has(kind, name) => {
            return methods::call(state, value, name, args, kwargs);
        }
        _ => {}
    }
    let callee = attribute(value, name)?;
    if callee.is_undefined() {
        return Err(Error::new(
            ErrorKind::UnknownMethod,
            format!("a {} has no method {name}", kind.name()),
        ));
    }
    invoke(state, &callee, args, kwargs)
}

/// `callee(args)`.
pub(crate) fn invoke(
    state: &mut State,
    callee: &Value,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    if let Kind::Own(Own::Bound(value, name)) = Kind::of(callee) {
        return methods::call(state, value, name, args, kwargs);
    }
    if callee.as_object().is_none() {
        return Err(refused("a call", callee));
    }
    let mut all = args.to_vec();
    if kwargs.args().next().is_some() {
        all.push(Value::from(kwargs));
    }
    callee.call(state, &all)
}
