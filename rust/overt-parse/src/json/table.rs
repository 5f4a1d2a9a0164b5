//! The markers that are looked for, with what each of them means.

use crate::core::input::{Found, Input};

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Calls begin.
    Open,
    /// Calls may begin: a declared tool's name will tell.
    Bare,
    /// A call, or a section of calls, ends.
    Close,
    /// A fence of code ends.
    Fence,
    /// Dropped.
    Hidden,
    /// Stands before a name.
    Lead,
    /// Stands behind a name.
    Split,
    /// Stands before a call's id.
    Id,
    /// Arguments begin.
    Brace,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    More,
    Text { len: usize, special: bool },
    Marker(Mark, &'static str),
}

/// Markers and their meanings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    texts: Vec<&'static str>,
    marks: Vec<Mark>,
}

impl Table {
    pub(crate) fn new(rows: &[(Mark, &[&'static str])]) -> Self {
        let mut table = Self::default();
        for (mark, texts) in rows {
            table.texts.extend_from_slice(texts);
            table.marks.resize(table.texts.len(), *mark);
        }
        table
    }

    pub(crate) fn texts(&self) -> &[&'static str] {
        &self.texts
    }

    /// As [`Input::next`].
    pub(crate) fn next(&self, input: &mut Input) -> Hit {
        match input.next(&self.texts) {
            Found::More => Hit::More,
            Found::Text { len, special } => Hit::Text { len, special },
            Found::Marker(index) => Hit::Marker(self.marks[index], self.texts[index]),
        }
    }
}
