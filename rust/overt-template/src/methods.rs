//! Python methods that templates call and minijinja's own set lacks.

use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use crate::error::invalid;

/// Called for a method that the engine does not know.
pub(crate) fn unknown_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let own = match value.kind() {
        ValueKind::String => of_text(value.as_str().unwrap_or_default(), method, args)?,
        ValueKind::Map if method == "copy" => {
            let () = from_args(args)?;
            let pairs = value.try_iter()?.map(|key| {
                let item = value.get_item(&key).unwrap_or_default();
                (key, item)
            });
            Some(Value::from_pairs(pairs.collect::<Vec<_>>()))
        }
        // What changes a list or a mapping in place is forbidden in chat templates.
        _ if matches!(
            method,
            "append" | "extend" | "insert" | "pop" | "remove" | "clear" | "update" | "setdefault"
        ) =>
        {
            return Err(Error::new(
                ErrorKind::UnknownMethod,
                format!("{method}() would change its object; chat templates cannot"),
            ));
        }
        _ => None,
    };
    match own {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn of_text(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match method {
        "split" | "rsplit" => {
            let (separator, limit, kwargs): (Option<Value>, Option<Value>, Kwargs) =
                from_args(args)?;
            let separator = if separator.is_some() { separator } else { kwargs.get("sep")? };
            let limit = if limit.is_some() { limit } else { kwargs.get("maxsplit")? };
            kwargs.assert_all_used()?;
            let limit = match limit {
                Some(limit) => usize::try_from(i64::try_from(limit)?).unwrap_or(usize::MAX),
                None => usize::MAX,
            };
            let separator = separator.filter(|value| !value.is_none());
            let parts = match &separator {
                None => split_blank(text, limit, method == "rsplit"),
                Some(separator) => match separator.as_str() {
                    Some("") | None => {
                        return Err(invalid(format!(
                            "{method}: the separator must be a non-empty text"
                        )));
                    }
                    Some(separator) if method == "split" => {
                        text.splitn(limit.saturating_add(1), separator).collect()
                    }
                    Some(separator) => {
                        let mut parts: Vec<&str> =
                            text.rsplitn(limit.saturating_add(1), separator).collect();
                        parts.reverse();
                        parts
                    }
                },
            };
            parts.into_iter().map(Value::from).collect()
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            if separator.is_empty() {
                return Err(invalid(format!("{method}: the separator must be a non-empty text")));
            }
            let parts = match method {
                "partition" => {
                    text.split_once(separator).map_or([text, "", ""], |(a, b)| [a, separator, b])
                }
                _ => text.rsplit_once(separator).map_or(["", "", text], |(a, b)| [a, separator, b]),
            };
            parts.into_iter().map(Value::from).collect()
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "index" | "rindex" => {
            let (part,): (&str,) = from_args(args)?;
            let found = if method == "index" { text.find(part) } else { text.rfind(part) };
            match found {
                Some(at) => Value::from(text[..at].chars().count()),
                None => {
                    return Err(invalid(format!("{method}: the text does not contain {part:?}")));
                }
            }
        }
        "zfill" | "ljust" | "rjust" => {
            let (width, fill): (usize, Option<&str>) = from_args(args)?;
            let missing = width.saturating_sub(text.chars().count());
            if missing > 65_536 {
                return Err(invalid(format!(
                    "{method}({width}) is out of range: at most 65536 more characters"
                )));
            }
            let padding = fill.unwrap_or(" ").repeat(missing);
            match method {
                "ljust" => Value::from(format!("{text}{padding}")),
                "rjust" => Value::from(format!("{padding}{text}")),
                _ => {
                    let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
                    Value::from(format!("{sign}{}{digits}", "0".repeat(missing)))
                }
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// Splits at runs of white space, at most `limit` times, from the left or the right.
fn split_blank(text: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && parts.len() < limit {
        let cut = if from_right {
            rest.rfind(char::is_whitespace)
        } else {
            rest.find(char::is_whitespace)
        };
        let Some(at) = cut else { break };
        if from_right {
            parts.push(rest[at..].trim_start());
            rest = rest[..at].trim_end();
        } else {
            parts.push(&rest[..at]);
            rest = rest[at..].trim_start();
        }
    }
    if !rest.is_empty() {
        // What the limit leaves over keeps the outer white space on the far side, as in Python.
        parts.push(rest);
    }
    if from_right {
        parts.reverse();
    }
    parts
}
