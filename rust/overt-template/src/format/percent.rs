//! `text % values`.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::{MAX_WIDTH, number};
use crate::budget;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::objects::Own;
use crate::python::{Kind, escaped, refused, text, to_text, whole};
use crate::repr;

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

struct Values<'a> {
    all: &'a Value,
    items: &'a [Value],
    used: usize,
}

impl Values<'_> {
    fn next(&mut self) -> Result<Value, Error> {
        let value = self.items.get(self.used).cloned();
        self.used += 1;
        value.ok_or_else(|| invalid("%: fewer values than places in the text"))
    }
}

/// Fills the places of a template; a safe one escapes what it is filled with.
pub(crate) fn format(
    state: &State,
    template: &str,
    values: &Value,
    safe: bool,
) -> Result<Value, Error> {
    let single = std::slice::from_ref(values);
    let items = match Kind::of(values) {
        Kind::Tuple(items) => items,
        _ => single,
    };
    let mut values = Values { all: values, items, used: 0 };
    let mut by_name = false;
    budget::read(state, template.len())?;
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        state.consume_fuel(4)?;
        let mut named = None;
        if let Some(inside) = rest.strip_prefix('(') {
            let Some(end) = closing(inside) else { return Err(invalid("%: a ( is not closed")) };
            named = Some(item(values.all, &inside[..end])?);
            by_name = true;
            // Places without names find nothing after one with a name.
            values.used = values.items.len();
            rest = &inside[end + 1..];
        }
        let spec = read_spec(&mut rest, &mut values)?;
        let Some(kind) = rest.chars().next() else {
            return Err(invalid("%: the text ends in an unfinished place"));
        };
        rest = &rest[kind.len_utf8()..];
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => values.next()?,
        };
        let filled = marks::printed(&value, fill(state, &value, kind, &spec, safe)?);
        budget::spend(filled.len())?;
        out.push_str(&filled);
    }
    out.push_str(rest);
    // A mapping or a list may stay unread, as anything with items in Python.
    let lenient = matches!(
        Kind::of(values.all),
        Kind::Dict(_) | Kind::List(_) | Kind::Undefined | Kind::Own(Own::Range { .. })
    );
    if values.used < values.items.len() && !by_name && !lenient {
        return Err(invalid("%: more values than places in the text"));
    }
    budget::read(state, out.len())?;
    Ok(text(out, safe))
}

fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

fn item(values: &Value, name: &str) -> Result<Value, Error> {
    match Kind::of(values) {
        Kind::Dict(dict) => dict
            .get(&Value::from(name))
            .cloned()
            .ok_or_else(|| invalid(format!("%: no value has the name {name}"))),
        _ => Err(invalid("%: places with names need a mapping")),
    }
}

fn read_spec(rest: &mut &str, values: &mut Values) -> Result<Spec, Error> {
    let mut spec = Spec::default();
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '0' => spec.zero = true,
            '#' => spec.alternate = true,
            _ => break,
        }
        *rest = &rest[1..];
    }
    if let Some(width) = read_number(rest, values)? {
        spec.left |= width < 0;
        spec.width = bounded(width.unsigned_abs())?;
    }
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        let precision = read_number(rest, values)?.unwrap_or(0);
        spec.precision = Some(bounded(precision.max(0).unsigned_abs())?);
    }
    *rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
    Ok(spec)
}

fn read_number(rest: &mut &str, values: &mut Values) -> Result<Option<i128>, Error> {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        let value = values.next()?;
        return match Kind::of(&value) {
            Kind::Int(number) => Ok(Some(number)),
            Kind::Bool(flag) => Ok(Some(i128::from(flag))),
            _ => Err(refused("%: a width", &value)),
        };
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let digits = &rest[..end];
    *rest = &rest[end..];
    Ok(match digits {
        "" => None,
        digits => Some(digits.parse().unwrap_or(i128::MAX)),
    })
}

fn bounded(number: u128) -> Result<usize, Error> {
    match usize::try_from(number) {
        Ok(number) if number <= MAX_WIDTH => Ok(number),
        _ => Err(invalid(format!("%: a width or precision of {number}: at most {MAX_WIDTH}"))),
    }
}

fn fill(
    state: &State,
    value: &Value,
    kind: char,
    spec: &Spec,
    safe: bool,
) -> Result<String, Error> {
    let guarded = |text: String| if safe && !value.is_safe() { escaped(&text) } else { text };
    let body = match kind {
        's' => guarded(to_text(state, value)?.into_owned()),
        'r' => guarded(repr::repr(state, value)?),
        'a' => guarded(number::ascii(&repr::repr(state, value)?)),
        'c' => character(value)?,
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => return integer(value, kind, spec),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => return float(value, kind, spec),
        kind => return Err(invalid(format!("%: %{kind} is no kind of place"))),
    };
    let body = match spec.precision {
        Some(precision) if kind != 'c' => body.chars().take(precision).collect(),
        _ => body,
    };
    Ok(padded("", &body, spec, false))
}

fn character(value: &Value) -> Result<String, Error> {
    match Kind::of(value) {
        Kind::Bool(flag) => Ok(if flag { "\u{1}" } else { "\0" }.to_owned()),
        Kind::Str(text) if text.chars().count() == 1 => Ok(text.to_owned()),
        Kind::Int(code) => u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .map(String::from)
            .ok_or_else(|| invalid(format!("%c: {code} is no character"))),
        _ => Err(refused("%c", value)),
    }
}

fn integer(value: &Value, kind: char, spec: &Spec) -> Result<String, Error> {
    let number = match Kind::of(value) {
        Kind::Int(number) => number,
        Kind::Bool(flag) => i128::from(flag),
        Kind::Float(number) if matches!(kind, 'd' | 'i' | 'u') => {
            let what = format!("%{kind}");
            whole(&what, number)?.ok_or_else(|| invalid(format!("{what}: no finite number")))?
        }
        _ => return Err(refused(&format!("%{kind}"), value)),
    };
    let mut digits = number::digits(number.unsigned_abs(), kind);
    if let Some(precision) = spec.precision {
        digits = format!("{digits:0>precision$}");
    }
    let prefix = match kind {
        'x' if spec.alternate => "0x",
        'X' if spec.alternate => "0X",
        'o' if spec.alternate => "0o",
        _ => "",
    };
    Ok(padded(&format!("{}{prefix}", sign(number < 0, spec)), &digits, spec, true))
}

fn float(value: &Value, kind: char, spec: &Spec) -> Result<String, Error> {
    let number = match Kind::of(value) {
        Kind::Int(number) => number as f64,
        Kind::Bool(flag) => f64::from(u8::from(flag)),
        Kind::Float(number) => number,
        _ => return Err(refused(&format!("%{kind}"), value)),
    };
    let body = number::float(number.abs(), kind, spec.precision.unwrap_or(6), spec.alternate);
    Ok(padded(sign(number.is_sign_negative() && !number.is_nan(), spec), &body, spec, true))
}

fn sign(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn padded(sign: &str, body: &str, spec: &Spec, zeros: bool) -> String {
    let missing = spec.width.saturating_sub(sign.len() + body.chars().count());
    if spec.left {
        format!("{sign}{body}{}", " ".repeat(missing))
    } else if spec.zero && zeros {
        format!("{sign}{}{body}", "0".repeat(missing))
    } else {
        format!("{}{sign}{body}", " ".repeat(missing))
    }
}
