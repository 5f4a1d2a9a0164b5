//! Text with the request's number in it.

use std::io::Write;

/// Text in which `{i}` stands for the request's number.
#[derive(Debug)]
pub(crate) struct Template {
    /// What stands between the numbers; one more than there are numbers.
    parts: Vec<Vec<u8>>,
}

impl Template {
    pub(crate) fn new(text: &str) -> Self {
        Self { parts: text.split("{i}").map(|part| part.as_bytes().to_vec()).collect() }
    }

    /// Every request's text is the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.parts.len() == 1
    }

    /// Appends the text of request `i`.
    pub(crate) fn render(&self, i: u64, out: &mut Vec<u8>) {
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                // Writing to memory cannot fail.
                let _ = write!(out, "{i}");
            }
            out.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_asked() {
        for (text, expected, constant) in [
            ("a", "a", true),
            ("{i}", "7", false),
            ("a{i}{i}b{ i}", "a77b{ i}", false),
            ("", "", true),
        ] {
            let template = Template::new(text);
            let mut out = Vec::new();
            template.render(7, &mut out);
            assert_eq!(out, expected.as_bytes());
            assert_eq!(template.is_constant(), constant);
        }
    }
}
