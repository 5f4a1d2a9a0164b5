//! `tojson` as transformers has it: Python's `json.dumps` with `ensure_ascii=False` by default.

use std::fmt::Write;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use crate::error::invalid;
use crate::filters::arguments;
use crate::repr;

/// Nesting that still prints; deeper values would overflow the stack.
const MAX_DEPTH: usize = 128;

struct Dump {
    out: String,
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The filter `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(crate) fn tojson(
    state: &State,
    value: &Value,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let [ensure_ascii, indent, separators, sort_keys] =
        arguments(args, &kwargs, ["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = indent.map(read_indent).transpose()?;
    let (item_separator, key_separator) = match separators {
        Some(pair) => read_separators(&pair)?,
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let mut dump = Dump {
        out: String::new(),
        ensure_ascii: ensure_ascii.is_some_and(|value| value.is_true()),
        indent,
        item_separator,
        key_separator,
        sort_keys: sort_keys.is_some_and(|value| value.is_true()),
    };
    dump.value(value, 0)?;
    state.consume_fuel(dump.out.len() as u64 / 64)?;
    Ok(Value::from(dump.out))
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

impl Dump {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!("tojson: nested deeper than {MAX_DEPTH}")));
        }
        match value.kind() {
            ValueKind::Undefined => return Err(invalid("tojson: the value is undefined")),
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.out.push_str(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.container('[', ']', items.len(), depth, |dump, index| {
                    dump.value(&items[index], depth + 1)
                })?;
            }
            ValueKind::Map => self.map(value, depth)?,
            kind => return Err(invalid(format!("tojson: a {kind} is no JSON value"))),
        }
        Ok(())
    }

    fn map(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut pairs: Vec<(String, Value)> = value
            .try_iter()?
            .map(|key| Ok((key_text(&key)?, value.get_item(&key)?)))
            .collect::<Result<_, Error>>()?;
        if self.sort_keys {
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
        }
        self.container('{', '}', pairs.len(), depth, |dump, index| {
            let (key, value) = &pairs[index];
            dump.string(key);
            let separator = std::mem::take(&mut dump.key_separator);
            dump.out.push_str(&separator);
            dump.key_separator = separator;
            dump.value(value, depth + 1)
        })
    }

    fn container(
        &mut self,
        open: char,
        close: char,
        len: usize,
        depth: usize,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.push(open);
        for index in 0..len {
            if index > 0 {
                let separator = std::mem::take(&mut self.item_separator);
                self.out.push_str(&separator);
                self.item_separator = separator;
            }
            self.new_line(depth + 1);
            item(self, index)?;
        }
        if len > 0 {
            self.new_line(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            for _ in 0..depth {
                self.out.push_str(indent);
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if (c as u32) < 0x20 || (self.ensure_ascii && (c as u32) > 0x7e) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        // Writing to a String cannot fail.
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => match number {
            n if n.is_nan() => "NaN".to_owned(),
            n if n.is_infinite() => if n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
            n => repr::float(n),
        },
        _ => value.to_string(),
    }
}

/// A key as `json.dumps` writes it: text, numbers, booleans and None are keys, nothing else is.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::Number => Ok(number(key)),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        kind => Err(invalid(format!("tojson: a {kind} is no key of a JSON object"))),
    }
}
