//! A Unix socket pair carrying length-prefixed messages; end of file means the other side died.

use std::io::{self, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of the length before each message.
const PREFIX: usize = 4;
/// No honest message is larger: 64 M prompt tokens.
const LARGEST: usize = 256 << 20;
const READ_SIZE: usize = 64 << 10;

/// The link broke.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket failed.
    #[error("the link between engine and API process failed: {0}")]
    Io(#[from] io::Error),
    /// The other side wrote something that is no message: the processes are of different versions.
    #[error("the link carried bytes that are no message: {0}")]
    Message(#[from] postcard::Error),
    /// A message beyond all bounds.
    #[error("the link carried a message of {0} bytes; at most {LARGEST} are allowed")]
    TooLarge(usize),
}

/// The writing half; any thread may send.
pub struct Sender<T> {
    inner: Mutex<Outgoing>,
    /// The same socket, to close it while a send waits.
    socket: UnixStream,
    kind: PhantomData<fn(&T)>,
}

struct Outgoing {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl<T: Serialize> Sender<T> {
    /// Sends a message, waiting until the socket took it.
    ///
    /// # Errors
    /// The other side is gone, or the message is too large.
    pub fn send(&self, message: &T) -> Result<(), LinkError> {
        let mut inner = self.inner.lock();
        let mut buffer = std::mem::take(&mut inner.buffer);
        buffer.clear();
        buffer.extend_from_slice(&[0; PREFIX]);
        buffer = postcard::to_extend(message, buffer)?;
        let length = buffer.len() - PREFIX;
        if length > LARGEST {
            return Err(LinkError::TooLarge(length));
        }
        let prefix = u32::try_from(length).map_err(|_| LinkError::TooLarge(length))?;
        buffer[..PREFIX].copy_from_slice(&prefix.to_le_bytes());
        let written = inner.stream.write_all(&buffer);
        inner.buffer = buffer;
        Ok(written?)
    }

    /// Ends the link: both readers see the end of file.
    pub fn close(&self) {
        // An error means that it is closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// The reading half; one thread owns it.
pub struct Receiver<T> {
    stream: UnixStream,
    buffer: Vec<u8>,
    start: usize,
    kind: PhantomData<fn() -> T>,
}

/// What waiting for a message brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// A message.
    Message(T),
    /// Nothing within the time given to [`Receiver::set_tick`].
    Tick,
    /// The other side is gone.
    Closed,
}

impl<T: DeserializeOwned> Receiver<T> {
    /// Makes `recv` return [`Received::Tick`] when nothing came for this long.
    ///
    /// # Errors
    /// The socket refuses the time-out.
    pub fn set_tick(&self, every: Duration) -> Result<(), LinkError> {
        Ok(self.stream.set_read_timeout(Some(every))?)
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// The socket failed or carried something that is no message; the link is of no more use.
    pub fn recv(&mut self) -> Result<Received<T>, LinkError> {
        loop {
            if let Some(message) = self.parse()? {
                return Ok(Received::Message(message));
            }
            let filled = self.buffer.len();
            self.buffer.resize(filled + READ_SIZE, 0);
            let read = self.stream.read(&mut self.buffer[filled..]);
            self.buffer.truncate(filled + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Ok(Received::Closed),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(Received::Tick),
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                        return Ok(Received::Closed);
                    }
                    _ => return Err(error.into()),
                },
            }
        }
    }

    fn parse(&mut self) -> Result<Option<T>, LinkError> {
        let pending = &self.buffer[self.start..];
        let Some((prefix, rest)) = pending.split_first_chunk::<PREFIX>() else {
            self.compact();
            return Ok(None);
        };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length > LARGEST {
            return Err(LinkError::TooLarge(length));
        }
        let Some(body) = rest.get(..length) else {
            self.compact();
            return Ok(None);
        };
        let message = postcard::from_bytes(body)?;
        self.start += PREFIX + length;
        Ok(Some(message))
    }

    /// Moves an unfinished message to the front, so that the buffer stays as large as one message.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
    }
}

/// The two halves of one end of the link.
///
/// # Errors
/// The socket cannot be duplicated.
pub fn pair<Out: Serialize, In: DeserializeOwned>(
    stream: UnixStream,
) -> Result<(Sender<Out>, Receiver<In>), LinkError> {
    let reading = stream.try_clone()?;
    let socket = stream.try_clone()?;
    Ok((
        Sender {
            inner: Mutex::new(Outgoing { stream, buffer: Vec::new() }),
            socket,
            kind: PhantomData,
        },
        Receiver { stream: reading, buffer: Vec::new(), start: 0, kind: PhantomData },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Finish, Row, ToEngine, ToFront};
    use proptest::prelude::*;

    type Engine = (Sender<ToFront>, Receiver<ToEngine>);
    type Front = (Sender<ToEngine>, Receiver<ToFront>);

    fn ends() -> (Engine, Front) {
        let (a, b) = UnixStream::pair().unwrap();
        (pair(a).unwrap(), pair(b).unwrap())
    }

    fn batch(rows: u32, base: u64) -> ToFront {
        ToFront::Batch(Box::new(Batch {
            rows: (0..rows)
                .map(|i| Row {
                    request: base + u64::from(i),
                    choice: i % 3,
                    token: i.wrapping_mul(2_654_435_761),
                    finish: (i % 5 == 0).then_some(Finish::StopText(i)),
                    logprobs: (i % 7 == 0).then(|| {
                        Box::new(crate::Logprobs { logprob: -0.5, rank: i, top: vec![(i, -1.5)] })
                    }),
                })
                .collect(),
            ..Batch::default()
        }))
    }

    proptest! {
        #[test]
        fn messages_arrive_whole_and_in_order(sizes in prop::collection::vec(0u32..600, 1..20)) {
            let ((sender, _), (_, mut receiver)) = ends();
            let sent: Vec<_> = sizes.iter().enumerate().map(|(i, n)| batch(*n, i as u64)).collect();
            let copy = sent.clone();
            let thread = std::thread::spawn(move || copy.iter().for_each(|m| sender.send(m).unwrap()));
            for expected in sent {
                prop_assert_eq!(receiver.recv().unwrap(), Received::Message(expected));
            }
            thread.join().unwrap();
            prop_assert_eq!(receiver.recv().unwrap(), Received::Closed);
        }
    }

    #[test]
    fn a_message_larger_than_the_socket_buffer_passes() {
        let ((sender, _), (_, mut receiver)) = ends();
        let large = ToFront::Hello { meta: vec![], tokenizer_json: vec![7; 5 << 20] };
        let copy = large.clone();
        let thread = std::thread::spawn(move || sender.send(&copy).unwrap());
        assert_eq!(receiver.recv().unwrap(), Received::Message(large));
        thread.join().unwrap();
    }

    #[test]
    fn nothing_for_a_while_is_a_tick_and_loses_no_bytes() {
        let (mut raw, b) = UnixStream::pair().unwrap();
        let (_, mut receiver): Front = pair(b).unwrap();
        receiver.set_tick(Duration::from_millis(5)).unwrap();
        let body = postcard::to_allocvec(&batch(3, 0)).unwrap();
        let mut frame = u32::try_from(body.len()).unwrap().to_le_bytes().to_vec();
        frame.extend(body);
        let (head, tail) = frame.split_at(9);
        raw.write_all(head).unwrap();
        assert_eq!(receiver.recv().unwrap(), Received::Tick);
        raw.write_all(tail).unwrap();
        assert_eq!(receiver.recv().unwrap(), Received::Message(batch(3, 0)));
    }

    #[test]
    fn garbage_is_an_error_not_a_panic() {
        let (mut raw, b) = UnixStream::pair().unwrap();
        let (_, mut receiver): Front = pair(b).unwrap();
        raw.write_all(&[3, 0, 0, 0, 250, 250, 250]).unwrap();
        assert!(matches!(receiver.recv(), Err(LinkError::Message(_))));
        let (mut raw, b) = UnixStream::pair().unwrap();
        let (_, mut receiver): Front = pair(b).unwrap();
        raw.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(matches!(receiver.recv(), Err(LinkError::TooLarge(_))));
    }

    #[test]
    fn closing_ends_both_sides() {
        let ((_engine, mut engine_in), (front, mut front_in)) = ends();
        front.close();
        assert_eq!(engine_in.recv().unwrap(), Received::Closed);
        assert_eq!(front_in.recv().unwrap(), Received::Closed);
    }
}
