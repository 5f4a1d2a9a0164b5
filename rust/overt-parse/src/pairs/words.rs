//! The tags of a family, and what each of them is.

use super::Shape;

/// What a tag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Section,
    SectionEnd,
    Call,
    CallEnd,
    NameEnd,
    Key,
    KeyEnd,
    Kind,
    KindEnd,
    Value,
    ValueEnd,
    /// Dropped outside of calls.
    Hidden,
}

/// All tags of a family.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) texts: Vec<&'static str>,
    tags: Vec<Tag>,
}

impl Words {
    pub(super) fn new(shape: &Shape, hidden: &'static [&'static str]) -> Self {
        let all = [
            (Tag::Section, shape.section),
            (Tag::SectionEnd, shape.section_end),
            (Tag::Call, shape.call),
            (Tag::CallEnd, shape.call_end),
            (Tag::NameEnd, shape.name_end),
            (Tag::Key, shape.key),
            (Tag::KeyEnd, shape.key_end),
            (Tag::Kind, shape.kind),
            (Tag::KindEnd, shape.kind_end),
            (Tag::Value, shape.value),
            (Tag::ValueEnd, shape.value_end),
            (Tag::Hidden, hidden),
        ];
        let mut words = Self { texts: Vec::new(), tags: Vec::new() };
        for (tag, texts) in all {
            words.texts.extend(texts);
            words.tags.resize(words.texts.len(), tag);
        }
        words
    }

    pub(super) fn tag(&self, index: usize) -> Tag {
        self.tags[index]
    }
}
