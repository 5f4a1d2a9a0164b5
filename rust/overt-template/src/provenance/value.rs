//! Inputs as values whose text is marked, and values without their marks.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, Value, ValueKind};
use serde_json::Value as Json;

use super::taint::{Tag, Taint};
use crate::python::objects::Own;
use crate::python::{Dict, Kind, list as new_list, tuple};

/// Containers that the template made and nested deeper than this keep their marks: they do not print either.
const MAX_DEPTH: usize = 128;

/// A container, number, boolean or None with marks.
///
/// [`Kind::of`] sees the value inside, so that all of the engine takes it for that; printing sees the marks.
#[derive(Debug)]
pub(crate) struct Marked {
    /// The same value without marks.
    plain: Value,
    /// The same value, with what it contains marked; keys are not, so that they are found.
    pub(crate) inner: Value,
    /// The keys of a mapping, in their order, marked.
    keys: Vec<Value>,
    /// Whose the punctuation of a container and the digits of a number are.
    pub(crate) tag: Option<Tag>,
}

impl Object for Marked {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.inner.kind() {
            ValueKind::Seq => ObjectRepr::Seq,
            ValueKind::Map => ObjectRepr::Map,
            _ => ObjectRepr::Plain,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.inner.as_object()?.get_value(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.inner.kind() {
            ValueKind::Seq => Enumerator::Seq(self.inner.len().unwrap_or(0)),
            ValueKind::Map => Enumerator::Values(self.keys.clone()),
            _ => Enumerator::NonEnumerable,
        }
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.plain.is_true()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.plain)
    }
}

/// A number, boolean or None with a mark.
pub(crate) fn scalar(plain: Value, tag: Tag) -> Value {
    let inner = plain.clone();
    Value::from_object(Marked { plain, inner, keys: Vec::new(), tag: Some(tag) })
}

/// A list of values that are marked already; `plain` is the same list without marks.
pub(crate) fn list(plain: Value, items: Vec<Value>, tag: Option<Tag>) -> Value {
    Value::from_object(Marked { plain, inner: new_list(items), keys: Vec::new(), tag })
}

/// A mapping of values that are marked already, each with its key's text and tag.
pub(crate) fn map(
    taint: &Taint,
    plain: Value,
    entries: Vec<(&str, Tag, Value)>,
    tag: Tag,
) -> Value {
    let keys = entries.iter().map(|(key, tag, _)| Value::from(taint.mark(key, *tag))).collect();
    let inner: Dict =
        entries.into_iter().map(|(key, _, value)| (Value::from(key), value)).collect();
    Value::from_object(Marked { plain, inner: Value::from_object(inner), keys, tag: Some(tag) })
}

/// A mapping that a template makes: its keys are remembered with their marks.
pub(crate) fn keyed(taint: &Taint, pairs: impl IntoIterator<Item = (Value, Value)>) -> Value {
    let (mut inner, mut keys, mut marks) = (Dict::new(), Vec::new(), false);
    for (key, value) in pairs {
        let bare = plain(taint, &key);
        marks |= matches!(bare, Cow::Owned(_));
        if inner.insert(bare.into_owned(), value).is_none() {
            keys.push(key);
        }
    }
    let inner = Value::from_object(inner);
    match marks {
        true => {
            let plain = plain(taint, &inner).into_owned();
            Value::from_object(Marked { plain, inner, keys, tag: None })
        }
        false => inner,
    }
}

/// Everything in `json` marked with one tag; `plain` is the same value without marks.
pub(crate) fn tree(taint: &Taint, json: &Json, plain: &Value, tag: Tag) -> Value {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => scalar(plain.clone(), tag),
        Json::String(text) => Value::from(taint.mark(text, tag)),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(at, item)| tree(taint, item, &item_of(plain, at), tag)).collect();
            list(plain.clone(), items, Some(tag))
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

/// The keys of a marked mapping, in their order; none of other values.
pub(crate) fn marked_keys(value: &Value) -> &[Value] {
    marked(value).map_or(&[], |marked| &marked.keys)
}

/// The tag of a value, or of the first part of it that has one.
pub(crate) fn tag_of(taint: &Taint, value: &Value) -> Option<Tag> {
    tag_within(taint, value, MAX_DEPTH)
}

fn tag_within(taint: &Taint, value: &Value, depth: usize) -> Option<Tag> {
    if let Some(text) = value.as_str() {
        return taint.glyphs(text).iter().find_map(|glyph| glyph.tag);
    }
    if let Some(tag) = marked(value).and_then(|marked| marked.tag) {
        return Some(tag);
    }
    let below = |item: &Value| tag_within(taint, item, depth.checked_sub(1)?);
    match Kind::of(value) {
        Kind::List(items) | Kind::Tuple(items) => items.iter().find_map(below),
        Kind::Dict(dict) => marked_keys(value).iter().chain(dict.values()).find_map(below),
        Kind::Own(Own::View(_, dict)) => below(dict),
        _ => None,
    }
}

/// A value without its marks; borrowed where it has none.
pub(crate) fn plain<'a>(taint: &Taint, value: &'a Value) -> Cow<'a, Value> {
    plain_within(taint, value, MAX_DEPTH).map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Values without their marks.
pub(crate) fn plain_all(taint: &Taint, values: &[Value]) -> Vec<Value> {
    values.iter().map(|value| plain(taint, value).into_owned()).collect()
}

/// Arguments by name without their marks.
pub(crate) fn plain_kwargs(taint: &Taint, kwargs: &Kwargs) -> Kwargs {
    let all = Value::from(kwargs.clone());
    let plain = |name| plain(taint, &of(&all, name)).into_owned();
    kwargs.args().map(|name| (name.to_owned(), plain(name))).collect()
}

fn plain_within(taint: &Taint, value: &Value, depth: usize) -> Option<Value> {
    if let Some(text) = value.as_str() {
        return match taint.plain(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(crate::python::text(text, value.is_safe())),
        };
    }
    if let Some(marked) = marked(value) {
        return Some(marked.plain.clone());
    }
    let each = |items: &[Value]| {
        let inner: Vec<Option<Value>> =
            items.iter().map(|item| plain_within(taint, item, depth.checked_sub(1)?)).collect();
        let changed = inner.iter().any(Option::is_some);
        let pairs = inner.into_iter().zip(items);
        changed.then(|| pairs.map(|(inner, item)| inner.unwrap_or_else(|| item.clone())).collect())
    };
    match Kind::of(value) {
        Kind::List(items) => each(items).map(new_list),
        Kind::Tuple(items) => each(items).map(tuple),
        Kind::Dict(dict) => {
            let values: Vec<Value> = dict.values().cloned().collect();
            let values = each(&values)?;
            Some(Value::from_object(dict.keys().cloned().zip(values).collect::<Dict>()))
        }
        Kind::Foreign => {
            let items: Vec<Value> = value.try_iter().ok()?.collect();
            each(&items).map(new_list)
        }
        _ => None,
    }
}
