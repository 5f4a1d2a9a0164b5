//! The value of one parameter, from behind its opening tag to its end.

use crate::core::input::{Found, Input};
use crate::core::typed::{Type, escape};
use crate::core::value::{Place, Value as Json};
use crate::format::Said;
use crate::tags::head::{Peek, peek};
use crate::tags::{Word, Words};

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It goes on.
    More,
    /// It has ended; the call goes on behind it.
    Done,
    /// It has ended, and the call with it; `closed`: the wrapper too.
    Last { closed: bool },
    /// The output ended within it.
    Cut,
}

/// How the family writes values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    pub(super) feeds: bool,
    pub(super) quoted: bool,
}

/// A value that is being read.
#[derive(Debug)]
pub(super) struct Value {
    kind: Type,
    how: How,
    /// What the opening tag said of it.
    string: Option<bool>,
    /// It is text, said as it comes; else it is kept in `raw` until its end.
    text: bool,
    raw: String,
    scratch: String,
    /// A line feed at its start is the format's.
    lead: bool,
    /// A line feed came last: it is the value's if more follows.
    feed: bool,
    /// A closing word and the white space behind it: the end, or text of the value.
    held: String,
    after: Option<Word>,
    section: Section,
    /// Follows the strings of a JSON container.
    json: Option<Json>,
}

/// Whether the value stands in `<![CDATA[…]]>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Nothing but white space has come.
    Maybe,
    Outside,
    Inside,
    /// `]]>` has come, which is text of the value if more than its end follows.
    Closed,
}

impl Value {
    pub(super) fn new(kind: Type, how: How, string: Option<bool>) -> Self {
        // A schema outweighs the tag, which only decides what the schema leaves open.
        let text = match string {
            Some(true) => kind.string,
            Some(false) => false,
            None => kind.is_text(),
        };
        let json = (kind.object || kind.array).then(Json::default);
        Self {
            kind,
            how,
            string,
            text,
            raw: String::new(),
            scratch: String::new(),
            lead: how.feeds,
            feed: false,
            held: String::new(),
            after: None,
            section: Section::Maybe,
            json: json.filter(|_| !text),
        }
    }

    /// Says what stands before the value's first byte.
    pub(super) fn begin(&self, said: &mut Said<'_>) {
        if self.text {
            said.arguments("\"");
        }
    }

    /// Reads as far as it can. `missing`: whether a parameter of this name may follow without a closing tag.
    pub(super) fn read(
        &mut self,
        words: &Words,
        input: &mut Input,
        said: &mut Said<'_>,
        missing: &dyn Fn(&Said<'_>, &str) -> bool,
    ) -> Turn {
        loop {
            if words.is_cut(input) {
                let rest = input.rest().len();
                input.advance(rest);
            }
            let (word, len) = match input.next(&words.texts) {
                Found::Marker(index) => words.get(index),
                Found::Text { len, special } if self.after.is_none() && !self.is_closed() => {
                    self.text(input.take(len), special, said);
                    continue;
                }
                Found::Text { len, special: true } => {
                    input.advance(len);
                    continue;
                }
                Found::Text { .. } => {
                    let run = input.run().0;
                    let blank = run.len() - run.trim_start().len();
                    if blank > 0 {
                        self.held.push_str(input.take(blank));
                    } else {
                        self.resume(said);
                    }
                    continue;
                }
                Found::More => return self.pause(input, said),
            };
            if let Some(turn) = self.word(word, len, input, said, missing) {
                return turn;
            }
        }
    }

    /// A word has come, of `len` bytes that have been read. None: the value goes on.
    fn word(
        &mut self,
        word: Word,
        len: usize,
        input: &mut Input,
        said: &mut Said<'_>,
        missing: &dyn Fn(&Said<'_>, &str) -> bool,
    ) -> Option<Turn> {
        let quoted = self.how.quoted;
        let opens = |input: &Input| peek(input.rest(), quoted, input.has_ended());
        match (self.after, word) {
            (None, Word::CdataEnd) if self.section == Section::Inside => {
                self.held.push_str("]]>");
                self.section = Section::Closed;
            }
            (None, _) if self.section == Section::Inside => self.again(len, input, said),
            (None, Word::ParameterEnd) if self.is_closed() => {
                self.held.clear();
                self.finish(said);
                return Some(Turn::Done);
            }
            (None, Word::InvokeEnd) if self.is_closed() => {
                self.finish(said);
                return Some(Turn::Last { closed: false });
            }
            (None, Word::Cdata) if self.is_closed() => {
                self.held.clear();
                self.section = Section::Inside;
            }
            (None, _) if self.is_closed() => {
                input.back(len);
                self.resume(said);
            }
            (None, Word::Cdata) if self.section == Section::Maybe => {
                self.section = Section::Inside;
                (self.lead, self.feed) = (false, false);
                self.raw.clear();
            }
            (None, Word::ParameterEnd | Word::InvokeEnd | Word::Close) => {
                input.back(len);
                self.held.push_str(input.take(len));
                self.after = Some(word);
            }
            (None, Word::Parameter) => match opens(input) {
                Peek::More => {
                    input.back(len);
                    return Some(Turn::More);
                }
                Peek::Head(head) if !self.in_string("") && missing(said, &head.name) => {
                    input.back(len);
                    self.unclosed(said);
                    return Some(Turn::Done);
                }
                _ => self.again(len, input, said),
            },
            (None, _) => self.again(len, input, said),
            (Some(Word::ParameterEnd), Word::Parameter) => {
                let head = opens(input);
                input.back(len);
                match head {
                    Peek::More => return Some(Turn::More),
                    Peek::Head(_) | Peek::Cut if !self.in_string(&self.held) => {
                        self.finish(said);
                        return Some(Turn::Done);
                    }
                    _ => self.resume(said),
                }
            }
            (Some(after), _) => {
                input.back(len);
                let ends = match after {
                    Word::ParameterEnd => matches!(
                        word,
                        Word::InvokeEnd | Word::Close | Word::Open | Word::Invoke | Word::Noise
                    ),
                    Word::InvokeEnd => matches!(word, Word::Close | Word::Open | Word::Invoke),
                    _ => word == Word::Open,
                };
                if ends && !self.in_string(&self.held) {
                    return Some(self.end(said));
                }
                self.resume(said);
            }
        }
        None
    }

    /// Nothing more can be read for now.
    fn pause(&mut self, input: &Input, said: &mut Said<'_>) -> Turn {
        if !input.has_ended() {
            return Turn::More;
        }
        if self.after.is_some() || self.is_closed() {
            return match self.end(said) {
                Turn::Done => Turn::Cut,
                turn => turn,
            };
        }
        self.release(said);
        if self.feed && !self.how.feeds {
            self.put("\n", said);
        }
        if !self.text {
            self.scratch.clear();
            self.kind.write_cut(&self.raw, &mut self.scratch);
            said.arguments(&self.scratch);
        }
        Turn::Cut
    }

    /// What was held is the end.
    fn end(&mut self, said: &mut Said<'_>) -> Turn {
        match self.after {
            None | Some(Word::ParameterEnd) => {
                self.finish(said);
                Turn::Done
            }
            Some(after) => {
                self.unclosed(said);
                Turn::Last { closed: after == Word::Close }
            }
        }
    }

    /// The value has ended without a closing tag: a line feed at its end sets the next tag apart.
    fn unclosed(&mut self, said: &mut Said<'_>) {
        self.release(said);
        self.feed = false;
        self.finish(said);
    }

    /// What was held is text of the value.
    fn resume(&mut self, said: &mut Said<'_>) {
        let held = std::mem::take(&mut self.held);
        self.after = None;
        if self.is_closed() {
            self.section = Section::Inside;
        }
        self.text(&held, false, said);
    }

    /// The word of `len` bytes that was just read is text of the value.
    fn again(&mut self, len: usize, input: &mut Input, said: &mut Said<'_>) {
        input.back(len);
        self.text(input.take(len), false, said);
    }

    fn is_closed(&self) -> bool {
        self.section == Section::Closed
    }

    /// True where `more` is read and a string of a JSON container is open behind it.
    fn in_string(&self, more: &str) -> bool {
        follow(self.json, more).is_some_and(Json::in_string)
    }

    /// Adds text; special tokens are dropped.
    fn text(&mut self, text: &str, special: bool, said: &mut Said<'_>) {
        if special || text.is_empty() {
            return;
        }
        if self.section == Section::Inside {
            return self.put(text, said);
        }
        self.json = follow(self.json, text);
        let text = match text.strip_prefix('\n') {
            Some(rest) if self.lead => rest,
            _ => text,
        };
        self.lead = false;
        if text.is_empty() {
            return;
        }
        if self.section == Section::Maybe {
            // White space before a section is none of the value: it waits.
            if text.trim_start().is_empty() {
                return self.raw.push_str(text);
            }
            self.release(said);
        }
        self.tail(text, said);
    }

    /// No section has come: the white space that waited for one is the value's.
    fn release(&mut self, said: &mut Said<'_>) {
        if self.section == Section::Maybe {
            self.section = Section::Outside;
            let waiting = std::mem::take(&mut self.raw);
            self.tail(&waiting, said);
        }
    }

    /// Adds text; a line feed at its end waits.
    fn tail(&mut self, text: &str, said: &mut Said<'_>) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.feed) {
            self.put("\n", said);
        }
        let kept = text.strip_suffix('\n');
        self.feed = kept.is_some();
        self.put(kept.unwrap_or(text), said);
    }

    fn put(&mut self, text: &str, said: &mut Said<'_>) {
        if self.text {
            self.scratch.clear();
            escape(text, &mut self.scratch);
            said.arguments(&self.scratch);
        } else {
            self.raw.push_str(text);
        }
    }

    /// The value is whole.
    fn finish(&mut self, said: &mut Said<'_>) {
        self.release(said);
        if std::mem::take(&mut self.feed) && !self.how.feeds {
            self.put("\n", said);
        }
        if self.text {
            return said.arguments("\"");
        }
        self.scratch.clear();
        let raw = self.raw.trim();
        let string = self.string == Some(false) && self.kind.string && raw.starts_with('"');
        if string && serde_json::from_str::<&serde_json::value::RawValue>(raw).is_ok() {
            // The tag said JSON, and it is a string of JSON.
            self.scratch.push_str(raw);
        } else {
            self.kind.write(&self.raw, &mut self.scratch);
        }
        said.arguments(&self.scratch);
    }
}

/// Follows a JSON container over `text`; none once it has ended or turns out to be none.
fn follow(json: Option<Json>, text: &str) -> Option<Json> {
    let mut json = json?;
    for byte in text.bytes() {
        let blank = byte.is_ascii_whitespace();
        let begun = json.has_begun();
        match byte {
            // A line feed never stands in a string of JSON, nor a single quote out of one.
            b'\n' if json.in_string() => return None,
            b'\'' if !json.in_string() => return None,
            _ if blank && !begun => continue,
            b'{' | b'[' => {}
            _ if !begun => return None,
            _ => {}
        }
        if json.step(byte) != Place::Inside {
            return None;
        }
    }
    Some(json)
}
