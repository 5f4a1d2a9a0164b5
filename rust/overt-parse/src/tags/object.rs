//! Calls that stand as JSON objects in the wrapper: `{"name": …, "arguments": {…}}`, one or several.

use crate::core::input::Input;
use crate::format::Said;
use crate::json::object::{Fate, Keys, Object};
use crate::tags::reader::Step;

/// Reads objects up to what is none.
#[derive(Debug, Default)]
pub(super) struct Objects {
    object: Option<Box<Object>>,
    /// A call has come from this wrapper.
    any: bool,
}

impl Objects {
    pub(super) fn read(&mut self, input: &mut Input, said: &mut Said<'_>) -> Step {
        loop {
            let (run, special) = input.run();
            let len = run.len();
            if special {
                input.advance(len);
                continue;
            }
            match (&mut self.object, run.bytes().next()) {
                (_, None) if input.has_ended() => return self.stop(said),
                (_, None) => return Step::More,
                (Some(object), _) => {
                    let (read, fate) = object.read(run, said);
                    input.advance(read);
                    if object.has_begun() {
                        self.any = true;
                        input.unmark();
                    }
                    match fate {
                        Fate::Goes | Fate::Called => {}
                        Fate::Ended => self.object = None,
                        Fate::Broken => return self.stop(said),
                    }
                }
                (None, Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']')) => input.advance(1),
                (None, Some(b'{')) => {
                    if self.any {
                        input.mark(0);
                    }
                    self.object = Some(Box::new(Object::new(Keys::USUAL, false)));
                }
                (None, Some(_)) => return self.stop(said),
            }
        }
    }

    fn stop(&mut self, said: &mut Said<'_>) -> Step {
        said.end();
        let whole = self.object.as_ref().is_none_or(|object| object.has_begun());
        if self.any && whole { Step::Ended { closed: false } } else { Step::Text }
    }
}
