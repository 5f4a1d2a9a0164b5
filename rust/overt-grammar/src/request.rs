//! What a request's fields ask for.

use serde_json::Value;

use crate::source::{Constraint, Options, Refused, Whitespace};
use crate::{ebnf, pattern};

/// Kinds of constraint under `structured_outputs`, of which one may be given.
const KINDS: [&str; 6] = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"];
/// What else may stand there.
const SETTINGS: [&str; 3] =
    ["disable_any_whitespace", "disable_additional_properties", "whitespace_pattern"];

/// Kinds that stand at the top of a body, as older clients and other servers spell them; empty values count as
/// absent.
const TOP: [(&str, &str); 9] = [
    ("guided_json", "json"),
    ("guided_regex", "regex"),
    ("guided_choice", "choice"),
    ("guided_grammar", "grammar"),
    ("guided_json_object", "json_object"),
    ("structural_tag", "structural_tag"),
    ("json_schema", "json"),
    ("regex", "regex"),
    ("ebnf", "ebnf"),
];

/// Reads `response_format`, `structured_outputs` and their older and foreign spellings. Gives the constraint and the
/// path of the field that holds it; nothing where the request leaves the output free.
///
/// # Errors
/// [`Refused`] for a field that cannot be read, and where more than one constraint is asked for.
pub fn requested(body: &Value) -> Result<Option<(String, Constraint)>, Refused> {
    let mut found = Vec::new();
    found.extend(response_format(body)?);
    found.extend(structured_outputs(body)?);
    for (field, kind) in TOP {
        let Some(value) = body.get(field) else { continue };
        let empty = match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty {
            found.push((field.to_owned(), read(kind, value, field)?));
        }
    }
    if let [(first, _), (second, _), ..] = &found[..] {
        return Err(Refused::new(
            second,
            format!("{first} constrains the output already; send one of them"),
        ));
    }
    Ok(found.pop())
}

impl Options<'_> {
    /// Takes over what a request says about white space and additional properties.
    ///
    /// # Errors
    /// [`Refused`] for a field of the wrong type, or a pattern that cannot be used.
    pub fn with_request(mut self, body: &Value) -> Result<Self, Refused> {
        let nested =
            |name: &str| body.get("structured_outputs").and_then(|outputs| outputs.get(name));
        let flag = |name: &str| match nested(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => {
                Err(Refused::new(format!("structured_outputs.{name}"), "must be true or false"))
            }
        };
        for (field, value) in [
            ("structured_outputs.whitespace_pattern", nested("whitespace_pattern")),
            ("guided_whitespace_pattern", body.get("guided_whitespace_pattern")),
        ] {
            match value {
                None | Some(Value::Null) => {}
                Some(Value::String(regex)) => {
                    let (regex, _) =
                        pattern::whole(regex, self.limits.regex_bytes).map_err(|error| {
                            Refused::new(
                                field,
                                format!("the regular expression cannot be used: {error}"),
                            )
                        })?;
                    self.whitespace = if regex.is_empty() {
                        Whitespace::None
                    } else {
                        Whitespace::Pattern(regex)
                    };
                }
                Some(_) => {
                    return Err(Refused::new(field, "must be a regular expression, as text"));
                }
            }
        }
        if flag("disable_any_whitespace")? {
            self.whitespace = Whitespace::None;
        }
        self.disable_additional_properties |= flag("disable_additional_properties")?;
        Ok(self)
    }
}

fn response_format(body: &Value) -> Result<Option<(String, Constraint)>, Refused> {
    let field = "response_format";
    let format = match body.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(format) => format,
    };
    let kinds = "text, json_object, json_schema or structural_tag";
    let Some(kind) = format.get("type").and_then(Value::as_str) else {
        return Err(Refused::new(field, format!("must be an object whose type is {kinds}")));
    };
    match kind {
        "text" => Ok(None),
        "json_object" => Ok(Some((field.to_owned(), Constraint::AnyObject))),
        "json_schema" => {
            let path = format!("{field}.json_schema");
            let Some(described) = format.get("json_schema").and_then(Value::as_object) else {
                return Err(Refused::new(path, "must be an object with a name and a schema"));
            };
            for (name, valid) in [
                (
                    "name",
                    described.get("name").is_none_or(|name| name.is_string() || name.is_null()),
                ),
                (
                    "description",
                    described
                        .get("description")
                        .is_none_or(|text| text.is_string() || text.is_null()),
                ),
            ] {
                if !valid {
                    return Err(Refused::new(format!("{path}.{name}"), "must be a text"));
                }
            }
            if described
                .get("strict")
                .is_some_and(|strict| !strict.is_boolean() && !strict.is_null())
            {
                return Err(Refused::new(format!("{path}.strict"), "must be true or false"));
            }
            let path = format!("{path}.schema");
            match described.get("schema") {
                None | Some(Value::Null) => {
                    Err(Refused::new(path, "give the schema that the output must satisfy"))
                }
                Some(schema) => Ok(Some((path.clone(), read("json", schema, &path)?))),
            }
        }
        "structural_tag" => Ok(Some((field.to_owned(), Constraint::StructuralTag(format.clone())))),
        _ => Err(Refused::new(format!("{field}.type"), format!("must be {kinds}"))),
    }
}

fn structured_outputs(body: &Value) -> Result<Option<(String, Constraint)>, Refused> {
    let field = "structured_outputs";
    let outputs = match body.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(outputs)) => outputs,
        Some(_) => {
            return Err(Refused::new(
                field,
                format!("must be an object with one of {}", KINDS.join(", ")),
            ));
        }
    };
    let mut found = None;
    let mut first = "";
    for (kind, value) in outputs {
        let path = format!("{field}.{kind}");
        if value.is_null() || SETTINGS.contains(&kind.as_str()) || kind.starts_with('_') {
            continue;
        }
        if !KINDS.contains(&kind.as_str()) {
            let message = format!(
                "is unknown; give one of {}, and {} if needed",
                KINDS.join(", "),
                SETTINGS.join(", ")
            );
            return Err(Refused::new(path, message));
        }
        if found.is_some() {
            return Err(Refused::new(
                path,
                format!("{field}.{first} constrains the output already; send one of them"),
            ));
        }
        let constraint = read(kind, value, &path)?;
        found = Some((path, constraint));
        first = kind;
    }
    Ok(found)
}

/// One kind of constraint.
fn read(kind: &str, value: &Value, path: &str) -> Result<Constraint, Refused> {
    let text = |what: &str| match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::String(_) => Err(Refused::new(path, "is empty")),
        _ => Err(Refused::new(path, format!("must be {what}, as text"))),
    };
    let parsed = || match value {
        Value::String(_) => serde_json::from_str(&text("JSON")?)
            .map_err(|error| Refused::new(path, format!("is not JSON: {error}"))),
        other => Ok(other.clone()),
    };
    Ok(match kind {
        "json" => match parsed()? {
            schema @ (Value::Object(_) | Value::Bool(_)) => Constraint::Json(schema),
            _ => {
                return Err(Refused::new(
                    path,
                    "must be a JSON Schema: an object, or the text of one",
                ));
            }
        },
        "regex" => Constraint::Regex(text("a regular expression")?),
        "choice" => {
            let texts: Option<Vec<String>> = value
                .as_array()
                .map(|choices| {
                    choices.iter().map(|choice| choice.as_str().map(str::to_owned)).collect()
                })
                .unwrap_or_default();
            match texts {
                Some(texts) if !texts.is_empty() => Constraint::Choice(texts),
                _ => return Err(Refused::new(path, "must be a list of one text or more")),
            }
        }
        "grammar" => {
            let grammar = text("a grammar in EBNF or Lark")?;
            if ebnf::looks_like(&grammar) {
                Constraint::Ebnf(grammar)
            } else {
                Constraint::Lark(grammar)
            }
        }
        "ebnf" => Constraint::Ebnf(text("a grammar in EBNF")?),
        "json_object" => match value {
            Value::Bool(true) => Constraint::AnyObject,
            _ => return Err(Refused::new(path, "must be true; leave it out for free text")),
        },
        _ => match parsed()? {
            tag @ Value::Object(_) => Constraint::StructuralTag(tag),
            _ => {
                return Err(Refused::new(
                    path,
                    "must be a structural tag: an object, or the text of one",
                ));
            }
        },
    })
}
