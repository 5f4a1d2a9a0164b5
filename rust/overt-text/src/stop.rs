//! Stop strings and patterns, found wherever the text was cut.

use std::sync::Arc;

use crate::stop_regex::{Search, StopRegex};
use crate::utf8::Assembler;

/// Finds the first stop string or pattern in a text that comes in pieces.
///
/// The match that ends first wins; of those that end together the one that starts first, then the one
/// earlier in the list, in which patterns stand after strings. Each byte is looked at once, by a pattern
/// once for each place where a match may have begun. Cloning starts from the same state and is cheap.
#[derive(Debug, Clone)]
pub struct StopMatcher {
    stops: Arc<Stops>,
    /// How much of each stop the text ends with.
    progress: Vec<usize>,
    searches: Vec<Search>,
    /// Text that may begin a stop.
    held: String,
    include_stop: bool,
    matched: bool,
    utf8: Assembler,
    scratch: String,
}

#[derive(Debug)]
struct Stops {
    strings: Vec<StopString>,
    /// Bytes that begin a stop: all others can be passed over while none is under way.
    begins: [bool; 256],
}

#[derive(Debug)]
struct StopString {
    bytes: Vec<u8>,
    /// For each prefix, its longest proper suffix that is a prefix too.
    borders: Vec<usize>,
}

struct Found {
    /// Where in the piece that was scanned.
    end: usize,
    /// Bytes of the match.
    length: usize,
    index: usize,
}

impl StopMatcher {
    /// A matcher of `stops`; an empty string among them never matches.
    #[must_use]
    pub fn new<S: AsRef<str>>(stops: &[S]) -> Self {
        let strings: Vec<StopString> =
            stops.iter().map(|stop| StopString::new(stop.as_ref())).collect();
        let mut begins = [false; 256];
        for first in strings.iter().filter_map(|stop| stop.bytes.first()) {
            begins[usize::from(*first)] = true;
        }
        Self {
            progress: vec![0; strings.len()],
            searches: Vec::new(),
            stops: Arc::new(Stops { strings, begins }),
            held: String::new(),
            include_stop: false,
            matched: false,
            utf8: Assembler::default(),
            scratch: String::new(),
        }
    }

    /// With these patterns as well, the first of which has the index after the last string's.
    #[must_use]
    pub fn patterns(mut self, patterns: &[StopRegex]) -> Self {
        self.searches = patterns.iter().map(Search::new).collect();
        self
    }

    /// Whether the text released at a match ends with the stop or before it.
    #[must_use]
    pub fn include_stop(mut self, include: bool) -> Self {
        self.include_stop = include;
        self
    }

    /// Reads `text` and releases to `out` all but the longest end that could begin a stop. At a match
    /// answers the stop's index in the list; what follows, now and later, is swallowed.
    pub fn push(&mut self, text: &str, out: &mut String) -> Option<usize> {
        if self.matched {
            return None;
        }
        if self.has_none() {
            out.push_str(text);
            return None;
        }
        let Some(Found { end, length, index }) = self.scan(text) else {
            let patterns = self.searches.iter().map(Search::held);
            let keep = self.progress.iter().copied().chain(patterns).max().unwrap_or(0);
            self.release(text, keep, out);
            return None;
        };
        let keep = if self.include_stop { 0 } else { length };
        self.release(&text[..end], keep, out);
        self.held.clear();
        Some(index)
    }

    /// As [`push`](Self::push) on the bytes of a token, without output: finds the same stop at the same token
    /// as text made of the same bytes does. Bytes that are no UTF-8 count as the U+FFFD that stands for them.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.matched || self.has_none() {
            return None;
        }
        if self.utf8.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.scan(text).map(|found| found.index);
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        self.utf8.push(bytes, &mut text);
        let found = self.scan(&text).map(|found| found.index);
        self.scratch = text;
        found
    }

    /// Passes over the bytes of a token that is no part of a stop. Of a character that begins in it and ends in a later
    /// token, the whole belongs to that one, as it does in text.
    pub fn pass_bytes(&mut self, bytes: &[u8]) {
        if self.matched || self.has_none() {
            return;
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        self.utf8.push(bytes, &mut text);
        self.scratch = text;
    }

    /// Releases what is held: no stop goes on across this point. More text may follow.
    pub fn finish(&mut self, out: &mut String) {
        if !self.matched {
            out.push_str(&self.held);
        }
        self.reset();
    }

    /// Begins anew after a point that no stop crosses; what is held is dropped.
    pub fn reset(&mut self) {
        self.held.clear();
        self.utf8.clear();
        self.progress.fill(0);
        self.searches.iter_mut().for_each(Search::reset);
    }

    fn has_none(&self) -> bool {
        self.stops.strings.is_empty() && self.searches.is_empty()
    }

    /// The first match in `text`, of a string or a pattern.
    fn scan(&mut self, text: &str) -> Option<Found> {
        let mut found = self.scan_strings(text.as_bytes());
        for (number, search) in self.searches.iter_mut().enumerate() {
            // What ends later is of no interest. Stop strings are text: they end where a character does.
            let before = found.as_ref().map_or(text, |found| text.get(..found.end).unwrap_or(text));
            let Some((end, length)) = search.scan(before) else { continue };
            if found.as_ref().is_none_or(|found| end < found.end || length > found.length) {
                found = Some(Found { end, length, index: self.progress.len() + number });
            }
        }
        self.matched = found.is_some();
        found
    }

    /// The first match of a string in `bytes`.
    fn scan_strings(&mut self, bytes: &[u8]) -> Option<Found> {
        let stops = Arc::clone(&self.stops);
        let mut under_way = self.progress.iter().any(|length| *length > 0);
        for (at, byte) in bytes.iter().enumerate() {
            if !under_way && !stops.begins[usize::from(*byte)] {
                continue;
            }
            under_way = false;
            let mut found: Option<usize> = None;
            for (index, (stop, length)) in stops.strings.iter().zip(&mut self.progress).enumerate()
            {
                *length = stop.step(*length, *byte);
                under_way |= *length > 0;
                let longest = found.map_or(0, |best| stops.strings[best].bytes.len());
                if *length == stop.bytes.len() && *length > longest {
                    found = Some(index);
                }
            }
            if let Some(index) = found {
                let length = stops.strings[index].bytes.len();
                return Some(Found { end: at + 1, length, index });
            }
        }
        None
    }

    /// Releases what is held and `text`, all but the last `keep` bytes, which are held then.
    fn release(&mut self, text: &str, keep: usize, out: &mut String) {
        let ready = (self.held.len() + text.len()).saturating_sub(keep);
        match ready.checked_sub(self.held.len()) {
            Some(of_text) => {
                out.push_str(&self.held);
                out.push_str(&text[..of_text]);
                self.held.clear();
                self.held.push_str(&text[of_text..]);
            }
            None => {
                out.push_str(&self.held[..ready]);
                self.held.drain(..ready);
                self.held.push_str(text);
            }
        }
    }
}

impl StopString {
    fn new(stop: &str) -> Self {
        let bytes = stop.as_bytes().to_vec();
        let mut borders = vec![0; bytes.len() + 1];
        let mut length = 0;
        for at in 1..bytes.len() {
            while length > 0 && bytes[at] != bytes[length] {
                length = borders[length];
            }
            length += usize::from(bytes[at] == bytes[length]);
            borders[at + 1] = length;
        }
        Self { bytes, borders }
    }

    /// How much of the stop the text ends with after one more byte. `length` is less than the whole.
    fn step(&self, mut length: usize, byte: u8) -> usize {
        loop {
            if self.bytes.get(length) == Some(&byte) {
                return length + 1;
            }
            if length == 0 {
                return 0;
            }
            length = self.borders[length];
        }
    }
}
