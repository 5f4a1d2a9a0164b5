//! Text outside of calls: nothing of it is lost, and white space that only set a call apart is dropped.

use crate::Events;

/// White space before the first call, between calls and behind the last is the format's; prose keeps its own.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    /// White space that has come since the last call (or the start) while nothing else has.
    blank: String,
    /// Something else has come since.
    spoken: bool,
    /// A call has come.
    called: bool,
    /// A wrapper's marker has come: line feeds next to such markers are the format's.
    wrapped: bool,
    /// It came just now.
    fresh: bool,
    /// Line feeds that are said only if text follows.
    feeds: usize,
}

impl Prose {
    /// Says `text` as an answer's text.
    pub(crate) fn say(&mut self, text: &str, out: &mut Events) {
        if !self.wrapped {
            return self.say_all(text, out);
        }
        let text = if self.fresh { text.trim_start_matches('\n') } else { text };
        let kept = text.trim_end_matches('\n');
        if !kept.is_empty() {
            self.release(out);
            self.say_all(kept, out);
            self.fresh = false;
        }
        self.feeds += text.len() - kept.len();
    }

    fn release(&mut self, out: &mut Events) {
        for _ in 0..std::mem::take(&mut self.feeds) {
            self.say_all("\n", out);
        }
    }

    fn say_all(&mut self, text: &str, out: &mut Events) {
        if self.spoken {
            return out.text(text);
        }
        let blank = text.len() - text.trim_start().len();
        self.blank.push_str(&text[..blank]);
        if blank < text.len() {
            out.text(&self.blank);
            out.text(&text[blank..]);
            self.blank.clear();
            self.spoken = true;
        }
    }

    /// A call has begun: the white space before it set it apart.
    pub(crate) fn called(&mut self) {
        self.called = true;
        self.spoken = false;
        self.blank.clear();
        self.feeds = 0;
    }

    /// A closing marker was read and dropped: white space before it belonged to the call.
    pub(crate) fn closed(&mut self) {
        if !self.spoken {
            self.blank.clear();
        }
    }

    /// A marker around the answer, such as `<answer>`, was read and dropped, and the line feeds next to it are.
    pub(crate) fn wrapper(&mut self) {
        self.closed();
        self.wrapped = true;
        self.fresh = true;
        self.feeds = 0;
    }

    /// The output has ended. White space alone is an answer only where nothing else came.
    pub(crate) fn finish(&mut self, out: &mut Events) {
        if !self.called || self.spoken {
            self.release(out);
        }
        if !self.called {
            out.text(&self.blank);
        }
        self.blank.clear();
    }
}
