//! Values of formats that write them without quotes: the tool's schema says what they are.

use serde_json::Value;

use crate::core::literal;
use crate::{Tool, Tools};

/// What a schema lets a value be.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Type {
    pub(crate) string: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) boolean: bool,
    pub(crate) null: bool,
    pub(crate) object: bool,
    pub(crate) array: bool,
    /// Texts of `enum` and `const`.
    pub(crate) texts: Vec<String>,
    /// A string may be another one than `texts`.
    pub(crate) free: bool,
}

/// How many `$ref`, `anyOf` and the like are followed before the rest counts as unknown.
const DEPTH: u32 = 16;
/// How many schemas are looked at for one value: branches of branches must not cost more than they say.
const WORK: u32 = 1000;

impl Type {
    /// The type of `schema`, whose local references point into `root`. A schema that says nothing lets a value be
    /// anything.
    pub(crate) fn of(root: &Value, schema: &Value) -> Self {
        let mut work = WORK;
        Self::gather(root, schema, DEPTH, &mut work).unwrap_or_else(Self::any)
    }

    /// The type of parameter `name` of tool `tool`; anything where neither is declared.
    pub(crate) fn of_parameter(tools: &Tools, tool: &str, name: &str) -> Self {
        let Some(Tool { parameters, .. }) = tools.get(tool) else { return Self::any() };
        match property(parameters, parameters, name) {
            Some(schema) => Self::of(parameters, schema),
            None => Self::any(),
        }
    }

    pub(crate) fn any() -> Self {
        Self {
            string: true,
            integer: true,
            number: true,
            boolean: true,
            null: true,
            object: true,
            array: true,
            texts: Vec::new(),
            free: true,
        }
    }

    /// Only text: it may be said as it comes.
    pub(crate) fn is_text(&self) -> bool {
        self.string
            && !(self.integer
                || self.number
                || self.boolean
                || self.null
                || self.object
                || self.array)
    }

    /// What `schema` allows; none when it says nothing.
    fn gather(root: &Value, schema: &Value, depth: u32, work: &mut u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        *work = work.checked_sub(1)?;
        let mut found = if let Some(target) = reference(root, schema) {
            Self::gather(root, target, depth, work)
        } else if let Some(found) = Self::named(schema) {
            Some(found)
        } else if let Some(values) = legal(schema) {
            Some(values.into_iter().fold(Self::default(), Self::with_value))
        } else if let Some(branches) = ["anyOf", "oneOf"].iter().find_map(|key| list(schema, key)) {
            // A branch that says nothing allows everything.
            branches
                .iter()
                .map(|branch| Self::gather(root, branch, depth, work))
                .try_fold(Self::default(), |sum, branch| Some(sum.or(branch?)))
        } else if let Some(parts) = list(schema, "allOf") {
            let said = parts.iter().filter_map(|part| Self::gather(root, part, depth, work));
            said.reduce(Self::and)
        } else if schema.get("properties").is_some() {
            Some(Self { object: true, ..Self::default() })
        } else if schema.get("items").is_some() {
            Some(Self { array: true, ..Self::default() })
        } else {
            None
        };
        if let Some(found) = &mut found {
            found.null |= schema.get("nullable") == Some(&Value::Bool(true));
        }
        found
    }

    /// What `type` names, and the texts that `enum` or `const` beside it leave.
    fn named(schema: &Value) -> Option<Self> {
        let mut found = Self::default();
        let said = match schema.get("type")? {
            Value::String(name) => found.add(name),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                names.filter(|name| found.add(name)).count() > 0
            }
            _ => false,
        };
        if let Some(values) = legal(schema).filter(|_| found.string) {
            found.free = false;
            found.texts = values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        said.then_some(found)
    }

    /// Adds a type by its name; those of Python and of databases are used by mistake.
    fn add(&mut self, name: &str) -> bool {
        let kind = match name {
            "string" | "str" | "text" | "enum" => {
                self.free = true;
                &mut self.string
            }
            "integer" | "int" | "long" => &mut self.integer,
            "number" | "float" | "double" => &mut self.number,
            "boolean" | "bool" => &mut self.boolean,
            "null" => &mut self.null,
            "object" | "dict" | "map" => &mut self.object,
            "array" | "list" | "tuple" => &mut self.array,
            _ => return false,
        };
        *kind = true;
        true
    }

    fn with_value(mut self, value: &Value) -> Self {
        match value {
            Value::String(text) => {
                self.string = true;
                self.texts.push(text.clone());
            }
            Value::Number(number) if number.is_f64() => self.number = true,
            Value::Number(_) => self.integer = true,
            Value::Bool(_) => self.boolean = true,
            Value::Null => self.null = true,
            Value::Object(_) => self.object = true,
            Value::Array(_) => self.array = true,
        }
        self
    }

    fn or(mut self, other: Self) -> Self {
        self.string |= other.string;
        self.integer |= other.integer;
        self.number |= other.number;
        self.boolean |= other.boolean;
        self.null |= other.null;
        self.object |= other.object;
        self.array |= other.array;
        self.free |= other.free;
        self.texts.extend(other.texts);
        self
    }

    fn and(mut self, other: Self) -> Self {
        let numeric = |kind: &Self| kind.number || kind.integer;
        self.integer = numeric(&self) && numeric(&other) && (self.integer || other.integer);
        self.string &= other.string;
        self.number &= other.number;
        self.boolean &= other.boolean;
        self.null &= other.null;
        self.object &= other.object;
        self.array &= other.array;
        self.free &= other.free;
        self.texts.extend(other.texts);
        self
    }

    /// Writes the JSON of a value whose whole text is `text`.
    ///
    /// A legal text of an enumeration is text. Numbers keep their own digits. An object or array keeps its own
    /// bytes where they are JSON. Where no string may stand, Python's words and literals count as what they mean.
    /// What fits no allowed type is text: the client sees what the model wrote.
    pub(crate) fn write(&self, text: &str, out: &mut String) {
        let trimmed = text.trim();
        if self.string && (self.texts.iter().any(|legal| legal == text) || self.is_text()) {
            return quote(text, out);
        }
        let word = match trimmed {
            "null" => self.null.then_some("null"),
            "true" => self.boolean.then_some("true"),
            "false" => self.boolean.then_some("false"),
            _ if self.string => None,
            "None" | "nil" | "none" | "Null" | "NULL" => self.null.then_some("null"),
            "True" | "TRUE" => self.boolean.then_some("true"),
            "False" | "FALSE" => self.boolean.then_some("false"),
            _ => None,
        };
        if let Some(word) = word {
            return out.push_str(word);
        }
        if (self.integer || self.number) && is_number(trimmed) {
            return out.push_str(trimmed);
        }
        match trimmed.as_bytes().first() {
            Some(b'{') if self.object => {}
            Some(b'[') if self.array => {}
            // A container within a JSON string.
            Some(b'"') if (self.object || self.array) && !self.string => {
                let inner = serde_json::from_str::<String>(trimmed).unwrap_or_default();
                let inner = inner.trim();
                if inner.starts_with(['{', '[']) && is_json(inner) {
                    return out.push_str(inner);
                }
                return quote(text, out);
            }
            Some(b'(') if self.array && !self.string => {}
            _ => return quote(text, out),
        }
        if is_json(trimmed) {
            return out.push_str(trimmed);
        }
        let start = out.len();
        if self.string || !literal::write(trimmed, out) {
            out.truncate(start);
            quote(text, out);
        }
    }

    /// Writes what came of a value that was cut off: a beginning of what it would have been, as far as that is
    /// known, and nothing that closes it.
    pub(crate) fn write_cut(&self, text: &str, out: &mut String) {
        let trimmed = text.trim();
        let begins = |word: &&str| word.starts_with(trimmed);
        let bare = match trimmed.as_bytes().first() {
            None => return,
            Some(b'{') if self.object => return out.push_str(trimmed),
            Some(b'[') if self.array => return out.push_str(trimmed),
            Some(b'-' | b'0'..=b'9') => self.integer || self.number,
            _ => {
                ["true", "false"].iter().any(|word| self.boolean && begins(word))
                    || self.null && begins(&"null")
            }
        };
        match (bare, self.string) {
            (true, false) => out.push_str(trimmed),
            // It may become either.
            (true, true) => {}
            (false, _) => {
                out.push('"');
                escape(text, out);
            }
        }
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    schema.get(key)?.as_array().filter(|list| !list.is_empty())
}

/// The values that `enum` or `const` of `schema` lists.
pub(crate) fn legal(schema: &Value) -> Option<Vec<&Value>> {
    match list(schema, "enum") {
        Some(values) => Some(values.iter().collect()),
        None => schema.get("const").map(|value| vec![value]),
    }
}

/// The schema of property `name`, through references and branches.
pub(crate) fn property<'a>(root: &'a Value, schema: &'a Value, name: &str) -> Option<&'a Value> {
    let mut work = WORK;
    find(root, schema, DEPTH, &mut work, &|schema| schema.get("properties")?.get(name)).or_else(
        || {
            let mut work = WORK;
            let rest = |schema: &'a Value| schema.get("additionalProperties");
            find(root, schema, DEPTH, &mut work, &rest).filter(|schema| schema.is_object())
        },
    )
}

/// True where `schema` names property `name` itself.
pub(crate) fn declares(root: &Value, schema: &Value, name: &str) -> bool {
    let mut work = WORK;
    find(root, schema, DEPTH, &mut work, &|schema| schema.get("properties")?.get(name)).is_some()
}

/// The schema of an array's items, through references and branches.
pub(crate) fn items<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let mut work = WORK;
    find(root, schema, DEPTH, &mut work, &|schema| schema.get("items"))
}

/// The first answer of `ask` about `schema`, what it refers to and its branches.
fn find<'a>(
    root: &'a Value,
    schema: &'a Value,
    depth: u32,
    work: &mut u32,
    ask: &dyn Fn(&'a Value) -> Option<&'a Value>,
) -> Option<&'a Value> {
    let depth = depth.checked_sub(1)?;
    *work = work.checked_sub(1)?;
    if let Some(found) = ask(schema) {
        return Some(found);
    }
    if let Some(target) = reference(root, schema) {
        return find(root, target, depth, work, ask);
    }
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|key| list(schema, key))
        .flatten()
        .find_map(|branch| find(root, branch, depth, work, ask))
}

/// What a local `$ref` of `schema` points at.
pub(crate) fn reference<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

/// `schema`, or what its references lead to.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH {
        match reference(root, schema) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// True of a JSON number, of any size.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = digits.as_bytes();
    is_digit(bytes.first())
        && is_digit(bytes.last())
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// Writes `text` as a JSON string, quotes included.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Writes `text` as the inside of a JSON string: pieces of a text may be escaped one by one.
pub(crate) fn escape(text: &str, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        from = at + 1;
        if short.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[from..]);
}

#[cfg(test)]
#[path = "typed_tests.rs"]
mod tests;
