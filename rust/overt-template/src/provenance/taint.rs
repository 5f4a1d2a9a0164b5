//! Characters that know where they came from.
//!
//! A marked text holds, in place of each character of an input, a code point of planes 4 to 16 that stands
//! for the pair (origin, character). Concatenating, slicing and printing marked text carries the marks along.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Origin;

/// First code point that may stand for a marked character: planes 4 to 13 are unassigned.
const FIRST: u32 = 0x4_0000;
/// First byte in UTF-8 of every code point from [`FIRST`] on.
const FIRST_BYTE: u8 = 0xf1;

/// Where a character came from, and whether that is known or only concluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag {
    origin: u32,
    pub(crate) derived: bool,
}

impl Tag {
    pub(crate) fn derived(self) -> Self {
        Self { derived: true, ..self }
    }
}

/// A character of a text, with its mark if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) char: char,
    pub(crate) tag: Option<Tag>,
}

/// The code points in use in one traced render.
#[derive(Debug)]
pub(crate) struct Taint {
    table: Mutex<Table>,
    /// Characters that stand for themselves.
    reserved: HashSet<char>,
}

#[derive(Debug, Default)]
struct Table {
    origins: Vec<Origin>,
    /// What each code point from [`FIRST`] on stands for.
    codes: Vec<Option<(Tag, char)>>,
    code_of: HashMap<(Tag, char), char>,
    full: bool,
}

impl Taint {
    /// A table that leaves alone every character of `texts`.
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let reserved = texts
            .filter(|text| may_be_marked(text))
            .flat_map(str::chars)
            .filter(|c| *c as u32 >= FIRST)
            .collect();
        Self { table: Mutex::default(), reserved }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tag for characters of `origin`.
    pub(crate) fn tag(&self, origin: Origin) -> Tag {
        let mut table = self.table();
        table.origins.push(origin);
        Tag { origin: table.origins.len() as u32 - 1, derived: false }
    }

    /// The origin that a tag stands for.
    pub(crate) fn origin(&self, tag: Tag) -> Origin {
        self.table().origins.get(tag.origin as usize).cloned().unwrap_or(Origin::Template)
    }

    /// True once there were more pairs than code points: some characters went unmarked.
    pub(crate) fn is_full(&self) -> bool {
        self.table().full
    }

    /// `text` with every character marked.
    pub(crate) fn mark(&self, text: &str, tag: Tag) -> String {
        let mut table = self.table();
        text.chars().map(|c| table.code(tag, c, &self.reserved)).collect()
    }

    /// A marked text of these characters.
    pub(crate) fn text(&self, glyphs: &[Glyph]) -> String {
        let mut table = self.table();
        let code = |glyph: &Glyph| match glyph.tag {
            Some(tag) => table.code(tag, glyph.char, &self.reserved),
            None => glyph.char,
        };
        glyphs.iter().map(code).collect()
    }

    /// The characters of a marked text.
    pub(crate) fn glyphs(&self, text: &str) -> Vec<Glyph> {
        let table = self.table();
        text.chars()
            .map(|c| match table.meaning(c) {
                Some((tag, char)) => Glyph { char, tag: Some(tag) },
                None => Glyph { char: c, tag: None },
            })
            .collect()
    }

    /// A character of a marked text, and its mark.
    pub(crate) fn glyph(&self, c: char) -> (char, Option<Tag>) {
        match self.table().meaning(c) {
            Some((tag, char)) => (char, Some(tag)),
            None => (c, None),
        }
    }

    /// A marked text without its marks.
    pub(crate) fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !may_be_marked(text) {
            return Cow::Borrowed(text);
        }
        let table = self.table();
        Cow::Owned(text.chars().map(|c| table.meaning(c).map_or(c, |pair| pair.1)).collect())
    }
}

impl Table {
    fn meaning(&self, c: char) -> Option<(Tag, char)> {
        let index = (c as u32).checked_sub(FIRST)?;
        *self.codes.get(index as usize)?
    }

    fn code(&mut self, tag: Tag, c: char, reserved: &HashSet<char>) -> char {
        if let Some(code) = self.code_of.get(&(tag, c)) {
            return *code;
        }
        loop {
            let Some(code) = char::from_u32(FIRST + self.codes.len() as u32) else {
                self.full = true;
                return c;
            };
            let free = !reserved.contains(&code);
            self.codes.push(free.then_some((tag, c)));
            if free {
                self.code_of.insert((tag, c), code);
                return code;
            }
        }
    }
}

fn may_be_marked(text: &str) -> bool {
    text.bytes().any(|byte| byte >= FIRST_BYTE)
}
