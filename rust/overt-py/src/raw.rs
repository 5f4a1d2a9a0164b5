//! The only unsafe code: descriptors that Python hands over and arenas that Python lends.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Takes over one end of a socket pair.
pub(crate) fn socket(fd: RawFd) -> PyResult<UnixStream> {
    if fd < 0 {
        return Err(PyValueError::new_err(format!("fd must not be negative, got {fd}")));
    }
    // SAFETY: the caller's contract (see _core.pyi) is that the descriptor is open and from now on ours.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    let stream = UnixStream::from(owned);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// An int32 buffer of Python's that stays exported, so its memory can neither move nor go.
pub(crate) struct Arena {
    buffer: PyBuffer<i32>,
}

impl Arena {
    pub(crate) fn new(buffer: PyBuffer<i32>) -> PyResult<Self> {
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "an arena must be a writable, contiguous int32 buffer",
            ));
        }
        Ok(Self { buffer })
    }

    /// The arena's words. Python must not read them while a step is scheduled into them, which the
    /// step protocol guarantees: the arena of plan N is written again at plan N + 2 only.
    pub(crate) fn words(&mut self) -> &mut [i32] {
        // SAFETY: PyBuffer checked type and alignment, `new` checked the rest; the export keeps the
        // memory in place; `&mut self` makes this the only slice.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.buffer.buf_ptr().cast::<i32>(),
                self.buffer.item_count(),
            )
        }
    }
}
