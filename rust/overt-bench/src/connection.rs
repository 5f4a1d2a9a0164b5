//! One connection and the request that it carries.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use crate::answer::Failure;
use crate::exchange::Exchange;
use crate::report::Recorder;

/// What a connection does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    /// Begins a request then.
    Waiting(Instant),
    /// Carries a request.
    Busy,
    /// Has nothing more to do.
    Closed,
}

/// What became of the request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// More is to come.
    Going,
    /// The response is whole; the connection may serve on.
    Ended,
    /// The connection is of no use any more.
    Lost(Failure),
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    socket: Option<TcpStream>,
    /// The request's bytes, and how many of them are sent.
    pub(crate) out: Vec<u8>,
    sent: usize,
    pub(crate) exchange: Exchange,
    /// The request's number.
    pub(crate) request: u64,
    pub(crate) began: Instant,
    /// It began in the measured window.
    pub(crate) measured: bool,
    /// When anything came last.
    pub(crate) heard: Instant,
    /// When text came last.
    last_text: Option<Instant>,
    /// The socket has carried a request before this one.
    reused: bool,
}

impl Connection {
    pub(crate) fn new(starts: Instant, exchange: Exchange) -> Self {
        Self {
            state: State::Waiting(starts),
            socket: None,
            out: Vec::new(),
            sent: 0,
            exchange,
            request: 0,
            began: starts,
            measured: false,
            heard: starts,
            last_text: None,
            reused: false,
        }
    }

    /// Sends the request in `out`, over a new socket if there is none.
    pub(crate) fn send(
        &mut self,
        addr: SocketAddr,
        registry: &Registry,
        token: Token,
    ) -> io::Result<()> {
        self.sent = 0;
        self.last_text = None;
        self.exchange.reset();
        self.reused = self.socket.is_some();
        if self.socket.is_none() {
            let mut socket = TcpStream::connect(addr)?;
            socket.set_nodelay(true)?;
            registry.register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
            self.socket = Some(socket);
        }
        self.flush()
    }

    pub(crate) fn close(&mut self) {
        self.socket = None;
    }

    /// When the request began, if that was in the window.
    pub(crate) fn began_in_window(&self) -> Option<Instant> {
        self.measured.then_some(self.began)
    }

    /// The server closed an idle connection just as this request went out: it was not heard, and may go
    /// out again.
    pub(crate) fn was_stale(&self) -> bool {
        self.reused && self.exchange.response.is_silent()
    }

    /// Writes what the socket takes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while self.sent < self.out.len() {
            match socket.write(&self.out[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                // Not connected yet; or the socket is full. It will say so when it is writable.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) =>
                {
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there. `closed`: the poll says that the other side writes no more.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        closed: bool,
        recorder: &mut Recorder,
    ) -> Outcome {
        loop {
            let Some(socket) = &mut self.socket else { return Outcome::Going };
            let count = match socket.read(buffer) {
                Ok(count) => count,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) =>
                {
                    return Outcome::Going;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Outcome::Lost(io_failure(&error)),
            };
            if count == 0 {
                self.socket = None;
                return match self.exchange.close() {
                    Ok(()) => Outcome::Ended,
                    Err(failure) => Outcome::Lost(failure),
                };
            }
            let now = Instant::now();
            self.heard = now;
            match self.exchange.read(&buffer[..count]) {
                Err(failure) => return Outcome::Lost(failure),
                Ok(0) => {}
                Ok(frames) => {
                    recorder.text(frames, now, self.last_text, self.began_in_window());
                    self.last_text = Some(now);
                }
            }
            if self.exchange.response.done {
                if closed || !self.exchange.response.keep_alive {
                    self.socket = None;
                }
                return Outcome::Ended;
            }
            // The poll is edge-triggered, but a short read has taken all there was: no second call needed.
            if count < buffer.len() && !closed {
                return Outcome::Going;
            }
        }
    }
}

pub(crate) fn io_failure(error: &io::Error) -> Failure {
    Failure::new(format!("connection: {}", error.kind()), error.to_string().as_bytes())
}
