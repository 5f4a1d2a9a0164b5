//! Inputs as values whose text is marked, and values without their marks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Tuple, Value, ValueKind};
use serde_json::Value as Json;

use super::print;
use super::taint::{Tag, Taint};

/// Containers that the template made and nested deeper than this keep their marks: they do not print either.
pub(crate) const MAX_DEPTH: usize = 128;

/// A container, number, boolean or null of an input: behaves as the unmarked value, prints with marks.
#[derive(Debug)]
pub(crate) struct Marked {
    taint: Arc<Taint>,
    /// The same value without marks.
    pub(crate) plain: Value,
    /// Whose the punctuation of a container and the digits of a number are.
    pub(crate) tag: Option<Tag>,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Scalar,
    List(Vec<Value>),
    Map { pairs: Vec<(Value, Value)>, index: HashMap<String, usize> },
}

impl Object for Marked {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.shape {
            Shape::Scalar => ObjectRepr::Plain,
            Shape::List(_) => ObjectRepr::Seq,
            Shape::Map { .. } => ObjectRepr::Map,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.shape {
            Shape::Scalar => None,
            Shape::List(items) => items.get(key.as_usize()?).cloned(),
            Shape::Map { .. } => self.get_value_by_str(key.as_str()?),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match &self.shape {
            Shape::Map { pairs, index } => {
                let at = index.get(self.taint.plain(key).as_ref())?;
                pairs.get(*at).map(|pair| pair.1.clone())
            }
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.shape {
            Shape::Scalar => Enumerator::NonEnumerable,
            Shape::List(items) => Enumerator::Seq(items.len()),
            Shape::Map { pairs, .. } => {
                Enumerator::Values(pairs.iter().map(|pair| pair.0.clone()).collect())
            }
        }
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.plain.is_true()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Value::from_dyn_object(self.clone());
        f.write_str(&print::with_marks(&self.taint, &value, &self.plain.to_string(), false))
    }
}

/// A number, boolean or None with a mark.
pub(crate) fn scalar(taint: &Arc<Taint>, plain: Value, tag: Tag) -> Value {
    Value::from_object(Marked { taint: taint.clone(), plain, tag: Some(tag), shape: Shape::Scalar })
}

/// A list of values that are marked already; `plain` is the same list without marks.
pub(crate) fn list(taint: &Arc<Taint>, plain: Value, items: Vec<Value>, tag: Option<Tag>) -> Value {
    Value::from_object(Marked { taint: taint.clone(), plain, tag, shape: Shape::List(items) })
}

/// A mapping of values that are marked already, each with its key's text and tag.
pub(crate) fn map(
    taint: &Arc<Taint>,
    plain: Value,
    entries: Vec<(&str, Tag, Value)>,
    tag: Tag,
) -> Value {
    let index = entries.iter().enumerate().map(|(at, entry)| (entry.0.to_owned(), at)).collect();
    let pairs = entries
        .into_iter()
        .map(|(key, tag, value)| (Value::from(taint.mark(key, tag)), value))
        .collect();
    Value::from_object(Marked {
        taint: taint.clone(),
        plain,
        tag: Some(tag),
        shape: Shape::Map { pairs, index },
    })
}

/// Everything in `json` marked with one tag; `plain` is the same value without marks.
pub(crate) fn tree(taint: &Arc<Taint>, json: &Json, plain: &Value, tag: Tag) -> Value {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => scalar(taint, plain.clone(), tag),
        Json::String(text) => Value::from(taint.mark(text, tag)),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(at, item)| tree(taint, item, &item_of(plain, at), tag)).collect();
            list(taint, plain.clone(), items, Some(tag))
        }
        Json::Object(object) => {
            let entries = object.iter();
            let entries = entries
                .map(|(key, value)| (key.as_str(), tag, tree(taint, value, &of(plain, key), tag)));
            map(taint, plain.clone(), entries.collect(), tag)
        }
    }
}

/// The item of a list without marks.
pub(crate) fn item_of(plain: &Value, at: usize) -> Value {
    plain.get_item_by_index(at).unwrap_or_default()
}

/// The value of a key of a mapping without marks.
pub(crate) fn of(plain: &Value, key: &str) -> Value {
    plain.get_attr(key).unwrap_or_default()
}

/// What a value is, if it is marked and no text.
pub(crate) fn marked(value: &Value) -> Option<&Marked> {
    value.downcast_object_ref::<Marked>()
}

/// True of a marked number, boolean or None.
pub(crate) fn is_scalar(value: &Value) -> bool {
    marked(value).is_some_and(|marked| matches!(marked.shape, Shape::Scalar))
}

/// A value without its marks.
pub(crate) fn plain(taint: &Taint, value: &Value) -> Value {
    plain_within(taint, value, MAX_DEPTH)
}

/// Values without their marks.
pub(crate) fn plain_all(taint: &Taint, values: &[Value]) -> Vec<Value> {
    values.iter().map(|value| plain(taint, value)).collect()
}

fn plain_within(taint: &Taint, value: &Value, depth: usize) -> Value {
    if let Some(text) = value.as_str() {
        return match taint.plain(text) {
            std::borrow::Cow::Borrowed(_) => value.clone(),
            std::borrow::Cow::Owned(plain) if value.is_safe() => Value::from_safe_string(plain),
            std::borrow::Cow::Owned(plain) => Value::from(plain),
        };
    }
    if let Some(marked) = marked(value) {
        return marked.plain.clone();
    }
    let Some(object) = value.as_object().filter(|_| depth > 0) else { return value.clone() };
    let inner = |item: &Value| plain_within(taint, item, depth - 1);
    if let Some(kwargs) = value.is_kwargs().then(|| Kwargs::try_from(value.clone()).ok()).flatten()
    {
        let pairs = kwargs.args().map(|name| (name, inner(&of(value, name))));
        return Value::from(pairs.collect::<Kwargs>());
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> =
                value.try_iter().into_iter().flatten().map(|item| inner(&item)).collect();
            if value.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) }
        }
        // A namespace may hold itself, and the loop's own object is no data.
        ValueKind::Map if is_data(object.type_name()) => {
            let pairs = object.try_iter_pairs().into_iter().flatten();
            Value::from_pairs(pairs.map(|(key, item)| (inner(&key), inner(&item))))
        }
        _ => value.clone(),
    }
}

fn is_data(type_name: &str) -> bool {
    !type_name.starts_with("minijinja::") || type_name.contains("merge_object")
}
