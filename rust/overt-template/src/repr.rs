//! Values as Python prints them: `str()` and `repr()` of what templates can hold.

use std::fmt::Write;
use std::sync::Arc;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State};

use crate::budget;
use crate::error::invalid;
use crate::provenance::{Tag, Taint, marked, marks};
use crate::python::objects::{Own, View};
use crate::python::{self, Kind, MAX_DEPTH};

/// Python would print where an object lies.
const ADDRESS: &str = "0x7f0000000000";

/// Text that is paid for while it grows.
pub(crate) struct Sink<'a> {
    state: &'a State<'a, 'a>,
    text: String,
    paid: usize,
    /// The marks in use, if any.
    marks: Option<Arc<Taint>>,
    /// Whose what is written of the container at hand is.
    tag: Option<Tag>,
    /// Where the containers lie that are being written, one in the other.
    open: Vec<*const ()>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(state: &'a State<'_, '_>) -> Self {
        Self {
            state,
            text: String::new(),
            paid: 0,
            marks: marks::current(),
            tag: None,
            open: Vec::new(),
        }
    }

    /// Writes what an object is printed with, such as its brackets.
    pub(crate) fn push(&mut self, part: &str) -> Result<(), Error> {
        self.push_marked(part, None)
    }

    /// Writes in place of a character that has a mark.
    pub(crate) fn push_marked(&mut self, part: &str, mark: Option<Tag>) -> Result<(), Error> {
        match (&self.marks, mark.or(self.tag)) {
            (Some(taint), Some(tag)) => self.push_text(&taint.mark(part, tag)),
            _ => self.push_text(part),
        }
    }

    /// Writes a text, with the marks that it has.
    pub(crate) fn push_text(&mut self, part: &str) -> Result<(), Error> {
        self.text.push_str(part);
        if self.text.len() - self.paid > 8192 { self.pay() } else { Ok(()) }
    }

    /// A character without its mark, and the mark.
    pub(crate) fn meaning(&self, c: char) -> (char, Option<Tag>) {
        self.marks.as_ref().map_or((c, None), |taint| taint.glyph(c))
    }

    /// Begins to write a value; gives what [`leave`](Self::leave) needs.
    pub(crate) fn enter(&mut self, value: &Value) -> Option<Tag> {
        let outer = self.tag;
        if self.marks.is_some() {
            self.tag = marked(value).and_then(|marked| marked.tag).or(outer);
        }
        outer
    }

    pub(crate) fn leave(&mut self, outer: Option<Tag>) {
        self.tag = outer;
    }

    /// Writes a container, or `again` within itself.
    fn once<T: ?Sized>(
        &mut self,
        container: &T,
        again: &str,
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let place = std::ptr::from_ref(container).cast();
        if self.open.contains(&place) && size_of_val(container) > 0 {
            return self.push(again);
        }
        self.open.push(place);
        let written = write(self);
        self.open.pop();
        written
    }

    fn pay(&mut self) -> Result<(), Error> {
        let made = self.text.len() - self.paid;
        self.paid = self.text.len();
        // Walking values costs more than copying text.
        self.state.consume_fuel(made as u64 / 8)?;
        budget::spend(made)
    }

    pub(crate) fn finish(mut self) -> Result<String, Error> {
        self.pay()?;
        Ok(self.text)
    }
}

/// True where the engine's own printing may differ from Python's.
pub(crate) fn needs_own(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Number => !value.is_integer(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => true,
        _ => false,
    }
}

/// `str(value)`.
pub(crate) fn text(state: &State, value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let mut sink = Sink::new(state);
    if !value.is_undefined() {
        write(value, &mut sink, 0)?;
    }
    sink.finish()
}

/// `repr(value)`.
pub(crate) fn repr(state: &State, value: &Value) -> Result<String, Error> {
    let mut sink = Sink::new(state);
    write(value, &mut sink, 0)?;
    sink.finish()
}

fn write(value: &Value, out: &mut Sink, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH + 4 {
        return Err(invalid(format!("a value nested deeper than {MAX_DEPTH} cannot be printed")));
    }
    let outer = out.enter(value);
    match Kind::of(value) {
        Kind::Undefined => out.push("Undefined"),
        Kind::None => out.push("None"),
        Kind::Bool(flag) => out.push(if flag { "True" } else { "False" }),
        Kind::Int(number) => out.push(&number.to_string()),
        Kind::Float(number) => out.push(&float(number)),
        Kind::Str(text) => {
            out.push(if value.is_safe() { "Markup(" } else { "" })?;
            quoted(text, out)?;
            out.push(if value.is_safe() { ")" } else { "" })
        }
        Kind::List(items) => out.once(items, "[...]", |out| sequence("[", items, "]", out, depth)),
        Kind::Tuple(items) => {
            let close = if items.len() == 1 { ",)" } else { ")" };
            out.once(items, "(...)", |out| sequence("(", items, close, out, depth))
        }
        Kind::Dict(dict) => out.once(dict, "{...}", |out| {
            mapping(python::keys(value, dict).zip(dict.values()), out, depth)
        }),
        Kind::Own(own) => write_own(own, out, depth),
        Kind::Namespace(namespace) => {
            out.push("<Namespace ")?;
            out.once(namespace, "{...}", |out| mapping(namespace.values().iter(), out, depth))?;
            out.push(">")
        }
        Kind::Loop => {
            let part = |name| value.get_attr(name).unwrap_or_default();
            out.push(&format!("<LoopContext {}/{}>", part("index"), part("length")))
        }
        Kind::Macro => {
            let name = value.get_attr("name").unwrap_or_default();
            match name.as_str() {
                // The body of a call block.
                Some("caller") => out.push("<Macro anonymous>"),
                _ => out.push(&format!("<Macro '{name}'>")),
            }
        }
        Kind::Function => out.push("<function>"),
        Kind::Foreign => {
            let items: Vec<Value> = value.try_iter()?.collect();
            sequence("[", &items, "]", out, depth)
        }
    }?;
    out.leave(outer);
    Ok(())
}

fn sequence(
    open: &str,
    items: &[Value],
    close: &str,
    out: &mut Sink,
    depth: usize,
) -> Result<(), Error> {
    out.push(open)?;
    for (index, item) in items.iter().enumerate() {
        out.push(if index > 0 { ", " } else { "" })?;
        write(item, out, depth + 1)?;
    }
    out.push(close)
}

fn mapping<'v>(
    pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    out: &mut Sink,
    depth: usize,
) -> Result<(), Error> {
    out.push("{")?;
    for (index, (key, value)) in pairs.enumerate() {
        out.push(if index > 0 { ", " } else { "" })?;
        write(key, out, depth + 1)?;
        out.push(": ")?;
        write(value, out, depth + 1)?;
    }
    out.push("}")
}

fn write_own(own: &Own, out: &mut Sink, depth: usize) -> Result<(), Error> {
    match own {
        Own::View(view, _) => {
            let name = match view {
                View::Items => "dict_items([",
                View::Keys => "dict_keys([",
                View::Values => "dict_values([",
            };
            let items = own.items().transpose()?.unwrap_or_default();
            sequence(name, &items, "])", out, depth)
        }
        Own::Range { start, stop, step: 1 } => out.push(&format!("range({start}, {stop})")),
        Own::Range { start, stop, step } => out.push(&format!("range({start}, {stop}, {step})")),
        Own::Group(pair) => sequence("(", pair, ")", out, depth),
        Own::Bound(value, name) => {
            let kind = Kind::of(value).name();
            out.push(&format!("<built-in method {name} of {kind} object at {ADDRESS}>"))
        }
        Own::Variadic { inner, .. } => write(inner, out, depth + 1),
        Own::Given | Own::Missing => Ok(()),
        Own::Generator { name, .. } if name.contains("do_") || name.contains("_or_") => {
            out.push(&format!("<generator object {name} at {ADDRESS}>"))
        }
        own => out.push(&format!("<{} object at {ADDRESS}>", own.type_name())),
    }
}

/// A text in quotes, its unprintable characters escaped.
fn quoted(text: &str, out: &mut Sink) -> Result<(), Error> {
    let plain = marks::text(text);
    let quote = if plain.contains('\'') && !plain.contains('"') { '"' } else { '\'' };
    out.push(quote.encode_utf8(&mut [0; 4]))?;
    for c in text.chars() {
        let (c, mark) = out.meaning(c);
        match c {
            '\\' => out.push_marked("\\\\", mark)?,
            '\n' => out.push_marked("\\n", mark)?,
            '\r' => out.push_marked("\\r", mark)?,
            '\t' => out.push_marked("\\t", mark)?,
            c if c == quote => {
                out.push_marked("\\", mark)?;
                out.push_marked(c.encode_utf8(&mut [0; 4]), mark)?;
            }
            c if printable(c) => out.push_marked(c.encode_utf8(&mut [0; 4]), mark)?,
            c => {
                let code = c as u32;
                let mut escape = String::new();
                // Writing to a String cannot fail.
                let _ = match code {
                    0..=0xff => write!(escape, "\\x{code:02x}"),
                    0x100..=0xffff => write!(escape, "\\u{code:04x}"),
                    _ => write!(escape, "\\U{code:08x}"),
                };
                out.push_marked(&escape, mark)?;
            }
        }
    }
    out.push(quote.encode_utf8(&mut [0; 4]))
}

/// What `repr` leaves as it is; private use, formats and separators are escaped.
pub(crate) fn printable(c: char) -> bool {
    let code = c as u32;
    match code {
        0x20..=0x7e => true,
        0..=0xa0 | 0xad => false,
        // Formats.
        0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890 | 0x891 | 0x8e2 | 0x180e => false,
        // Spaces, formats and separators.
        0x1680 | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000 => false,
        0xfeff | 0xfff9..=0xfffb | 0xe000..=0xf8ff => false,
        0x110bd | 0x110cd | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a => false,
        0xe0001..=0xe007f | 0xf0000.. => false,
        // Characters that are none.
        _ => (code & 0xfffe) != 0xfffe && !(0xfdd0..=0xfdef).contains(&code),
    }
}

/// `repr(number)` of a Python float: shortest digits that read back, exponent below 1e-4 and from 1e16.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_pythons() {
        for (number, expected) in [
            (1.0, "1.0"),
            (1e20, "1e+20"),
            (1e16, "1e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (-0.0, "-0.0"),
            (1.25e300, "1.25e+300"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float(number), expected);
        }
    }
}
