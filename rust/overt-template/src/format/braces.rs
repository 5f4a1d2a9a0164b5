//! `text.format(values)`.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::{MAX_WIDTH, number};
use crate::budget;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::{Kind, access, escaped, refused, text, to_text};
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
        if depth > 1 {
            return Err(invalid("format: places are nested too deep"));
        }
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
        self.state.consume_fuel(out.len() as u64 / 64)?;
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
                value = access::item(&value, &key)?;
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

#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

fn read_spec(text: &str) -> Result<Spec, Error> {
    let mut spec = Spec::default();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '=' | '^'));
    if is_align(chars.get(1)) {
        (spec.fill, spec.align) = (chars.first().copied(), chars.get(1).copied());
        at = 2;
    } else if is_align(chars.first()) {
        spec.align = chars.first().copied();
        at = 1;
    }
    if let Some(sign @ ('+' | '-' | ' ')) = chars.get(at) {
        spec.sign = Some(*sign);
        at += 1;
    }
    if chars.get(at) == Some(&'#') {
        spec.alternate = true;
        at += 1;
    }
    if chars.get(at) == Some(&'0') {
        spec.fill = spec.fill.or(Some('0'));
        spec.align = spec.align.or(Some('='));
        at += 1;
    }
    spec.width = read_number(&chars, &mut at)?.unwrap_or(0);
    if let Some(grouping @ (',' | '_')) = chars.get(at) {
        spec.grouping = Some(*grouping);
        at += 1;
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        let Some(precision) = read_number(&chars, &mut at)? else {
            return Err(invalid("format: . without a precision"));
        };
        spec.precision = Some(precision);
    }
    spec.kind = chars.get(at).copied();
    if chars.len() > at + 1 {
        return Err(invalid(format!("format: {text:?} is no format")));
    }
    Ok(spec)
}

fn read_number(chars: &[char], at: &mut usize) -> Result<Option<usize>, Error> {
    let digits: String = chars[*at..].iter().take_while(|c| c.is_ascii_digit()).collect();
    *at += digits.len();
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number <= MAX_WIDTH => Ok(Some(number)),
        _ => Err(invalid(format!("format: a width or precision of {digits}: at most {MAX_WIDTH}"))),
    }
}

fn formatted(state: &State, value: &Value, text: &str) -> Result<String, Error> {
    let spec = read_spec(text)?;
    let (sign, body, numeric) = match Kind::of(value) {
        Kind::Str(content) => {
            if !matches!(spec.kind, None | Some('s'))
                || spec.align == Some('=') && spec.fill != Some('0')
                || spec.sign.is_some()
                || spec.grouping.is_some()
                || spec.alternate
            {
                return Err(invalid(format!("format: {text:?} is no format of a text")));
            }
            let taken: String = match spec.precision {
                Some(precision) => content.chars().take(precision).collect(),
                None => content.to_owned(),
            };
            (String::new(), taken, false)
        }
        Kind::Bool(flag) if text.is_empty() => {
            return Ok(if flag { "True" } else { "False" }.to_owned());
        }
        Kind::Bool(flag) => integer(i128::from(flag), &spec)?,
        Kind::Int(number) => integer(number, &spec)?,
        Kind::Float(number) if text.is_empty() => return Ok(repr::float(number)),
        Kind::Float(number) => float(number, &spec)?,
        _ if text.is_empty() => return Ok(to_text(state, value)?.into_owned()),
        _ => return Err(refused(&format!("format {text:?}"), value)),
    };
    let fill = spec.fill.unwrap_or(' ');
    let missing = spec.width.saturating_sub(sign.chars().count() + body.chars().count());
    let pad = |count: usize| fill.to_string().repeat(count);
    Ok(match spec.align.unwrap_or(if numeric { '>' } else { '<' }) {
        '=' if numeric => format!("{sign}{}{body}", pad(missing)),
        '<' | '=' => format!("{sign}{body}{}", pad(missing)),
        '^' => format!("{}{sign}{body}{}", pad(missing / 2), pad(missing - missing / 2)),
        _ => format!("{}{sign}{body}", pad(missing)),
    })
}

fn sign(negative: bool, spec: &Spec) -> String {
    match (negative, spec.sign) {
        (true, _) => "-".to_owned(),
        (false, Some(sign @ ('+' | ' '))) => sign.to_string(),
        _ => String::new(),
    }
}

fn integer(number: i128, spec: &Spec) -> Result<(String, String, bool), Error> {
    let kind = spec.kind.unwrap_or('d');
    match kind {
        'd' | 'n' | 'b' | 'o' | 'x' | 'X' if spec.precision.is_none() => {}
        'c' => {
            let c = u32::try_from(number).ok().and_then(char::from_u32);
            let c = c.ok_or_else(|| invalid(format!("format: {number} is no character")))?;
            return Ok((String::new(), c.to_string(), true));
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' => return float(number as f64, spec),
        _ => return Err(invalid("format: no such format of an integer")),
    }
    let digits = number::digits(number.unsigned_abs(), kind);
    let every = if kind.eq_ignore_ascii_case(&'d') || kind == 'n' { 3 } else { 4 };
    let digits = spec.grouping.map_or(digits.clone(), |mark| grouped(&digits, mark, every));
    let prefix = if spec.alternate && !matches!(kind, 'd' | 'n') {
        format!("0{kind}")
    } else {
        String::new()
    };
    Ok((sign(number < 0, spec) + &prefix, digits, true))
}

fn float(number: f64, spec: &Spec) -> Result<(String, String, bool), Error> {
    let magnitude = number.abs();
    let body = match spec.kind {
        Some('%') => {
            number::float(magnitude * 100.0, 'f', spec.precision.unwrap_or(6), false) + "%"
        }
        Some(kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => {
            number::float(magnitude, kind, spec.precision.unwrap_or(6), spec.alternate)
        }
        None => match spec.precision {
            None => repr::float(magnitude),
            Some(precision) => {
                let text = number::float(magnitude, 'g', precision, false);
                if text.contains(['.', 'e', 'n', 'i']) { text } else { text + ".0" }
            }
        },
        Some(_) => return Err(invalid("format: no such format of a float")),
    };
    let body = match spec.grouping {
        Some(mark) => {
            let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
            grouped(&body[..end], mark, 3) + &body[end..]
        }
        None => body,
    };
    Ok((sign(number.is_sign_negative() && !number.is_nan(), spec), body, true))
}

fn grouped(digits: &str, mark: char, every: usize) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(every) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}
