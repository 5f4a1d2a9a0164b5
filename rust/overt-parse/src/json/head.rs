//! The head of a call whose name stands before its arguments: `NAME[ARGS]{…}`, `functions.NAME:0<…>{…}`.

use serde::Deserialize;

use super::table::{Hit, Mark, Table};
use crate::core::input::Input;
use crate::{Tools, leak};

/// What stands before the arguments.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Header {
    /// Texts that may stand before the name.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) lead: &'static [&'static str],
    /// Texts behind the name.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) split: &'static [&'static str],
    /// Texts before the call's id, which stands behind the name.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) id: &'static [&'static str],
    /// The name is written as an id: `functions.NAME:INDEX`.
    pub(crate) numbered: bool,
}

/// A head longer than this, in bytes, is none.
const LONGEST: usize = 512;

/// What became of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    More,
    /// The brace of the arguments stands next.
    Arguments,
    /// A marker that ends the call stands next.
    Closed,
    Broken,
}

/// A head being read.
#[derive(Debug, Default)]
pub(crate) struct Head {
    name: String,
    id: String,
    /// What stands behind the name and its separator.
    rest: String,
    field: Field,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Field {
    #[default]
    Name,
    Id,
    Behind,
}

impl Head {
    /// Reads on; `tables`: what is looked for before anything of the name has come, and then.
    pub(crate) fn read(&mut self, input: &mut Input, tables: &[Table; 2]) -> Outcome {
        loop {
            let started = self.field != Field::Name || !self.name.trim_start().is_empty();
            match tables[usize::from(started)].next(input) {
                Hit::More => return Outcome::More,
                Hit::Text { len, special: true } => input.advance(len),
                Hit::Text { len, special: false } => {
                    let text = input.take(len);
                    match self.field {
                        Field::Name => self.name.push_str(text),
                        Field::Id => self.id.push_str(text),
                        Field::Behind => self.rest.push_str(text),
                    }
                    if self.name.len() + self.id.len() + self.rest.len() > LONGEST {
                        return Outcome::Broken;
                    }
                }
                Hit::Marker(Mark::Lead, _) => self.name.clear(),
                Hit::Marker(Mark::Id, _) => self.field = Field::Id,
                Hit::Marker(Mark::Split, _) => self.field = Field::Behind,
                Hit::Marker(mark, text) => {
                    input.back(text.len());
                    return match mark {
                        Mark::Brace => Outcome::Arguments,
                        Mark::Close => Outcome::Closed,
                        _ => Outcome::Broken,
                    };
                }
            }
        }
    }

    /// The function's name and the call's own id, if they are such.
    pub(crate) fn named(
        &self,
        header: &Header,
        tools: &Tools,
        closed: bool,
    ) -> Option<(String, Option<String>)> {
        let (name, rest) = (self.name.trim(), self.rest.trim());
        if !(rest.is_empty() || (closed && rest == "null")) || !is_name(name, tools) {
            return None;
        }
        if header.numbered {
            return Some(numbered(name, tools));
        }
        let id = self.id.trim();
        Some((name.to_owned(), Some(id.to_owned()).filter(|id| !id.is_empty())))
    }
}

fn is_name(name: &str, tools: &Tools) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "{}[]<>\"'`,;".contains(c);
    !name.is_empty() && (!name.contains(odd) || tools.get(name).is_some())
}

/// The name in `functions.NAME:INDEX`, with this as the call's id. Where points or digits are missing or misplaced,
/// the declared tool that fits is meant (the longest, if several do), and the id is not kept.
fn numbered(text: &str, tools: &Tools) -> (String, Option<String>) {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unnumbered = |text: &str| match text.rsplit_once(':') {
        Some((name, index)) if digits(index) => Some(name.to_owned()),
        _ => None,
    };
    let dotted = text.strip_prefix("functions.");
    if let Some(name) = dotted.and_then(unnumbered).filter(|name| !name.is_empty()) {
        return (name, Some(text.to_owned()));
    }
    let is_number = |rest: &str| {
        rest.trim_start_matches([':', '.', '_', '-']).bytes().all(|byte| byte.is_ascii_digit())
    };
    let undotted =
        text.strip_prefix("functions").map(|rest| rest.trim_start_matches(['.', ':', '_']));
    let fits = |tool: &str| {
        [Some(text), undotted]
            .into_iter()
            .flatten()
            .any(|text| text.strip_prefix(tool).is_some_and(is_number))
    };
    let fitting = tools.list.iter().filter(|tool| fits(&tool.name));
    if let Some(tool) = fitting.max_by_key(|tool| tool.name.len()) {
        return (tool.name.clone(), None);
    }
    let name = dotted.unwrap_or(text);
    (unnumbered(name).filter(|name| !name.is_empty()).unwrap_or_else(|| name.to_owned()), None)
}

#[cfg(test)]
mod tests {
    use super::numbered;
    use crate::{Tool, Tools};

    #[test]
    fn names_stand_in_ids() {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            parameters: serde_json::Value::Null,
            strict: false,
        };
        let tools = Tools { list: ["exec", "exec5", "ns-a.do_it"].map(tool).to_vec() };
        for (text, name, kept) in [
            ("functions.exec:0", "exec", true),
            ("functions.ns-a.do_it:31", "ns-a.do_it", true),
            ("functions.unknown:2", "unknown", true),
            ("functions.a:b:2", "a:b", true),
            ("functionsexec6", "exec", false),
            ("functionsexec5", "exec5", false),
            ("exec:6", "exec", false),
            ("exec", "exec", false),
            ("functions.exec", "exec", false),
            ("functions.exec_3", "exec", false),
            ("other:6", "other", false),
            ("functions.other", "other", false),
            (":1", ":1", false),
        ] {
            let (found, id) = numbered(text, &tools);
            assert_eq!((found.as_str(), id.is_some()), (name, kept), "{text}");
            assert!(id.is_none_or(|id| id == text));
        }
    }
}
