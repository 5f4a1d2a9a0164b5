//! Reads calls written as JSON: one object, or a list of them.

use super::object::{Fate, Keys, Object};
use crate::core::input::{Found, Input};
use crate::core::value::{Place, Value};
use crate::format::Said;

/// What became of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing can be said before more has come.
    More,
    /// It ended with the last byte that was read.
    Ended,
    /// What stands next is no part of it. A call that had begun is ended as it stands; what was read since the
    /// input's mark, where one is set, has become no call and is to be given up.
    Broken,
}

/// Reads a JSON object or a list of objects, each a call (of a mapped object each pair is), and says the calls.
///
/// The caller marks the input where what is to become text again begins. The mark is forgotten when a call
/// begins, and stands behind each call of a list until the next one begins.
#[derive(Debug)]
pub(crate) struct Batch {
    keys: Keys,
    declared: bool,
    list: bool,
    object: Option<Object>,
    /// A call has ended.
    called: bool,
    /// A comma has come since.
    comma: bool,
}

impl Batch {
    /// Of what has [`Keys`]. `declared`: only a declared tool's name makes an object a call.
    pub(crate) fn new(keys: Keys, declared: bool) -> Self {
        Self { keys, declared, list: false, object: None, called: false, comma: false }
    }

    /// True once a call has begun.
    pub(crate) fn has_called(&self) -> bool {
        self.called
    }

    /// Reads on. `markers`: the format's; outside of strings one that is a special token breaks the JSON, and
    /// other special tokens are passed over.
    pub(crate) fn read(
        &mut self,
        input: &mut Input,
        said: &mut Said<'_>,
        markers: &[&str],
    ) -> Outcome {
        loop {
            let in_string = self.object.as_ref().is_some_and(Object::in_string);
            match next(input, markers, in_string) {
                Next::More => return Outcome::More,
                Next::Marker => {
                    if let Some(mut object) = self.object.take() {
                        object.stop(said);
                    }
                    return Outcome::Broken;
                }
                Next::Text => {}
            }
            let outcome = match &mut self.object {
                Some(_) => self.in_object(input, said),
                None => self.between(input),
            };
            if outcome != Outcome::More {
                return outcome;
            }
        }
    }

    fn in_object(&mut self, input: &mut Input, said: &mut Said<'_>) -> Outcome {
        let Some(object) = &mut self.object else { return Outcome::Broken };
        let before = said.calls.count();
        let (read, fate) = object.read(input.run().0, said);
        input.advance(read);
        if said.calls.count() > before {
            self.called = true;
            input.unmark();
        }
        match fate {
            Fate::Goes => return Outcome::More,
            Fate::Broken => {
                self.object = None;
                return Outcome::Broken;
            }
            Fate::Called => input.mark(0),
            Fate::Ended if self.list => {
                self.object = None;
                self.comma = false;
                input.mark(0);
            }
            Fate::Ended => {
                input.unmark();
                return Outcome::Ended;
            }
        }
        Outcome::More
    }

    /// Reads a byte outside of the objects.
    fn between(&mut self, input: &mut Input) -> Outcome {
        let byte = input.run().0.as_bytes().first().copied().unwrap_or_default();
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'[' if !self.list => self.list = true,
            b',' if self.called && !self.comma => self.comma = true,
            b'{' if !self.called || self.comma => {
                self.object = Some(Object::new(self.keys, self.declared));
                return Outcome::More;
            }
            b']' if self.called => {
                input.advance(1);
                input.unmark();
                return Outcome::Ended;
            }
            _ => return Outcome::Broken,
        }
        input.advance(1);
        Outcome::More
    }
}

/// Reads the arguments of a call that has begun, a JSON value from its first byte on, and says them.
pub(crate) fn arguments(
    value: &mut Value,
    input: &mut Input,
    said: &mut Said<'_>,
    markers: &[&str],
) -> Outcome {
    loop {
        match next(input, markers, value.in_string()) {
            Next::More => return Outcome::More,
            Next::Marker => return Outcome::Broken,
            Next::Text => {}
        }
        let text = input.run().0;
        let (read, place) = value.read(text.as_bytes());
        said.arguments(&text[..read]);
        input.advance(read);
        match place {
            Place::Inside => {}
            Place::Last => return Outcome::Ended,
            Place::Behind | Place::Invalid => return Outcome::Broken,
        }
    }
}

/// What stands next in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Text,
    Marker,
    More,
}

/// Within a string a special token is text if it is part of a marker (the model quotes it), else it is dropped.
/// Outside of strings a marker ends the JSON; one that is literal text needs no search, since no JSON begins so.
fn next(input: &mut Input, markers: &[&str], in_string: bool) -> Next {
    loop {
        let (run, special) = input.run();
        let len = run.len();
        if len == 0 {
            return Next::More;
        }
        if !special || (in_string && markers.iter().any(|marker| marker.contains(run))) {
            return Next::Text;
        }
        if in_string {
            input.advance(len);
            continue;
        }
        match input.next(markers) {
            Found::More => return Next::More,
            Found::Text { len, .. } => input.advance(len),
            Found::Marker(index) => {
                input.back(markers[index].len());
                return Next::Marker;
            }
        }
    }
}
