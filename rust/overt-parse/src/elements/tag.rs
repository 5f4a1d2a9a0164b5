//! A tag behind its mark.

/// No tag is longer; what is counts as text.
const LONGEST: usize = 1024;

/// What stands behind a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tag {
    /// `<name>`, of this length.
    Open(usize, String),
    /// `</name>`, of this length.
    Close(usize, String),
    /// No tag.
    Text,
    /// More must come before that is known.
    More,
    /// The output ended within it.
    Cut,
}

/// Looks at `rest`.
pub(super) fn peek(rest: &str, ended: bool) -> Tag {
    if !rest.is_empty() && !rest.starts_with('<') {
        return Tag::Text;
    }
    let stops = |byte| matches!(byte, b'>' | b'<' | b'\n');
    let Some(end) = rest.bytes().take(LONGEST).skip(1).position(stops).map(|at| at + 1) else {
        return match rest.len() < LONGEST {
            true if ended => Tag::Cut,
            true => Tag::More,
            false => Tag::Text,
        };
    };
    let inside = &rest[1..end];
    match inside.strip_prefix('/') {
        _ if rest.as_bytes()[end] != b'>' => Tag::Text,
        Some("") => Tag::Text,
        Some(name) => Tag::Close(end + 1, name.to_owned()),
        None if inside.is_empty() => Tag::Text,
        None => Tag::Open(end + 1, inside.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tag, peek};

    #[test]
    fn tags_and_what_is_none() {
        let open = |len, name: &str| Tag::Open(len, name.to_owned());
        for (rest, tag) in [
            ("<a b>x", open(5, "a b")),
            ("</a>", Tag::Close(4, "a".to_owned())),
            ("<a", Tag::More),
            ("", Tag::More),
            ("x", Tag::Text),
            ("<>", Tag::Text),
            ("</>", Tag::Text),
            ("<a<b>", Tag::Text),
            ("<a\n>", Tag::Text),
        ] {
            assert_eq!(peek(rest, false), tag, "{rest}");
        }
        assert_eq!(peek("<a", true), Tag::Cut);
        assert_eq!(peek(&format!("<{}", "a".repeat(1023)), false), Tag::Text);
    }
}
