//! `text.format(values)`.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::number;
use super::spec::formatted;
use crate::budget;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::{access, escaped, text, to_text};
use crate::repr;

/// Values by position and by name.
pub(crate) struct Values<'a> {
    pub(crate) positional: &'a [Value],
    pub(crate) named: &'a dyn Fn(&str) -> Option<Value>,
}

struct Filler<'a> {
    state: &'a State<'a, 'a>,
    values: &'a Values<'a>,
    safe: bool,
    /// The next place without number; None after a place with one.
    next: Option<usize>,
    numbered: bool,
}

/// Fills the places of a template; a safe one escapes what it is filled with.
pub(crate) fn format(
    state: &State,
    template: &str,
    positional: &[Value],
    kwargs: &Kwargs,
    safe: bool,
) -> Result<Value, Error> {
    let named = |name: &str| {
        kwargs.get::<Option<Value>>(name).ok().flatten().or_else(|| {
            // A given None is a value.
            kwargs.has(name).then(|| Value::from(()))
        })
    };
    let values = Values { positional, named: &named };
    let out = format_with(state, template, &values, safe)?;
    Ok(text(out, safe))
}

/// As [`format`], with any lookup of names.
pub(crate) fn format_with(
    state: &State,
    template: &str,
    values: &Values,
    safe: bool,
) -> Result<String, Error> {
    let mut filler = Filler { state, values, safe, next: Some(0), numbered: false };
    filler.fill(template, 0)
}

impl Filler<'_> {
    fn fill(&mut self, template: &str, depth: usize) -> Result<String, Error> {
        // The text, the formats of its places, and of the places in those.
        if depth > 2 {
            return Err(invalid("format: places are nested too deep"));
        }
        budget::read(self.state, template.len())?;
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                out.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(invalid("format: a single } in the text"));
            }
            let Some(end) = closing(rest) else { return Err(invalid("format: a { is not closed")) };
            self.state.consume_fuel(4)?;
            let filled = self.place(&rest[..end], depth)?;
            budget::spend(filled.len())?;
            out.push_str(&filled);
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        budget::read(self.state, out.len())?;
        Ok(out)
    }

    fn place(&mut self, place: &str, depth: usize) -> Result<String, Error> {
        let end = name_end(place);
        let (name, mut spec) = place.split_at(end);
        let mut conversion = None;
        if let Some(after) = spec.strip_prefix('!') {
            let Some(kind) = after.chars().next() else {
                return Err(invalid("format: ! without a conversion"));
            };
            conversion = Some(kind);
            spec = &after[kind.len_utf8()..];
        }
        let spec = match spec.strip_prefix(':') {
            Some(spec) => spec,
            None if spec.is_empty() => "",
            None => return Err(invalid("format: expected : after a conversion")),
        };
        let mut value = self.value(name)?;
        match conversion {
            None => {}
            Some('s') => value = Value::from(to_text(self.state, &value)?.into_owned()),
            Some('r') => value = Value::from(repr::repr(self.state, &value)?),
            Some('a') => value = Value::from(number::ascii(&repr::repr(self.state, &value)?)),
            Some(kind) => return Err(invalid(format!("format: !{kind} is no conversion"))),
        }
        let spec = self.fill(spec, depth + 1)?;
        let filled = marks::printed(&value, formatted(self.state, &value, &spec)?);
        Ok(if self.safe && !value.is_safe() { escaped(&filled) } else { filled })
    }

    fn value(&mut self, path: &str) -> Result<Value, Error> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (name, mut rest) = path.split_at(end);
        let mut value = self.first(name)?;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return Err(invalid("format: an empty attribute"));
                }
                value = access::attribute(&value, &after[..end])?;
                rest = &after[end..];
            } else {
                let Some(end) = rest.find(']') else {
                    return Err(invalid("format: a [ is not closed"));
                };
                let key = &rest[1..end];
                let key = key.parse::<i64>().map_or_else(|_| Value::from(key), Value::from);
                value = access::item(self.state, &value, &key)?;
                rest = &rest[end + 1..];
                if !rest.is_empty() && !rest.starts_with(['.', '[']) {
                    return Err(invalid("format: only . or [ may follow ]"));
                }
            }
        }
        Ok(value)
    }

    fn first(&mut self, name: &str) -> Result<Value, Error> {
        let index = if name.is_empty() {
            if self.numbered {
                return Err(invalid("format: places with and without numbers are mixed"));
            }
            let index = self.next.unwrap_or(0);
            self.next = Some(index + 1);
            index
        } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
            if self.next != Some(0) && !self.numbered {
                return Err(invalid("format: places with and without numbers are mixed"));
            }
            self.numbered = true;
            name.parse().unwrap_or(usize::MAX)
        } else {
            return (self.values.named)(name)
                .ok_or_else(|| invalid(format!("format: no value has the name {name}")));
        };
        self.values
            .positional
            .get(index)
            .cloned()
            .ok_or_else(|| invalid(format!("format: no value for place {index}")))
    }
}

/// Where the place that begins a text ends.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut bracket = false;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => bracket = true,
            ']' => bracket = false,
            '{' if !bracket => depth += 1,
            '}' if !bracket => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Where a place's name ends: at `!` or `:` outside of brackets.
fn name_end(place: &str) -> usize {
    let mut bracket = false;
    place
        .char_indices()
        .find(|(_, c)| {
            bracket = (bracket || *c == '[') && *c != ']';
            !bracket && matches!(c, '!' | ':')
        })
        .map_or(place.len(), |(at, _)| at)
}
