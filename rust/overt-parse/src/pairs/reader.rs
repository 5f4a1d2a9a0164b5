//! Reads calls written as pairs.

use super::Shape;
use super::call::Call;
use super::words::{Tag, Words};
use crate::core::input::{Found, Input};
use crate::format::{Reader, Reading, Said};
use crate::json::object::{Fate, Keys, Object};

/// A name, key or type longer than this, in bytes, is none.
const LONGEST: usize = 1024;

/// Reads the calls of one choice.
#[derive(Debug)]
pub(super) struct Pairs {
    words: Words,
    json: bool,
    step: Step,
    /// The section's opener has come, its end has not.
    section: bool,
    /// A call has come, the end of it or of its section has not: a closing tag is not text.
    owed: bool,
    /// Only white space has come since the last call.
    settled: bool,
    call: Call,
    object: Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Outside of calls.
    Prose,
    /// Behind the section's opener, before the first call.
    Section,
    Name,
    /// Behind the name.
    Named,
    Key,
    /// Behind a key.
    Keyed,
    /// In the name of a type.
    Kind,
    Value,
    /// Behind a value's closing tag, which may be text of the value.
    Valued,
    /// In a value whose opening tag is missing.
    Loose,
    /// In a JSON object.
    Object,
}

impl Pairs {
    pub(super) fn new(shape: &Shape, options: &Reading) -> Self {
        Self {
            words: Words::new(shape, options.hidden),
            json: shape.json,
            step: Step::Prose,
            section: false,
            owed: false,
            settled: false,
            call: Call::default(),
            object: Object::new(Keys::USUAL, false),
        }
    }

    /// Reads text, if it has a place here.
    fn text(&mut self, len: usize, special: bool, input: &mut Input, said: &mut Said<'_>) {
        // Of a tag that was cut off nothing can be said.
        let part = self.call.begun && input.ends_within(&self.words.texts);
        if (special || part) && self.step != Step::Prose {
            return input.advance(len);
        }
        let (run, _) = input.run();
        let text = &run[..len];
        let trimmed = text.trim_start();
        let blank = len - trimmed.len();
        let call = &mut self.call;
        match self.step {
            Step::Prose => {
                self.settled &= special || trimmed.is_empty();
                said.text(input.take(len), special);
            }
            Step::Section | Step::Named | Step::Keyed if trimmed.is_empty() => {
                call.spaced |= self.step == Step::Named && text.contains(is_space);
                input.advance(len);
            }
            Step::Keyed if blank > 0 => input.advance(blank),
            Step::Keyed => {
                call.held.clear();
                self.step = Step::Loose;
            }
            Step::Name if call.name.is_empty() && blank > 0 => {
                call.spaced |= text[..blank].contains(is_space);
                input.advance(blank);
            }
            Step::Name if call.name.is_empty() && self.json && text.starts_with('{') => {
                self.object = Object::new(Keys::USUAL, false);
                self.step = Step::Object;
            }
            Step::Name => {
                let end = text.find(char::is_whitespace).unwrap_or(len);
                let wrong = text[..end].contains(['<', '>', '{', '}', '"']);
                if wrong || call.name.len() + end > LONGEST {
                    return self.fail(input, said);
                }
                call.name.push_str(&text[..end]);
                input.advance(end);
                if end < len {
                    self.step = Step::Named;
                }
            }
            Step::Key => {
                let end = text.find('<').unwrap_or(len);
                call.key.push_str(&text[..end]);
                input.advance(end);
                if end < len || call.key.len() > LONGEST {
                    self.fail(input, said);
                }
            }
            Step::Kind => {
                call.kind.push_str(input.take(len));
                if call.kind.len() > LONGEST {
                    self.fail(input, said);
                }
            }
            Step::Value => call.more(input.take(len), said),
            Step::Loose => call.held.push_str(input.take(len)),
            Step::Valued if trimmed.is_empty() => call.after.push_str(input.take(len)),
            Step::Valued => {
                // The closing tag was text of the value.
                let after = std::mem::take(&mut call.after);
                call.more(&after, said);
                self.step = Step::Value;
            }
            Step::Section | Step::Named => self.fail(input, said),
            Step::Object => {}
        }
    }

    /// A tag has been read.
    fn tag(&mut self, index: usize, input: &mut Input, said: &mut Said<'_>) {
        let (tag, text) = (self.words.tag(index), self.words.texts[index]);
        let call = &mut self.call;
        match (self.step, tag) {
            (Step::Prose, Tag::Section | Tag::Call) => {
                input.mark(text.len());
                self.open(tag);
            }
            (Step::Prose, Tag::SectionEnd | Tag::CallEnd) if self.settled || self.owed => {
                self.section &= tag != Tag::SectionEnd;
                self.owed = self.section;
                said.prose.closed();
            }
            (Step::Prose, Tag::Hidden) => said.prose.closed(),
            (Step::Prose, _) => {
                input.mark(text.len());
                said.give_up(input);
                self.settled = false;
            }
            (Step::Section, Tag::Section) => {}
            (Step::Section, Tag::Call) => self.open(tag),
            (Step::Name, Tag::Call) if call.name.is_empty() => {}
            (Step::Name | Step::Named, Tag::NameEnd) if !call.name.is_empty() => {
                self.step = Step::Named;
            }
            (Step::Name | Step::Named, Tag::Key) if !call.name.is_empty() => self.key(),
            // Without arguments, what stands apart from its tags like a word is only a declared tool's name.
            (Step::Name | Step::Named, Tag::CallEnd)
                if !call.name.is_empty()
                    && (!call.spaced || said.calls.tools.get(&call.name).is_some()) =>
            {
                self.end(input, said);
            }
            (Step::Key, Tag::Key) if call.key.trim().is_empty() => {}
            (Step::Key, Tag::KeyEnd) if !call.key.trim().is_empty() => self.step = Step::Keyed,
            (Step::Key, Tag::Value) if !call.key.trim().is_empty() => self.value(input, said),
            (Step::Keyed, Tag::KeyEnd) => {}
            (Step::Keyed, Tag::Kind) => {
                call.kind.clear();
                self.step = Step::Kind;
            }
            (Step::Kind, Tag::KindEnd) => self.step = Step::Keyed,
            (Step::Keyed, Tag::Value) => self.value(input, said),
            // A key without a value.
            (Step::Keyed, Tag::Key) if call.begun => self.key(),
            (Step::Keyed, Tag::CallEnd) if call.begun => self.end(input, said),
            (Step::Value, Tag::ValueEnd) => {
                call.after.push_str(text);
                self.step = Step::Valued;
            }
            (Step::Value, _) => call.more(text, said),
            (Step::Valued, Tag::ValueEnd) => call.after.push_str(text),
            (Step::Valued, Tag::Key) => {
                call.close(said);
                self.key();
            }
            (Step::Valued, Tag::CallEnd) => {
                call.close(said);
                self.end(input, said);
            }
            // The call's closing tag is missing.
            (Step::Valued, Tag::Call | Tag::Section | Tag::SectionEnd) => {
                call.close(said);
                input.back(text.len());
                self.end(input, said);
            }
            (Step::Valued, _) => {
                call.after.push_str(text);
                let after = std::mem::take(&mut call.after);
                call.more(&after, said);
                self.step = Step::Value;
            }
            (Step::Loose, Tag::ValueEnd | Tag::Key | Tag::CallEnd) => {
                if tag != Tag::ValueEnd {
                    let kept = call.held.trim_end().len();
                    call.held.truncate(kept);
                    input.back(text.len());
                }
                let value = std::mem::take(&mut call.held);
                self.value(input, said);
                self.call.more(&value, said);
                if tag == Tag::ValueEnd {
                    self.call.after.push_str(text);
                }
                self.step = Step::Valued;
            }
            _ => {
                input.back(text.len());
                self.fail(input, said);
            }
        }
    }

    fn open(&mut self, tag: Tag) {
        self.call = Call::default();
        self.step = if tag == Tag::Call { Step::Name } else { Step::Section };
        self.section |= tag == Tag::Section;
    }

    fn key(&mut self) {
        self.call.key.clear();
        self.call.kind.clear();
        self.step = Step::Key;
    }

    /// A value begins, and with the first one the call.
    fn value(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.call.open(input, said);
        self.owed = true;
        self.step = Step::Value;
    }

    /// The call has ended.
    fn end(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.call.begin(input, said);
        if self.call.has_values() {
            said.arguments("}");
        }
        said.end();
        self.call = Call::default();
        self.step = Step::Prose;
        self.settled = true;
        self.owed = self.section;
    }

    /// What comes next has no place here.
    fn fail(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if self.call.begun {
            let call = &mut self.call;
            // What has been read and is part of no argument.
            let left = match self.step {
                Step::Key => std::mem::take(&mut call.key),
                Step::Kind => std::mem::take(&mut call.kind),
                Step::Loose => std::mem::take(&mut call.held),
                _ => String::new(),
            };
            self.end(input, said);
            self.owed = true;
            return said.text(&left, false);
        }
        said.give_up(input);
        self.settled = false;
        self.section &= self.owed;
        self.step = Step::Prose;
    }

    /// The output has ended.
    fn cut(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if self.step == Step::Valued {
            self.call.close(said);
        }
        said.give_up(input);
        said.end();
        self.step = Step::Prose;
    }

    /// Reads a JSON object.
    fn object(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let (run, special) = input.run();
        let len = run.len();
        if len == 0 {
            if input.has_ended() {
                self.cut(input, said);
            }
            return false;
        }
        if special && !(self.object.in_string() && self.words.texts.contains(&run)) {
            if self.words.texts.contains(&run) {
                self.fail(input, said);
            } else {
                input.advance(len);
            }
            return true;
        }
        let before = said.calls.count();
        let (read, fate) = self.object.read(run, said);
        input.advance(read);
        if said.calls.count() > before {
            input.unmark();
            self.call.begun = true;
            self.owed = true;
        }
        match fate {
            Fate::Goes | Fate::Called => {}
            Fate::Ended => {
                self.end(input, said);
                self.owed = true;
            }
            Fate::Broken => self.fail(input, said),
        }
        true
    }
}

impl Reader for Pairs {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            if self.step == Step::Object {
                if !self.object(input, said) {
                    return;
                }
                continue;
            }
            match input.next(&self.words.texts) {
                Found::Text { len, special } => self.text(len, special, input, said),
                Found::Marker(index) => self.tag(index, input, said),
                Found::More => {
                    if input.has_ended() && self.step != Step::Prose {
                        self.cut(input, said);
                    }
                    return;
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.step == Step::Prose
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}
