//! Stop strings, found wherever the text was cut.

use std::sync::Arc;

use crate::utf8::Assembler;

/// Finds the first stop string in a text that comes in pieces.
///
/// The match that ends first wins; of those that end together the one that starts first, then the one
/// earlier in the list. Each byte is looked at once. Cloning starts from the same state and is cheap.
#[derive(Debug, Clone)]
pub struct StopMatcher {
    stops: Arc<Stops>,
    /// How much of each stop the text ends with.
    progress: Vec<usize>,
    /// Text that may begin a stop.
    held: String,
    include_stop: bool,
    matched: bool,
    utf8: Assembler,
    scratch: String,
}

#[derive(Debug)]
struct Stops {
    patterns: Vec<Pattern>,
    /// Bytes that begin a stop: all others can be passed over while none is under way.
    begins: [bool; 256],
}

#[derive(Debug)]
struct Pattern {
    bytes: Vec<u8>,
    /// For each prefix, its longest proper suffix that is a prefix too.
    borders: Vec<usize>,
}

impl StopMatcher {
    /// A matcher of `stops`; an empty string among them never matches.
    #[must_use]
    pub fn new<S: AsRef<str>>(stops: &[S]) -> Self {
        let patterns: Vec<Pattern> = stops.iter().map(|stop| Pattern::new(stop.as_ref())).collect();
        let mut begins = [false; 256];
        for first in patterns.iter().filter_map(|pattern| pattern.bytes.first()) {
            begins[usize::from(*first)] = true;
        }
        Self {
            progress: vec![0; patterns.len()],
            stops: Arc::new(Stops { patterns, begins }),
            held: String::new(),
            include_stop: false,
            matched: false,
            utf8: Assembler::default(),
            scratch: String::new(),
        }
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
        if self.stops.patterns.is_empty() {
            out.push_str(text);
            return None;
        }
        let Some((end, stop)) = self.scan(text.as_bytes()) else {
            let keep = self.progress.iter().copied().max().unwrap_or(0);
            self.release(text, keep, out);
            return None;
        };
        let keep = if self.include_stop { 0 } else { self.stops.patterns[stop].bytes.len() };
        self.release(&text[..end], keep, out);
        self.held.clear();
        Some(stop)
    }

    /// As [`push`](Self::push) on the bytes of a token, without output: finds the same stop at the same token
    /// as text made of the same bytes does. Bytes that are no UTF-8 count as the U+FFFD that stands for them.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.matched || self.stops.patterns.is_empty() {
            return None;
        }
        if self.utf8.is_empty() && std::str::from_utf8(bytes).is_ok() {
            return self.scan(bytes).map(|found| found.1);
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        self.utf8.push(bytes, &mut text);
        let found = self.scan(text.as_bytes()).map(|found| found.1);
        self.scratch = text;
        found
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
    }

    /// Where the first match ends in `bytes`, and of which stop.
    fn scan(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        let stops = Arc::clone(&self.stops);
        let mut under_way = self.progress.iter().any(|length| *length > 0);
        for (at, byte) in bytes.iter().enumerate() {
            if !under_way && !stops.begins[usize::from(*byte)] {
                continue;
            }
            under_way = false;
            let mut found: Option<usize> = None;
            for (index, (pattern, length)) in
                stops.patterns.iter().zip(&mut self.progress).enumerate()
            {
                *length = pattern.step(*length, *byte);
                under_way |= *length > 0;
                let longest = found.map_or(0, |best| stops.patterns[best].bytes.len());
                if *length == pattern.bytes.len() && *length > longest {
                    found = Some(index);
                }
            }
            if let Some(index) = found {
                self.matched = true;
                return Some((at + 1, index));
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

impl Pattern {
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
