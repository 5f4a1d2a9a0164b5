//! `tojson` as transformers has it: Python's `json.dumps` with `ensure_ascii=False` by default.

use std::cmp::Ordering;
use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State};

use crate::error::invalid;
use crate::filters::Call;
use crate::python::sort::sort;
use crate::python::{self, Kind, MAX_DEPTH, compare, refused};
use crate::repr::{self, Sink};

struct Dump<'a> {
    state: &'a State<'a, 'a>,
    out: Sink<'a>,
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The filter `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(crate) fn tojson(call: Call) -> Result<Value, Error> {
    let (state, value, [ensure_ascii, indent, separators, sort_keys]) =
        call.arguments(["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = indent.map(read_indent).transpose()?;
    let (item_separator, key_separator) = match separators {
        Some(pair) => read_separators(&pair)?,
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let mut dump = Dump {
        state,
        out: Sink::new(state),
        ensure_ascii: ensure_ascii.is_some_and(|value| value.is_true()),
        indent,
        item_separator,
        key_separator,
        sort_keys: sort_keys.is_some_and(|value| value.is_true()),
    };
    dump.value(value, 0)?;
    Ok(Value::from(dump.out.finish()?))
}

fn read_indent(value: Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let width = match bool::try_from(value.clone()) {
        Ok(flag) if value.kind() == ValueKind::Bool => i64::from(flag),
        _ => i64::try_from(value)?,
    };
    // Python takes a negative width as no indentation, and any positive one: a bound keeps memory in hand.
    match usize::try_from(width.max(0)) {
        Ok(width) if width <= 256 => Ok(" ".repeat(width)),
        _ => Err(invalid(format!("tojson(indent={width}) is out of range: at most 256"))),
    }
}

fn read_separators(pair: &Value) -> Result<(String, String), Error> {
    let parts: Vec<Value> = pair.try_iter()?.collect();
    match parts.as_slice() {
        [item, key] => match (item.as_str(), key.as_str()) {
            (Some(item), Some(key)) => Ok((item.to_owned(), key.to_owned())),
            _ => Err(invalid("tojson(separators=…) takes two strings")),
        },
        _ => Err(invalid("tojson(separators=…) takes two strings")),
    }
}

impl Dump<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!("tojson: nested deeper than {MAX_DEPTH}")));
        }
        let outer = self.out.enter(value);
        match Kind::of(value) {
            Kind::None => self.out.push("null"),
            Kind::Bool(flag) => self.out.push(if flag { "true" } else { "false" }),
            Kind::Int(number) => self.out.push(&number.to_string()),
            Kind::Float(number) => self.out.push(&float(number)),
            Kind::Str(text) => self.string(text),
            Kind::List(items) | Kind::Tuple(items) => {
                self.container(("[", "]"), items.iter(), depth, |dump, item| {
                    dump.value(item, depth + 1)
                })
            }
            Kind::Dict(dict) => {
                let mut pairs: Vec<(&Value, &Value)> =
                    python::keys(value, dict).zip(dict.values()).collect();
                if self.sort_keys {
                    let state = self.state;
                    state.consume_fuel(pairs.len() as u64)?;
                    pairs = sort(pairs, &mut |(a, _), (b, _)| {
                        Ok(compare::ordered(state, a, b)? == Some(Ordering::Less))
                    })?;
                }
                self.container(("{", "}"), pairs.into_iter(), depth, |dump, (key, value)| {
                    dump.string(&key_text(key)?)?;
                    dump.out.push(&dump.key_separator)?;
                    dump.value(value, depth + 1)
                })
            }
            _ => Err(refused("tojson", value)),
        }?;
        self.out.leave(outer);
        Ok(())
    }

    fn container<T>(
        &mut self,
        (open, close): (&str, &str),
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        mut item: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.push(open)?;
        let length = items.len();
        for (index, value) in items.enumerate() {
            if index > 0 {
                self.out.push(&self.item_separator)?;
            }
            self.new_line(depth + 1)?;
            item(self, value)?;
        }
        if length > 0 {
            self.new_line(depth)?;
        }
        self.out.push(close)
    }

    fn new_line(&mut self, depth: usize) -> Result<(), Error> {
        let Some(indent) = &self.indent else { return Ok(()) };
        self.out.push("\n")?;
        (0..depth).try_for_each(|_| self.out.push(indent))
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.out.push("\"")?;
        let mut plain = 0;
        for (at, marked) in text.char_indices() {
            let (c, mark) = self.out.meaning(marked);
            let special = matches!(c, '"' | '\\')
                || (c as u32) < 0x20
                || (self.ensure_ascii && (c as u32) > 0x7e);
            if !special {
                continue;
            }
            self.out.push_text(&text[plain..at])?;
            plain = at + marked.len_utf8();
            match c {
                '"' => self.out.push_marked("\\\"", mark)?,
                '\\' => self.out.push_marked("\\\\", mark)?,
                '\n' => self.out.push_marked("\\n", mark)?,
                '\r' => self.out.push_marked("\\r", mark)?,
                '\t' => self.out.push_marked("\\t", mark)?,
                '\u{8}' => self.out.push_marked("\\b", mark)?,
                '\u{c}' => self.out.push_marked("\\f", mark)?,
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let mut escape = String::new();
                        // Writing to a String cannot fail.
                        let _ = write!(escape, "\\u{unit:04x}");
                        self.out.push_marked(&escape, mark)?;
                    }
                }
            }
        }
        self.out.push_text(&text[plain..])?;
        self.out.push("\"")
    }
}

fn float(number: f64) -> String {
    match number {
        n if n.is_nan() => "NaN".to_owned(),
        n if n.is_infinite() => if n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        n => repr::float(n),
    }
}

/// A key as `json.dumps` writes it: text, numbers, booleans and None are keys, nothing else is.
fn key_text(key: &Value) -> Result<String, Error> {
    match Kind::of(key) {
        Kind::Str(text) => Ok(text.to_owned()),
        Kind::Int(number) => Ok(number.to_string()),
        Kind::Float(number) => Ok(float(number)),
        Kind::Bool(flag) => Ok(if flag { "true" } else { "false" }.to_owned()),
        Kind::None => Ok("null".to_owned()),
        _ => Err(refused("tojson: a key", key)),
    }
}
