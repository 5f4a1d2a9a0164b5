//! The unread output of a choice, pulled by the parsers: each byte is looked at once.

use std::collections::VecDeque;
use std::ops::Range;

use crate::Piece;

/// What [`Input::next`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Text that is part of no marker, of this many bytes; `special` when it spells special tokens.
    Text {
        /// Length in bytes; [`Input::take`] hands it out.
        len: usize,
        /// It is one special token's spelling (never mixed with text).
        special: bool,
    },
    /// The marker of this index, which has been read.
    Marker(usize),
    /// Nothing can be said before more has come.
    More,
}

/// Bytes that are kept behind what was read: more than a marker has.
pub(crate) const BEHIND: usize = 256;

/// A queue of pieces. Bytes since a [`mark`](Self::mark) are kept, so that what turns out to be no call can
/// be said as text.
#[derive(Debug, Default)]
pub(crate) struct Input {
    buffer: String,
    at: usize,
    /// Where special tokens stand in `buffer`, in order; those before both `at` and the mark are forgotten.
    specials: VecDeque<Range<usize>>,
    mark: Option<usize>,
    ended: bool,
}

impl Input {
    pub(crate) fn push(&mut self, piece: Piece<'_>) {
        let mut from = self.mark.map_or(self.at, |mark| mark.min(self.at)).saturating_sub(BEHIND);
        while !self.buffer.is_char_boundary(from) {
            from -= 1;
        }
        // The front is dropped once it outweighs the rest, so that a byte is moved at most twice.
        if from > 0 && from * 2 >= self.buffer.len() {
            self.drop_front(from);
        }
        let start = self.buffer.len();
        self.buffer.push_str(piece.text);
        if piece.special && !piece.text.is_empty() {
            self.specials.push_back(start..self.buffer.len());
        }
    }

    fn drop_front(&mut self, from: usize) {
        self.buffer.drain(..from);
        self.at -= from;
        self.mark = self.mark.map(|mark| mark - from);
        self.specials.retain_mut(|range| {
            let kept = range.start >= from;
            if kept {
                *range = range.start - from..range.end - from;
            }
            kept
        });
    }

    /// No more pieces will come: what was held back for a marker is text.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The unread text up to where special tokens begin or end, and whether it spells one special token.
    pub(crate) fn run(&self) -> (&str, bool) {
        let rest = &self.buffer[self.at..];
        let next = self.specials.partition_point(|range| range.end <= self.at);
        match self.specials.get(next) {
            Some(range) if range.start <= self.at => (&rest[..range.end - self.at], true),
            Some(range) => (&rest[..range.start - self.at], false),
            None => (rest, false),
        }
    }

    /// All that is unread, special tokens' spellings among it.
    pub(crate) fn rest(&self) -> &str {
        &self.buffer[self.at..]
    }

    /// Reads `len` bytes: a boundary of characters.
    pub(crate) fn advance(&mut self, len: usize) {
        self.at += len;
    }

    /// Un-reads the last `len` bytes, a marker's at most: it need not have come with what is unread.
    pub(crate) fn back(&mut self, len: usize) {
        self.at -= len;
    }

    /// True when a special token stands in the last `len` bytes that were read just now.
    pub(crate) fn was_special(&self, len: usize) -> bool {
        let touches = |range: &Range<usize>| range.end > self.at - len && range.start < self.at;
        self.specials.iter().any(touches)
    }

    /// Reads `len` bytes and answers them.
    pub(crate) fn take(&mut self, len: usize) -> &str {
        let from = self.at;
        self.at += len;
        &self.buffer[from..self.at]
    }

    /// From here on what is read is kept for [`give_up`](Self::give_up). `back`: so many bytes that were read
    /// just now (an opening marker) are kept too.
    pub(crate) fn mark(&mut self, back: usize) {
        self.mark = Some(self.at.saturating_sub(back));
    }

    /// What was read since the mark need not be kept any more.
    pub(crate) fn unmark(&mut self) {
        self.mark = None;
    }

    /// Gives what was read since the mark to `say`, in order, each stretch with whether it is one special
    /// token's spelling; forgets the mark.
    pub(crate) fn give_up(&mut self, mut say: impl FnMut(&str, bool)) {
        let Some(mark) = self.mark.take() else { return };
        let mut from = mark;
        for range in &self.specials {
            if range.end <= mark || range.start >= self.at {
                continue;
            }
            if range.start > from {
                say(&self.buffer[from..range.start], false);
            }
            let end = range.end.min(self.at);
            say(&self.buffer[range.start.max(from)..end], true);
            from = end;
        }
        if from < self.at {
            say(&self.buffer[from..self.at], false);
        }
    }

    /// Looks for the first of `markers`: text before it is answered first. Where one marker begins another the
    /// longest that fits is meant; what may still become a marker is held until that is known. A marker found
    /// has been read, text has not: [`take`](Self::take) it. Empty markers are never found.
    pub(crate) fn next(&mut self, markers: &[&str]) -> Found {
        let rest = &self.buffer[self.at..];
        let mut at = 0;
        while let Some(skip) = first_start(&rest.as_bytes()[at..], markers) {
            at += skip;
            let tail = &rest[at..];
            let whole = longest_whole(tail, markers);
            let reach = whole.map_or(0, |index| markers[index].len());
            let open = !self.ended
                && markers
                    .iter()
                    .any(|marker| marker.len() > tail.len().max(reach) && marker.starts_with(tail));
            match whole {
                _ if at > 0 && (open || whole.is_some()) => return self.text(at),
                _ if open => return Found::More,
                Some(index) => {
                    self.at += reach;
                    return Found::Marker(index);
                }
                None => at += tail.chars().next().map_or(1, char::len_utf8),
            }
        }
        if rest.is_empty() { Found::More } else { self.text(rest.len()) }
    }

    /// True when the output has ended with the beginning of one of `markers`, of which nothing has been read.
    pub(crate) fn ends_within(&self, markers: &[&str]) -> bool {
        let rest = self.rest();
        self.ended
            && !rest.is_empty()
            && markers.iter().any(|marker| marker.len() > rest.len() && marker.starts_with(rest))
    }

    /// Text of at most `len` bytes, all special or none.
    fn text(&self, len: usize) -> Found {
        let (run, special) = self.run();
        Found::Text { len: len.min(run.len()), special }
    }
}

/// Where the first byte stands that begins any of `markers`.
fn first_start(bytes: &[u8], markers: &[&str]) -> Option<usize> {
    // Most families' markers begin with one of very few bytes.
    let mut first = [0; 3];
    let mut count = 0;
    for byte in markers.iter().filter_map(|marker| marker.bytes().next()) {
        if first[..count].contains(&byte) {
            continue;
        }
        if count == first.len() {
            return bytes.iter().position(|byte| {
                markers.iter().any(|marker| marker.as_bytes().first() == Some(byte))
            });
        }
        first[count] = byte;
        count += 1;
    }
    match count {
        0 => None,
        1 => memchr::memchr(first[0], bytes),
        2 => memchr::memchr2(first[0], first[1], bytes),
        _ => memchr::memchr3(first[0], first[1], first[2], bytes),
    }
}

fn longest_whole(tail: &str, markers: &[&str]) -> Option<usize> {
    let whole = markers
        .iter()
        .enumerate()
        .filter(|(_, marker)| !marker.is_empty() && tail.starts_with(**marker));
    whole.max_by_key(|(_, marker)| marker.len()).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::{Found, Input};
    use crate::Piece;

    fn read(pieces: &[(&str, bool)], markers: &[&str]) -> Vec<String> {
        let mut input = Input::default();
        let mut said: Vec<String> = Vec::new();
        let mut drain = |input: &mut Input| {
            loop {
                match input.next(markers) {
                    Found::More => return,
                    Found::Marker(index) => said.push(format!("#{index}")),
                    Found::Text { len, special } => {
                        let text = input.take(len).to_owned();
                        match said.last_mut() {
                            Some(last) if !special && !last.starts_with(['#', '!']) => {
                                last.push_str(&text)
                            }
                            _ if special => said.push(format!("!{text}")),
                            _ => said.push(text),
                        }
                    }
                }
            }
        };
        for (text, special) in pieces {
            input.push(Piece { text, special: *special });
            drain(&mut input);
        }
        input.end();
        drain(&mut input);
        said
    }

    #[test]
    fn markers_are_found_wherever_they_are_cut() {
        let markers = ["<a>", "<a>b", "</a>"];
        let text = "x<a>bé<<a></a><a";
        let expected = ["x", "#1", "é<", "#0", "#2", "<a"];
        assert_eq!(read(&[(text, false)], &markers), expected);
        let cut: Vec<String> = text.chars().map(String::from).collect();
        let cut: Vec<(&str, bool)> = cut.iter().map(|c| (c.as_str(), false)).collect();
        assert_eq!(read(&cut, &markers), expected);
    }

    #[test]
    fn special_tokens_are_markers_parts_of_markers_or_marked_as_such() {
        let markers = ["<|x|>a", "<|y|>"];
        let pieces = [
            ("t", false),
            ("<|x|>", true),
            ("a", false),
            ("<|x|>", true),
            ("b", false),
            ("<|y|>", true),
        ];
        assert_eq!(read(&pieces, &markers), ["t", "#0", "!<|x|>", "b", "#1"]);
    }

    #[test]
    fn a_marker_can_be_unread_when_more_has_come_since() {
        let mut input = Input::default();
        for text in ["é".repeat(300).as_str(), "<c>"] {
            input.push(Piece { text, special: false });
        }
        input.advance(600);
        assert_eq!(input.next(&["<c>"]), Found::Marker(0));
        for text in ["d", "e", "f"] {
            input.push(Piece { text, special: false });
        }
        input.back(3);
        assert_eq!(input.rest(), "<c>def");
    }

    #[test]
    fn what_was_read_since_a_mark_comes_back_in_order() {
        let mut input = Input::default();
        for (text, special) in [("<c>", false), ("ab", false), ("<|s|>", true), ("d", false)] {
            input.push(Piece { text, special });
        }
        assert_eq!(input.next(&["<c>"]), Found::Marker(0));
        input.mark(3);
        input.advance(2);
        input.advance(5);
        let mut back = Vec::new();
        input.give_up(|text, special| back.push((text.to_owned(), special)));
        assert_eq!(back, [("<c>ab".to_owned(), false), ("<|s|>".to_owned(), true)]);
        assert_eq!(input.rest(), "d");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut input = Input::default();
        for _ in 0..10_000 {
            input.push(Piece { text: "0123456789", special: false });
            while let Found::Text { len, .. } = input.next(&["<x>"]) {
                input.advance(len);
            }
        }
        assert!(input.buffer.capacity() < 8 * super::BEHIND);
    }
}
