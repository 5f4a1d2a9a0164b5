//! Wakes the event loop once, however much there is to write: a socket pair works on every Unix loop.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct Wake {
    pending: AtomicBool,
    write: UnixStream,
    read: UnixStream,
}

impl Wake {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (write, read) = UnixStream::pair()?;
        write.set_nonblocking(true)?;
        read.set_nonblocking(true)?;
        Ok(Self { pending: AtomicBool::new(false), write, read })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.read.as_raw_fd()
    }

    /// Makes the descriptor readable, unless it is already.
    pub(crate) fn set(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // At most one byte is ever under way, so the write cannot block.
            let _ = (&self.write).write(&[1]);
        }
    }

    /// Makes the descriptor unreadable. What is set from now on wakes again.
    pub(crate) fn clear(&self) {
        let mut byte = [0; 8];
        loop {
            match (&self.read).read(&mut byte) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.pending.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(wake: &Wake) -> bool {
        (&wake.read).read(&mut [0; 1]).is_ok()
    }

    #[test]
    fn many_sets_are_one_byte_and_clear_rearms() {
        let wake = Wake::new().unwrap();
        wake.set();
        wake.set();
        wake.clear();
        assert!(!readable(&wake));
        wake.set();
        assert!(readable(&wake));
    }
}
