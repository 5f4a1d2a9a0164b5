//! Where a prompt is written to: memory, up to a limit.

use std::io;

pub(crate) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Vec::with_capacity(4096.min(limit)), limit, full: false }
    }

    /// The limit, where it was reached.
    pub(crate) fn full(&self) -> Option<usize> {
        self.full.then_some(self.limit)
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        // The engine writes text only.
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for Output {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + part.len() > self.limit {
            self.full = true;
            return Err(io::Error::other("the output is full"));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
