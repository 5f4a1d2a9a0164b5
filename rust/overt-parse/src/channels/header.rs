//! What the words of a header say.

use super::{Implied, Shape};

/// Longer headers are none.
pub(super) const LIMIT: usize = 256;

/// What a header's words make of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The tool that is called.
    pub(super) name: Option<String>,
    /// The body is reasoning, or would be were it no call.
    pub(super) reasoning: bool,
}

/// Reads the words of `header`, whose parts are set apart by white space.
pub(super) fn read(shape: &Shape, header: &str) -> Said {
    let reasoning = header.split_whitespace().any(|word| shape.reasoning.contains(&word));
    let text = header.split_whitespace().any(|word| shape.text.contains(&word));
    let recipient = || {
        header.split_whitespace().find_map(|word| {
            let name = word.strip_prefix(shape.recipient)?;
            let name = name.strip_prefix(shape.namespace).unwrap_or(name);
            (!shape.reasoning.contains(&word) && !name.is_empty()).then(|| name.to_owned())
        })
    };
    let name = if text || shape.recipient.is_empty() { None } else { recipient() };
    Said { name, reasoning: reasoning && !text }
}

/// True while `text`, which no marker came before, may still become a header.
pub(super) fn may_be_implied(shape: &Shape, text: &str) -> bool {
    let word = text.trim_start();
    match shape.implied {
        Implied::Never => word.is_empty(),
        Implied::Recipient => {
            let (prefix, line) = (shape.recipient, !word.contains('\n'));
            prefix.starts_with(word) || (word.starts_with(prefix) && line && text.len() <= LIMIT)
        }
        Implied::Name => {
            let word = word.trim_end_matches('\n');
            !word.contains(char::is_whitespace) && text.len() <= LIMIT
        }
    }
}

/// True when `text`, which the output's end or another marker cut short, is made of a header's words.
pub(super) fn is_header(shape: &Shape, text: &str) -> bool {
    let known = |word: &str| {
        let lists = [shape.words, shape.reasoning, shape.text];
        lists.into_iter().flatten().any(|known| known.starts_with(word))
            || (!shape.recipient.is_empty() && word.starts_with(shape.recipient))
            || word.contains("=\"")
    };
    text.split_whitespace().all(known)
}

/// The first word of `header`, and what attribute `name` of it says: `tag name="value"`.
pub(super) fn tag(header: &str) -> &str {
    header.split_whitespace().next().unwrap_or_default()
}

/// The value of attribute `name` of a header such as `tag name="value"`.
pub(super) fn attribute(header: &str, name: &str) -> Option<String> {
    let mut rest = header.trim_start();
    rest = &rest[tag(rest).len()..];
    while let Some(at) = rest.find("=\"") {
        let key = rest[..at].trim();
        let value = &rest[at + 2..];
        let end = value.find('"')?;
        if key == name {
            let value = &value[..end];
            return Some(value.replace("&quot;", "\"").replace("&amp;", "&"));
        }
        rest = &value[end + 1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{attribute, tag};

    #[test]
    fn attributes_are_unescaped_and_never_found_within_values() {
        let header = r#"call tool="a &amp;quot; &quot;b&quot; index=" index="2""#;
        assert_eq!(tag(header), "call");
        assert_eq!(attribute(header, "tool").as_deref(), Some(r#"a &quot; "b" index="#));
        assert_eq!(attribute(header, "index").as_deref(), Some("2"));
        assert_eq!(attribute(header, "key"), None);
        assert_eq!(attribute("call tool=\"a", "tool"), None);
    }
}
