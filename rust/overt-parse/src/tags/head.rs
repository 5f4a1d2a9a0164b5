//! Opening tags from behind their first word on: a name, maybe attributes, and the angle that closes them.

/// No opening tag is longer; what is counts as text.
const LONGEST: usize = 1024;

/// The rest of an opening tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its length in bytes, the closing angle among them.
    pub(crate) len: usize,
    pub(crate) name: String,
    /// What `string="true|false"` says.
    pub(crate) string: Option<bool>,
}

/// What stands behind the first word of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peek {
    Head(Head),
    /// Text: no tag has such a rest.
    Text,
    /// More must come before that is known.
    More,
    /// The output ended within the tag.
    Cut,
}

/// Looks at `rest`. `quoted`: the name may stand in quotes of either kind, and attributes may follow it.
pub(crate) fn peek(rest: &str, quoted: bool, ended: bool) -> Peek {
    let Some(end) = rest.bytes().take(LONGEST).position(|byte| matches!(byte, b'>' | b'<' | b'\n'))
    else {
        return match rest.len() < LONGEST {
            true if ended => Peek::Cut,
            true => Peek::More,
            false => Peek::Text,
        };
    };
    if rest.as_bytes()[end] != b'>' {
        return Peek::Text;
    }
    let inside = rest[..end].trim();
    let (name, attributes) = match inside.chars().next() {
        Some(quote @ ('"' | '\'')) => match inside[1..].split_once(quote) {
            Some((name, attributes)) => (name, attributes),
            None => (&inside[1..], ""),
        },
        _ if quoted => inside.split_once(char::is_whitespace).unwrap_or((inside, "")),
        _ => (inside, ""),
    };
    // A quote that only closes is forgiven.
    let name = name.trim_end_matches(['"', '\'']).trim();
    if name.is_empty() {
        return Peek::Text;
    }
    Peek::Head(Head { len: end + 1, name: name.to_owned(), string: string(attributes) })
}

fn string(attributes: &str) -> Option<bool> {
    let (_, value) = attributes.split_once("string")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    match value {
        _ if value.starts_with("true") => Some(true),
        _ if value.starts_with("false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Peek, peek};

    #[test]
    fn names_and_attributes_of_every_spelling() {
        for (rest, quoted, name, string) in [
            ("\"f\">", true, "f", None),
            ("'f' >x", true, "f", None),
            ("f>", true, "f", None),
            ("f>", false, "f", None),
            (" a key >", false, "a key", None),
            ("\"a b\" string=\"true\">", true, "a b", Some(true)),
            ("f string='false'>", true, "f", Some(false)),
            ("\"f\" string = true>", true, "f", Some(true)),
            ("\"f\" string=\"maybe\">", true, "f", None),
            ("\"f>", true, "f", None),
            ("f\">", true, "f", None),
        ] {
            let Peek::Head(head) = peek(rest, quoted, false) else { panic!("{rest}") };
            let len = rest.find('>').unwrap() + 1;
            assert_eq!(head, Head { len, name: name.to_owned(), string }, "{rest}");
        }
    }

    #[test]
    fn what_has_no_name_or_no_end_is_text() {
        for rest in [">", "\"\">", "f\n>", "f<x>", " >"] {
            assert_eq!(peek(rest, true, false), Peek::Text, "{rest}");
        }
        assert_eq!(peek("\"f\"", true, false), Peek::More);
        assert_eq!(peek("\"f\"", true, true), Peek::Cut);
        assert_eq!(peek(&"a".repeat(1024), true, false), Peek::Text);
        assert_eq!(peek(&"a".repeat(1023), true, false), Peek::More);
    }
}
