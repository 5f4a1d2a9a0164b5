//! Text between frames: white space next to a marker is the format's, not the answer's.

use crate::format::Said;

/// Says text that stands outside of frames.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// White space that is said only if more text follows.
    blank: String,
    /// Something else has come since the last marker.
    spoken: bool,
    /// A marker has come: white space behind it is dropped.
    marked: bool,
}

impl Gap {
    /// A gap behind a marker.
    pub(super) fn after_frame() -> Self {
        Self { marked: true, ..Self::default() }
    }

    pub(super) fn say(&mut self, text: &str, said: &mut Said<'_>) {
        let text = if self.spoken || !self.marked { text } else { text.trim_start() };
        let kept = text.trim_end();
        if !kept.is_empty() {
            said.text(&std::mem::take(&mut self.blank), false);
            said.text(kept, false);
            self.spoken = true;
        }
        self.blank.push_str(&text[kept.len()..]);
    }

    /// A marker stands here.
    pub(super) fn marker(&mut self) {
        *self = Self::after_frame();
    }

    /// The output ends here.
    pub(super) fn finish(&mut self, said: &mut Said<'_>) {
        said.text(&std::mem::take(&mut self.blank), false);
    }
}
