//! Where a declared call's name and arguments are found: a `transform` says it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::content::{Content, Owner};

/// Where a value is found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// It is this.
    Literal(String),
    /// A named group of the region's delimiters, or the value at a path from the region's content.
    Place {
        /// `content`, or a group, or a key of an item.
        root: String,
        /// Keys below it.
        path: Vec<String>,
    },
    /// An object of such values.
    Object(Vec<(String, Source)>),
}

/// How a region's content becomes calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallSource {
    /// The content is a list, each of whose items is a call.
    pub(super) each: bool,
    /// The call may stand in a `function` of the content.
    pub(super) wrapped: bool,
    pub(super) name: Source,
    pub(super) arguments: Source,
    pub(super) id: Option<Source>,
}

impl Source {
    /// Reads a place, such as `{content.name}`, or anything else as it stands.
    fn of(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
                Some(path) if path.split('.').all(is_word) => {
                    let mut keys = path.split('.').map(str::to_owned);
                    let root = keys.next().unwrap_or_default();
                    Ok(Self::Place { root, path: keys.collect() })
                }
                _ if text.contains('{') && text.contains('}') => Err(format!(
                    "{text:?} mixes a place with text: a place must be all of the text, as in \"{{content}}\""
                )),
                _ => Ok(Self::Literal(value.to_string())),
            },
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), Self::of(value)?)))
                .collect::<Result<_, String>>()
                .map(Self::Object),
            _ => Ok(Self::Literal(value.to_string())),
        }
    }

    /// The place `key` below this one.
    fn below(&self, key: &str) -> Option<Self> {
        let Self::Place { root, path } = self else { return None };
        let path = path.iter().cloned().chain([key.to_owned()]).collect();
        Some(Self::Place { root: root.clone(), path })
    }

    /// True of the whole content.
    pub(super) fn is_content(&self) -> bool {
        matches!(self, Self::Place { root, path } if root == "content" && path.is_empty())
    }

    /// The JSON of the value; `captures` go before the content's own keys unless it is an item (`each`).
    pub(super) fn find(
        &self,
        content: &RawValue,
        captures: &[(String, String)],
        each: bool,
    ) -> Option<String> {
        match self {
            Self::Literal(text) => Some(text.clone()),
            Self::Object(fields) => {
                let mut out = String::from("{");
                for (index, (key, source)) in fields.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    let value = source.find(content, captures, each)?;
                    out.push_str(&format!("{comma}{}: {value}", Value::from(key.as_str())));
                }
                out.push('}');
                Some(out)
            }
            Self::Place { root, path } => {
                let keys: Vec<&str> = path.iter().map(String::as_str).collect();
                let capture = captures.iter().find(|(name, _)| name == root);
                if !each && root == "content" {
                    return at(content, &keys);
                }
                let key = [&[root.as_str()], keys.as_slice()].concat();
                let own = if each { at(content, &key) } else { None };
                own.or_else(|| capture.map(|(_, text)| Value::from(text.as_str()).to_string()))
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The value at `keys` below `content`, in its own bytes.
fn at(content: &RawValue, keys: &[&str]) -> Option<String> {
    let Some((key, rest)) = keys.split_first() else { return Some(content.get().to_owned()) };
    let fields: Vec<(String, &RawValue)> = fields(content)?;
    let (_, value) = fields.into_iter().rfind(|(name, _)| name == key)?;
    at(value, rest)
}

/// The fields of an object, in their order.
fn fields(content: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    struct Fields;
    impl<'de> serde::de::Visitor<'de> for Fields {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(field) = map.next_entry()? {
                fields.push(field);
            }
            Ok(fields)
        }
    }
    let mut json = serde_json::Deserializer::from_str(content.get());
    serde::Deserializer::deserialize_map(&mut json, Fields).ok()
}

impl CallSource {
    /// Reads the `transform` of a field of calls.
    pub(super) fn of(transform: &Value, each: bool) -> Result<Self, String> {
        let call = match transform {
            Value::Array(items) if items.len() == 1 && !each => &items[0],
            other => other,
        };
        let function = call.get("function").unwrap_or(call);
        let id = call.get("id").or_else(|| function.get("id")).map(Source::of).transpose()?;
        if function.is_string() {
            let place = Source::of(function)?;
            let (Some(name), Some(arguments)) = (place.below("name"), place.below("arguments"))
            else {
                return Err(format!("the transform {transform} names no place of a function"));
            };
            return Ok(Self { each, wrapped: false, name, arguments, id });
        }
        let part = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| function.get(key));
            let missing = || format!("the transform {transform} has no {}", keys[0]);
            found.ok_or_else(missing).and_then(Source::of)
        };
        Ok(Self {
            each,
            wrapped: false,
            name: part(&["name"])?,
            arguments: part(&["arguments", "parameters"])?,
            id,
        })
    }

    /// Content that is a call itself, or a list of them.
    pub(super) fn whole() -> Self {
        let place =
            |key: &str| Source::Place { root: "content".to_owned(), path: vec![key.to_owned()] };
        Self {
            wrapped: true,
            each: false,
            name: place("name"),
            arguments: place("arguments"),
            id: None,
        }
    }

    /// The keys of name and arguments where both stand side by side in the content (or in each of its items).
    pub(super) fn keys(&self) -> Option<(&str, &str)> {
        let sides = self.key(&self.name).zip(self.key(&self.arguments));
        sides.filter(|_| !self.wrapped)
    }

    fn key<'a>(&self, source: &'a Source) -> Option<&'a str> {
        let Source::Place { root, path } = source else { return None };
        match (self.each, path.as_slice()) {
            (true, []) => Some(root),
            (false, [key]) if root == "content" => Some(key),
            _ => None,
        }
    }
}

/// The calls of a region: name, arguments, and the id where it has one. None where it is not what was declared.
pub(super) type Found = Vec<(String, String, Option<String>)>;

pub(super) fn calls(
    source: &CallSource,
    content: &Content,
    body: &str,
    captures: &[(String, String)],
    owner: Owner<'_>,
) -> Option<Found> {
    let json = content.read(body, Some(owner))?;
    let items: Vec<&RawValue> = if source.each || json.starts_with('[') {
        serde_json::from_str(&json).ok()?
    } else {
        vec![serde_json::from_str(&json).ok()?]
    };
    items.into_iter().map(|item| call(source, item, captures)).collect()
}

fn call(
    source: &CallSource,
    item: &RawValue,
    captures: &[(String, String)],
) -> Option<(String, String, Option<String>)> {
    let Some(name) = source.name.find(item, captures, source.each) else {
        let inner = at(item, &["function"]).filter(|_| source.wrapped)?;
        let inner: &RawValue = serde_json::from_str(&inner).ok()?;
        source.name.find(inner, captures, source.each)?;
        return call(source, inner, captures);
    };
    let name = serde_json::from_str::<String>(&name).ok().filter(|name| !name.is_empty())?;
    let mut arguments = source.arguments.find(item, captures, source.each).unwrap_or_default();
    if arguments == "null" {
        arguments.clear();
    }
    // Arguments may be written as a text that holds their JSON.
    let text = serde_json::from_str::<String>(&arguments).unwrap_or_default();
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok() {
        arguments = text;
    }
    let id = source.id.as_ref().and_then(|id| id.find(item, captures, source.each));
    let id = id.and_then(|id| serde_json::from_str::<String>(&id).ok()).filter(|id| !id.is_empty());
    Some((name, arguments, id))
}

/// The tool's name, where the delimiters say it.
pub(super) fn name(source: &CallSource, captures: &[(String, String)]) -> Option<String> {
    let null: &RawValue = serde_json::from_str("null").ok()?;
    let name = source.name.find(null, captures, source.each)?;
    serde_json::from_str::<String>(&name).ok().filter(|name| !name.is_empty())
}
