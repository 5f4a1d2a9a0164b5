//! Reads the regions of a declaration one after the other.

use std::sync::Arc;

use super::content::{Content, Owner};
use super::delimiter::Match;
use super::load::{Declaration, Role};
use super::source::{calls, name};
use super::stream::Stream;
use crate::core::calls::{Calls, Ids};
use crate::core::input::Input;
use crate::core::prose::Prose;
use crate::core::thinking::Reasoning;
use crate::format::{Reader, Reading, Said};
use crate::{Events, Piece, Tools};

/// The reader of one choice.
#[derive(Debug)]
pub(super) struct Declared {
    declaration: Arc<Declaration>,
    calls: bool,
    merged: bool,
    region: Region,
    /// Where the delimiters stand that may begin at the next unread byte: one each of those watched for.
    progress: Vec<Match>,
    /// How many unread bytes they have taken.
    taken: usize,
    text: Strip,
    reasoning: Reasoning,
    /// How often each field has come.
    counts: Vec<usize>,
}

/// What is open.
#[derive(Debug)]
struct Region {
    /// The field; none in between, where no field is for what comes.
    field: Option<usize>,
    captures: Vec<(String, String)>,
    /// What a region holds that is read once it is whole.
    body: Option<String>,
    /// Calls that are read as they come.
    stream: Option<Stream>,
    /// White space before it, which is said should it turn out to be text.
    blank: String,
}

impl Region {
    fn plain(field: Option<usize>) -> Self {
        Self { field, captures: Vec::new(), body: None, stream: None, blank: String::new() }
    }
}

/// Text whose white space at both ends is dropped, where the field says so.
#[derive(Debug, Default)]
struct Strip {
    blank: String,
    spoken: bool,
}

impl Declared {
    pub(super) fn new(declaration: Arc<Declaration>, options: &Reading) -> Self {
        let counts = vec![0; declaration.fields.len()];
        let region = Region::plain(declaration.implicit);
        let mut reader = Self {
            declaration,
            calls: options.calls,
            merged: options.merged,
            region,
            progress: Vec::new(),
            taken: 0,
            text: Strip::default(),
            reasoning: Reasoning::default(),
            counts,
        };
        reader.start(&options.tail);
        reader
    }

    /// Reads the end of the prompt, of which nothing is said.
    fn start(&mut self, tail: &str) {
        let from = self.declaration.anchor.find_iter(tail).last().map_or(0, |found| found.end());
        let mut input = Input::default();
        input.push(Piece { text: &tail[from..], special: false });
        let mut calls = Calls::new(Arc::new(Tools::default()), Ids::Plain, 0);
        let (mut prose, mut out) = (Prose::default(), Events::new());
        let mut said = Said { calls: &mut calls, prose: &mut prose, out: &mut out };
        while self.step(&mut input, &mut said) {}
        self.progress.clear();
        self.taken = 0;
        self.text = Strip { spoken: self.text.spoken, blank: String::new() };
        self.reasoning = Reasoning::default();
        if calls.is_open() {
            self.region = Region::plain(self.declaration.implicit);
        }
    }

    fn role(&self) -> Option<&Role> {
        self.region.field.map(|field| &self.declaration.fields[field].role)
    }

    fn is_implicit(&self) -> bool {
        self.region.field == self.declaration.implicit
    }

    /// The fields whose opening may come, then those whose closing may.
    fn watched(&self) -> Vec<(usize, bool)> {
        let fields = &self.declaration.fields;
        let close = self.region.field.filter(|field| fields[*field].close.is_some());
        let close = close.map(|field| (field, false));
        if !self.is_implicit() {
            return close.into_iter().collect();
        }
        let opens = (0..fields.len()).filter(|field| fields[*field].open.is_some());
        opens.map(|field| (field, true)).chain(close).collect()
    }

    /// Reads what can be told apart now; false when nothing can.
    fn step(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let declaration = Arc::clone(&self.declaration);
        if let Some(stream) = self.region.stream.as_mut().filter(|stream| stream.goes_on()) {
            let field = self.region.field.map(|field| &declaration.fields[field]);
            let goes_on = stream.read(field.and_then(|field| field.close.as_ref()), input, said);
            if stream.has_failed() {
                self.fail(input, said);
            }
            return goes_on;
        }
        let watched = self.watched();
        let delimiter = |(field, opens): (usize, bool)| {
            let field = &declaration.fields[field];
            if opens { field.open.as_ref() } else { field.close.as_ref() }
        };
        let delimiters: Vec<_> = watched.iter().filter_map(|which| delimiter(*which)).collect();
        let rest = input.rest();
        if rest.is_empty() {
            return false;
        }
        if self.progress.is_empty() {
            let begins =
                |byte: &u8| delimiters.iter().any(|delimiter| delimiter.first[usize::from(*byte)]);
            let at = rest.as_bytes().iter().position(begins).unwrap_or(rest.len());
            if at > 0 {
                self.say(at, input, said);
                return true;
            }
            self.progress = delimiters.iter().map(|delimiter| Match::new(delimiter)).collect();
            self.taken = 0;
        }
        for byte in &rest.as_bytes()[self.taken..] {
            if !self.progress.iter().any(Match::is_alive) {
                break;
            }
            for (found, delimiter) in self.progress.iter_mut().zip(&delimiters) {
                found.step(delimiter, *byte);
            }
            self.taken += 1;
        }
        if self.progress.iter().any(Match::is_alive) && !input.has_ended() {
            return false;
        }
        let progress = std::mem::take(&mut self.progress);
        // The longest counts, of two the opening, of two the one that is declared first.
        let best = (0..progress.len())
            .filter_map(|index| Some((progress[index].found?, index)))
            .max_by_key(|(length, index)| (*length, usize::MAX - index));
        match best {
            Some((length, index)) => {
                let text = input.take(length).to_owned();
                let (field, opens) = watched[index];
                let delimiter = delimiters[index];
                if !delimiter.blank {
                    self.keep_blank(said);
                }
                if opens {
                    let blank = std::mem::take(&mut self.text.blank);
                    self.leave(input, said);
                    self.enter(field, &text, input);
                    self.region.blank = blank;
                    delimiter.captures(&text, &mut self.region.captures);
                    self.entered(said);
                } else {
                    delimiter.captures(&text, &mut self.region.captures);
                    self.text = Strip::default();
                    self.leave(input, said);
                    self.region.field = self.declaration.implicit;
                }
            }
            None => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                self.say(length, input, said);
            }
        }
        true
    }

    /// Reads `length` bytes, which belong to what is open.
    fn say(&mut self, length: usize, input: &mut Input, said: &mut Said<'_>) {
        if self.region.stream.as_ref().is_some_and(|stream| !stream.has_begun())
            && !input.rest()[..length].trim().is_empty()
        {
            return self.fail(input, said);
        }
        let mut left = length;
        while left > 0 {
            let (run, special) = input.run();
            let text = &run[..run.len().min(left)];
            left -= text.len();
            let read = text.len();
            if let Some(body) = &mut self.region.body {
                body.push_str(text);
            } else if !special {
                let field = self.region.field.map(|field| &self.declaration.fields[field]);
                let strips = field.is_none_or(|field| {
                    matches!(field.content, Content::Text { strip: true } | Content::Scalar)
                        || self.region.stream.is_some()
                });
                let reasoning = matches!(field.map(|field| &field.role), Some(Role::Reasoning));
                let mut say = |text: &str| match reasoning {
                    true if !self.merged => self.reasoning.say(text, said.out),
                    _ => said.text(text, false),
                };
                self.text.say(text, strips, &mut say);
            }
            input.advance(read);
        }
    }

    /// White space before a delimiter that does not take it is kept where the field keeps its own.
    fn keep_blank(&mut self, said: &mut Said<'_>) {
        let field = self.region.field.map(|field| &self.declaration.fields[field]);
        let keeps = field.is_some_and(|field| {
            matches!(field.content, Content::Text { strip: false } | Content::Json(_))
        });
        if keeps {
            let blank = std::mem::take(&mut self.text.blank);
            match self.role() {
                Some(Role::Reasoning) if !self.merged => self.reasoning.say(&blank, said.out),
                _ => said.text(&blank, false),
            }
        }
    }

    /// A region opens with `text`, which was read just now.
    fn enter(&mut self, field: usize, text: &str, input: &mut Input) {
        self.region = Region::plain(Some(field));
        self.text = Strip::default();
        if let (Role::Calls(_), true) = (&self.declaration.fields[field].role, self.calls) {
            input.mark(text.len());
        }
    }

    /// What the region's opening says is known.
    fn entered(&mut self, said: &mut Said<'_>) {
        let Some(index) = self.region.field else { return };
        let field = &self.declaration.fields[index];
        self.counts[index] += 1;
        if self.counts[index] > 1 && !field.join.is_empty() {
            match field.role {
                Role::Reasoning if !self.merged => self.reasoning.say(&field.join, said.out),
                Role::Text | Role::Reasoning => said.text(&field.join, false),
                Role::Calls(_) => {}
            }
        }
        if let (Role::Calls(source), true) = (&field.role, self.calls) {
            let name = name(source, &self.region.captures);
            self.region.stream = match (field.keys, name) {
                (Some(keys), _) => Some(Stream::objects(keys)),
                (None, Some(name)) if source.arguments.is_content() && field.content.streams() => {
                    Some(Stream::arguments(name))
                }
                _ => None,
            };
            self.region.body = self.region.stream.is_none().then(String::new);
        }
    }

    /// What was read of the region is text, and so is what follows.
    fn fail(&mut self, input: &mut Input, said: &mut Said<'_>) {
        said.text(&std::mem::take(&mut self.region.blank), false);
        said.give_up(input);
        self.region = Region::plain(self.declaration.implicit);
        self.text = Strip { spoken: true, blank: String::new() };
    }

    /// What is open ends.
    fn leave(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.reasoning.close();
        let region = std::mem::replace(&mut self.region, Region::plain(None));
        let Some(field) = region.field.map(|field| &self.declaration.fields[field]) else { return };
        if let Some(stream) = region.stream {
            if !stream.leave(input, said) {
                self.region.blank = region.blank;
                self.fail(input, said);
            }
        } else if let (Role::Calls(source), Some(body)) = (&field.role, &region.body) {
            let name = name(source, &region.captures).unwrap_or_default();
            let tools = Arc::clone(&said.calls.tools);
            let owner = Owner { tools: &tools, name: &name };
            match calls(source, &field.content, body, &region.captures, owner) {
                Some(calls) => {
                    input.unmark();
                    for (name, arguments, id) in calls {
                        said.begin(&name, id.as_deref());
                        said.arguments(&arguments);
                        said.end();
                    }
                }
                None => {
                    self.region.blank = region.blank;
                    self.fail(input, said);
                }
            }
        }
    }

    fn finish(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.keep_blank(said);
        if !matches!(self.role(), Some(Role::Reasoning)) {
            self.leave(input, said);
        }
        said.end();
        self.reasoning.finish(said.out);
    }
}

impl Reader for Declared {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        while self.step(input, said) {}
        if input.has_ended() {
            self.finish(input, said);
        }
    }

    fn is_idle(&self) -> bool {
        self.region.body.is_none() && self.region.stream.is_none()
    }

    fn is_reasoning(&self) -> bool {
        matches!(self.role(), Some(Role::Reasoning))
    }
}

impl Strip {
    fn say(&mut self, text: &str, strips: bool, say: &mut dyn FnMut(&str)) {
        let text = if strips && !self.spoken { text.trim_start() } else { text };
        let kept = text.trim_end();
        if !kept.is_empty() {
            say(&std::mem::take(&mut self.blank));
            say(kept);
            self.spoken = true;
        }
        self.blank.push_str(&text[kept.len()..]);
    }
}
