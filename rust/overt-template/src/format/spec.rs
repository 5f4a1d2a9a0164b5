//! Formats of single values, as `str.format` has them behind the colon.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::{MAX_WIDTH, number};
use crate::error::invalid;
use crate::python::{Kind, refused, to_text};
use crate::repr;

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

/// A value in a format.
pub(super) fn formatted(state: &State, value: &Value, text: &str) -> Result<String, Error> {
    let spec = read_spec(text)?;
    let number = match Kind::of(value) {
        Kind::Str(content) => return self::text(content, &spec, text),
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
    let Number { sign, digits, rest } = number;
    let digits = match spec.grouping {
        Some(mark) if !digits.is_empty() => {
            let zeros = spec.fill == Some('0') && spec.align == Some('=');
            let taken = sign.len() + rest.chars().count();
            let least = if zeros { spec.width.saturating_sub(taken) } else { 0 };
            grouped(&digits, mark, spec.group(), least)
        }
        _ => digits,
    };
    Ok(padded(&sign, &(digits + &rest), &spec, '>'))
}

fn text(content: &str, spec: &Spec, format: &str) -> Result<String, Error> {
    if !matches!(spec.kind, None | Some('s'))
        || spec.align == Some('=') && spec.fill != Some('0')
        || spec.sign.is_some()
        || spec.grouping.is_some()
        || spec.alternate
    {
        return Err(invalid(format!("format: {format:?} is no format of a text")));
    }
    let taken: String = match spec.precision {
        Some(precision) => content.chars().take(precision).collect(),
        None => content.to_owned(),
    };
    // A text has no sign to put zeros behind.
    let spec = Spec { align: spec.align.filter(|align| *align != '='), ..*spec };
    Ok(padded("", &taken, &spec, '<'))
}

fn padded(sign: &str, body: &str, spec: &Spec, align: char) -> String {
    let fill = spec.fill.unwrap_or(' ').to_string();
    let missing = spec.width.saturating_sub(sign.chars().count() + body.chars().count());
    let pad = |count: usize| fill.repeat(count);
    match spec.align.unwrap_or(align) {
        '=' => format!("{sign}{}{body}", pad(missing)),
        '<' => format!("{sign}{body}{}", pad(missing)),
        '^' => format!("{}{sign}{body}{}", pad(missing / 2), pad(missing - missing / 2)),
        _ => format!("{}{sign}{body}", pad(missing)),
    }
}

/// A number's parts: its sign and prefix, the digits that can be grouped, what follows them.
struct Number {
    sign: String,
    digits: String,
    rest: String,
}

impl Spec {
    fn sign(&self, negative: bool) -> String {
        match (negative, self.sign) {
            (true, _) => "-".to_owned(),
            (false, Some(sign @ ('+' | ' '))) => sign.to_string(),
            _ => String::new(),
        }
    }

    /// Digits of a group.
    fn group(&self) -> usize {
        if matches!(self.kind, Some('b' | 'o' | 'x' | 'X')) { 4 } else { 3 }
    }

    fn check_grouping(&self) -> Result<(), Error> {
        match (self.grouping, self.kind) {
            (Some(mark), Some(kind @ ('n' | 'c')))
            | (Some(mark @ ','), Some(kind @ ('b' | 'o' | 'x' | 'X'))) => {
                Err(invalid(format!("format: {mark} does not go with {kind}")))
            }
            _ => Ok(()),
        }
    }
}

fn integer(number: i128, spec: &Spec) -> Result<Number, Error> {
    let kind = spec.kind.unwrap_or('d');
    spec.check_grouping()?;
    match kind {
        'd' | 'n' | 'b' | 'o' | 'x' | 'X' if spec.precision.is_none() => {}
        'c' if spec.precision.is_none() && spec.sign.is_none() && !spec.alternate => {
            let c = u32::try_from(number).ok().and_then(char::from_u32);
            let c = c.ok_or_else(|| invalid(format!("format: {number} is no character")))?;
            return Ok(Number { sign: String::new(), digits: String::new(), rest: c.to_string() });
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' => return float(number as f64, spec),
        _ => return Err(invalid("format: no such format of an integer")),
    }
    let prefix = if spec.alternate && !matches!(kind, 'd' | 'n') {
        format!("0{kind}")
    } else {
        String::new()
    };
    let digits = number::digits(number.unsigned_abs(), kind);
    Ok(Number { sign: spec.sign(number < 0) + &prefix, digits, rest: String::new() })
}

fn float(number: f64, spec: &Spec) -> Result<Number, Error> {
    spec.check_grouping()?;
    let magnitude = number.abs();
    let precision = spec.precision.unwrap_or(6);
    let body = match (spec.kind, spec.precision) {
        (Some('%'), _) => number::float(magnitude * 100.0, 'f', precision, spec.alternate) + "%",
        (Some('n'), _) => number::float(magnitude, 'g', precision, spec.alternate),
        (Some(kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G')), _) => {
            number::float(magnitude, kind, precision, spec.alternate)
        }
        (None, None) if spec.alternate && magnitude.is_finite() => {
            number::pointed(repr::float(magnitude))
        }
        (None, None) => repr::float(magnitude),
        (None, Some(precision)) => number::plain(magnitude, precision, spec.alternate),
        (Some(_), _) => return Err(invalid("format: no such format of a float")),
    };
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    let (digits, rest) = body.split_at(end);
    Ok(Number {
        sign: spec.sign(number.is_sign_negative() && !number.is_nan()),
        digits: digits.to_owned(),
        rest: rest.to_owned(),
    })
}

/// Groups of `every` digits, with zeros before them up to a width of `least`; no mark comes first.
fn grouped(digits: &str, mark: char, every: usize, least: usize) -> String {
    let (mut left, mut least) = (digits, least);
    let mut groups = Vec::new();
    loop {
        let length = every.min(left.len().max(least).max(1));
        let (rest, group) = left.split_at(left.len() - length.min(left.len()));
        groups.push(format!("{group:0>length$}"));
        (left, least) = (rest, least.saturating_sub(length));
        if left.is_empty() && least == 0 {
            break;
        }
        least = least.saturating_sub(1);
    }
    groups.reverse();
    groups.join(&mark.to_string())
}
