//! Reads texts of a format that is described at run time: they live as long as the process, like those of the
//! formats that are built in. A process reads a handful of them, at its start.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::core::input::BEHIND;

/// A text that lives as long as the process. Under this name serde's derive does not take it for a text that is
/// borrowed from its input, which would have to live as long.
pub(crate) type Text = &'static str;

pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    String::deserialize(deserializer).and_then(short).map(keep)
}

pub(crate) fn list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'static [&'static str], D::Error> {
    let list = Vec::<String>::deserialize(deserializer)?;
    let kept: Result<Box<[_]>, _> = list.into_iter().map(|text| short(text).map(keep)).collect();
    Ok(Box::leak(kept?))
}

/// A text that readers can hold back and un-read.
fn short<E: Error>(text: String) -> Result<String, E> {
    if text.len() > BEHIND {
        let found = text.len();
        return Err(E::custom(format!("a text of {found} bytes; at most {BEHIND} are allowed")));
    }
    Ok(text)
}

/// `text` for good.
pub(crate) fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A list of rows for good.
pub(crate) fn slice<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'static [T], D::Error> {
    let list = Vec::<T>::deserialize(deserializer)?;
    Ok(Box::leak(list.into_boxed_slice()))
}
