//! What a declared region holds, read as JSON once the region is whole.

use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::call_list;
use crate::Tools;
use crate::core::typed::{Type, is_number, quote};

/// How a region's content is written.
#[derive(Debug)]
pub(super) enum Content {
    /// As it stands.
    Text {
        /// White space at both ends is none of it.
        strip: bool,
    },
    /// JSON, maybe of a dialect.
    Json(Json),
    /// Elements that a pattern finds: groups `key` and `value`.
    Xml {
        pattern: regex::Regex,
        /// The pattern's syntax, from which examples are written.
        hir: regex_syntax::hir::Hir,
        value: Option<Box<Content>>,
        /// Values of one key become a list.
        merge: bool,
    },
    /// Lines of key and value.
    Lines { line: String, separator: String, strip: bool, value: Option<Box<Content>> },
    /// `[f(a=1)]`.
    Calls,
    /// A number, true or false: as the model spelled it.
    Scalar,
}

/// A dialect of JSON.
#[derive(Debug, Default)]
pub(super) struct Json {
    pub(super) unquoted_keys: bool,
    /// What strings may stand between besides quotes.
    pub(super) delimiters: Vec<(String, String)>,
    /// What is no JSON is a text.
    pub(super) or_text: bool,
}

impl Json {
    /// True of plain JSON, which can be read as it comes.
    pub(super) fn is_plain(&self) -> bool {
        !self.unquoted_keys && self.delimiters.is_empty() && !self.or_text
    }
}

/// Whose arguments a content's keys are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) tools: &'a Tools,
    /// The tool's name, where it is known before.
    pub(super) name: &'a str,
}

impl Content {
    /// True where the content is its own JSON as it stands.
    pub(super) fn streams(&self) -> bool {
        match self {
            Self::Text { .. } => true,
            Self::Json(json) => json.is_plain(),
            _ => false,
        }
    }

    /// The JSON of `text`; none where it is not what was declared.
    pub(super) fn read(&self, text: &str, owner: Option<Owner<'_>>) -> Option<String> {
        match self {
            Self::Text { strip } => Some(string(if *strip { text.trim() } else { text })),
            Self::Scalar => {
                let text = text.trim();
                let word = matches!(text, "true" | "false" | "null") || is_number(text);
                Some(if word { text.to_owned() } else { string(text) })
            }
            Self::Json(json) => json.read(text),
            Self::Calls => call_list(text),
            Self::Xml { pattern, value, merge, .. } => {
                let found = pattern.captures_iter(text).map(|captures| {
                    let group = |name| captures.name(name).map_or("", |found| found.as_str());
                    (group("key").to_owned(), group("value").to_owned())
                });
                object(found, value.as_deref(), *merge, owner)
            }
            Self::Lines { line, separator, strip, value } => {
                let trim = |text: &str| (if *strip { text.trim() } else { text }).to_owned();
                let found = text.split(line.as_str()).filter_map(|line| {
                    let (key, value) = line.split_once(separator.as_str())?;
                    Some((trim(key), trim(value)))
                });
                object(found, value.as_deref(), false, owner)
            }
        }
    }
}

/// An object of keys and the texts of their values. Of a key that comes twice the last value counts, at the first
/// one's place, unless they are merged.
fn object(
    pairs: impl Iterator<Item = (String, String)>,
    parser: Option<&Content>,
    merge: bool,
    owner: Option<Owner<'_>>,
) -> Option<String> {
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    for (key, text) in pairs {
        let declared = owner.and_then(|owner| typed(owner, &key, &text));
        let value = match (declared, parser) {
            (Some(value), _) => value,
            (None, Some(parser)) => parser.read(&text, None)?,
            (None, None) => string(&text),
        };
        match fields.iter_mut().find(|(name, _)| *name == key) {
            Some((_, values)) if merge => values.push(value),
            Some((_, values)) => *values = vec![value],
            None => fields.push((key, vec![value])),
        }
    }
    let mut out = String::from("{");
    for (index, (key, values)) in fields.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        quote(key, &mut out);
        match values.as_slice() {
            [value] => out.push_str(&format!(": {value}")),
            values => out.push_str(&format!(": [{}]", values.join(", "))),
        }
    }
    out.push('}');
    Some(out)
}

/// A value as the tool's schema types it; none where the schema does not know the parameter.
fn typed(owner: Owner<'_>, key: &str, text: &str) -> Option<String> {
    let kind = Type::of_parameter(owner.tools, owner.name, key);
    if kind == Type::any() {
        return None;
    }
    let mut out = String::new();
    kind.write(text, &mut out);
    Some(out)
}

fn string(text: &str) -> String {
    let mut out = String::new();
    quote(text, &mut out);
    out
}

impl Json {
    fn read(&self, text: &str) -> Option<String> {
        let standard = self.standard(text.trim());
        match serde_json::from_str::<&RawValue>(&standard) {
            Ok(_) => Some(standard),
            Err(_) if self.or_text => Some(string(text.trim())),
            Err(_) => None,
        }
    }

    /// `text` with its strings and keys spelled as JSON has them.
    fn standard(&self, text: &str) -> String {
        if !self.unquoted_keys && self.delimiters.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        // The last character that was no white space.
        let mut before = ' ';
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let quoted = self.delimiters.iter().find_map(|(open, close)| {
                let inner = rest.strip_prefix(open.as_str())?;
                let end = inner.find(close.as_str())?;
                Some((&inner[..end], open.len() + end + close.len()))
            });
            let length = if let Some((inner, length)) = quoted {
                quote(inner, &mut out);
                before = '"';
                length
            } else if next == '"' {
                let length = string_length(rest);
                out.push_str(&rest[..length]);
                before = '"';
                length
            } else if self.unquoted_keys && matches!(before, '{' | ',') && is_word(next) {
                let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if rest[word..].trim_start().starts_with(':') {
                    quote(&rest[..word], &mut out);
                } else {
                    out.push_str(&rest[..word]);
                }
                before = 'a';
                word
            } else {
                out.push(next);
                if !next.is_whitespace() {
                    before = next;
                }
                next.len_utf8()
            };
            rest = &rest[length..];
        }
        out
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How long the string at the start of `text` is, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads what `content` and `content_args` of a field declare.
pub(super) fn load(kind: &str, arguments: &Value) -> Result<Content, String> {
    let known = |keys: &[&str]| {
        let fields = arguments.as_object().into_iter().flatten();
        match fields.map(|(key, _)| key).find(|key| !keys.contains(&key.as_str())) {
            Some(key) => Err(format!("{key:?} is no argument of content {kind:?}: {keys:?} are")),
            None => Ok(()),
        }
    };
    let flag = |key: &str, default| arguments.get(key).and_then(Value::as_bool).unwrap_or(default);
    let text = |key: &str, default: &str| {
        let found = arguments.get(key).and_then(Value::as_str).unwrap_or(default);
        if found.is_empty() { Err(format!("{key:?} is empty")) } else { Ok(found.to_owned()) }
    };
    let value = || match arguments.get("value_parser") {
        None | Some(Value::Null) => Ok(None),
        Some(parser) => {
            let name = parser.get("name").and_then(Value::as_str).unwrap_or("text");
            let arguments = parser.get("args").unwrap_or(&Value::Null);
            load(name, arguments).map(|content| Some(Box::new(content)))
        }
    };
    match kind {
        "text" => known(&["strip"]).map(|()| Content::Text { strip: flag("strip", true) }),
        "int" | "float" | "bool" => known(&["strip"]).map(|()| Content::Scalar),
        "json" => {
            known(&["unquoted_keys", "string_delims", "allow_non_json"])?;
            let pairs = arguments.get("string_delims").and_then(Value::as_array);
            let pair = |pair: &Value| match (pair.get(0), pair.get(1)) {
                (Some(Value::String(open)), Some(Value::String(close)))
                    if !open.is_empty() && !close.is_empty() =>
                {
                    Ok((open.clone(), close.clone()))
                }
                _ => Err(format!("string_delims has {pair}: it must be pairs of texts")),
            };
            let delimiters = pairs.into_iter().flatten().map(pair).collect::<Result<_, _>>()?;
            Ok(Content::Json(Json {
                unquoted_keys: flag("unquoted_keys", false),
                delimiters,
                or_text: flag("allow_non_json", false),
            }))
        }
        "xml-inline" => {
            known(&["tag_pattern", "value_parser", "merge_duplicates"])?;
            let pattern = text("tag_pattern", "")?;
            let fault = |error: String| format!("tag_pattern {pattern:?} cannot be used: {error}");
            let dotall = format!("(?s:{pattern})");
            let compiled = regex::Regex::new(&dotall).map_err(|error| fault(error.to_string()))?;
            let hir = regex_syntax::parse(&dotall).map_err(|error| fault(error.to_string()))?;
            if !compiled.capture_names().flatten().any(|name| name == "key") {
                return Err(fault("it has no group named key".to_owned()));
            }
            let merge = flag("merge_duplicates", false);
            Ok(Content::Xml { pattern: compiled, hir, value: value()?, merge })
        }
        "kv-lines" => {
            known(&["line_sep", "kv_sep", "strip", "value_parser"])?;
            let (line, separator) = (text("line_sep", "\n")?, text("kv_sep", ":")?);
            Ok(Content::Lines { line, separator, strip: flag("strip", true), value: value()? })
        }
        "python-call-list" => known(&[]).map(|()| Content::Calls),
        other => Err(format!(
            "content {other:?} is not known: text, int, float, bool, json, xml-inline, kv-lines and \
             python-call-list are"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::load;

    #[test]
    fn contents_become_json() {
        let gemma = json!({"unquoted_keys": true, "string_delims": [["<|\"|>", "<|\"|>"]]});
        let tags = json!({"tag_pattern": r"<p=(?P<key>[^>]+)>\s*(?P<value>.*?)\s*</p>"});
        let merged = json!({"tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</", "merge_duplicates": true,
            "value_parser": {"name": "json", "args": {"allow_non_json": true}}});
        for (kind, arguments, text, expected) in [
            ("text", json!({}), " a\"\n", Some(r#""a\"""#)),
            ("text", json!({"strip": false}), " a ", Some(r#"" a ""#)),
            ("int", json!({}), " 12345678901234567890123 ", Some("12345678901234567890123")),
            ("bool", json!({}), "no", Some(r#""no""#)),
            ("json", json!({}), " {\"a\": 1.50} ", Some("{\"a\": 1.50}")),
            ("json", json!({}), "{a: 1}", None),
            ("json", json!({"allow_non_json": true}), " x ", Some(r#""x""#)),
            (
                "json",
                gemma.clone(),
                "{a:<|\"|>x, y: \"{\"<|\"|>,b :[1,{c:true}],\"d\":\"e:f\"}",
                Some(r#"{"a":"x, y: \"{\"","b" :[1,{"c":true}],"d":"e:f"}"#),
            ),
            ("json", gemma, "{a:<|\"|>x}", None),
            (
                "xml-inline",
                tags,
                "<p=a>\n 1\n</p> <p=b><i></p><p=a>2</p>",
                Some(r#"{"a": "2", "b": "<i>"}"#),
            ),
            (
                "xml-inline",
                merged,
                "<a>1</a><b>x y</b><a>null</a>",
                Some(r#"{"a": [1, null], "b": "x y"}"#),
            ),
            ("kv-lines", json!({}), "a: 1\n\nno\n b :c:d", Some(r#"{"a": "1", "b": "c:d"}"#)),
            (
                "kv-lines",
                json!({"line_sep": ";", "kv_sep": "="}),
                "a=1;b=",
                Some(r#"{"a": "1", "b": ""}"#),
            ),
            (
                "python-call-list",
                json!({}),
                "[f(a='x')]",
                Some(r#"[{"name": "f", "arguments": {"a": "x"}}]"#),
            ),
        ] {
            let content = load(kind, &arguments).expect("a content");
            assert_eq!(content.read(text, None).as_deref(), expected, "{kind} {text:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (kind, arguments, part) in [
            ("yaml", json!({}), "yaml"),
            ("json", json!({"lax": true}), "lax"),
            ("json", json!({"string_delims": [["a"]]}), "string_delims"),
            ("xml-inline", json!({}), "tag_pattern"),
            ("xml-inline", json!({"tag_pattern": "<(?P<value>x)"}), "key"),
            ("xml-inline", json!({"tag_pattern": "(?P<key>a)(?=b)"}), "look-around"),
            ("kv-lines", json!({"kv_sep": ""}), "kv_sep"),
        ] {
            let error = load(kind, &arguments).expect_err("refused");
            assert!(error.contains(part), "{error}");
        }
    }
}
