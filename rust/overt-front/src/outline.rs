//! What a JSON text looks like from afar, told before anything reads it: how deep it nests, and whether its object
//! names a member twice.

use std::collections::HashSet;

/// The outline of a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outline<'a> {
    /// The most arrays and objects within each other.
    pub depth: usize,
    /// A name that the outermost object has twice, as it is written; readers would take one of the two in silence.
    pub twice: Option<&'a [u8]>,
}

/// Looks at brackets and strings alone; whether the text is JSON otherwise is not checked.
#[must_use]
pub fn outline(text: &[u8]) -> Outline<'_> {
    let mut outline = Outline::default();
    let mut depth = 0_usize;
    let mut names: HashSet<&[u8]> = HashSet::new();
    // Whether the next string is a member's name of the outermost object.
    let mut name_next = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                outline.depth = outline.depth.max(depth);
                name_next = depth == 1 && *byte == b'{';
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => name_next = depth == 1,
            b'"' => {
                let start = at;
                at = end_of_string(text, at);
                if std::mem::take(&mut name_next) {
                    let name = &text[start..at.saturating_sub(1).max(start)];
                    if !names.insert(name) {
                        outline.twice = outline.twice.or(Some(name));
                    }
                }
            }
            _ => {}
        }
    }
    outline
}

/// The place behind the quote that ends the string which begins at `at`.
pub(crate) fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            b'\\' => at += 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_outside_strings() {
        for (text, depth) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            (r#"{"a": [1, [2]], "b": {}}"#, 3),
            (r#"["[[[[", "\"[[", "\\", [1]]"#, 2),
            ("]]][", 1),
            (r#"["unterminated [["#, 1),
            ("[\"\\", 1),
        ] {
            assert_eq!(outline(text.as_bytes()).depth, depth, "{text}");
        }
        assert_eq!(outline("[".repeat(10_000).as_bytes()).depth, 10_000);
    }

    #[test]
    fn a_member_named_twice_is_found_in_the_outermost_object() {
        for (text, twice) in [
            (r#"{"a": 1, "b": "a", "c": {"a": 1}, "d": ["a", "b"]}"#, None),
            (r#"{"a": 1, "b": 2, "a": 3}"#, Some("a")),
            (r#"{"a": {"b": 1, "b": 2}}"#, None),
            (r#"["a", "a"]"#, None),
            (r#"{"n": "x, \"n\":", "n": 1}"#, Some("n")),
            (r#"{"a", "a"#, None),
        ] {
            assert_eq!(outline(text.as_bytes()).twice, twice.map(str::as_bytes), "{text}");
        }
    }
}
