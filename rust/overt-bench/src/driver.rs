//! The poll loop that holds all connections.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use crate::answer::Failure;
use crate::check::Checker;
use crate::connection::{Connection, Outcome, State, io_failure};
use crate::cpu;
use crate::exchange::Exchange;
use crate::options::BenchError;
use crate::plan::Plan;
use crate::report::{Recorder, Report};

/// How long a connection waits after a failure, so that a dead server is not hammered.
const PAUSE: Duration = Duration::from_millis(50);

/// How often connections are looked at that say nothing.
const SWEEP: Duration = Duration::from_millis(100);

/// Longest answer to the first knock.
const KNOCK: Duration = Duration::from_secs(5);

/// What the clock says of the run.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Warmup { until: Instant },
    Window { began: Instant },
    Drain { until: Instant },
}

/// Readings at the window's two ends.
#[derive(Debug, Clone, Copy, Default)]
struct Readings {
    server: Option<Duration>,
    own: Duration,
}

#[derive(Debug)]
pub(crate) struct Driver {
    plan: Plan,
    poll: Poll,
    connections: Vec<Connection>,
    recorder: Recorder,
    checker: Checker,
    phase: Phase,
    /// The run ends then, whatever goes on.
    limit: Instant,
    /// Requests begun, in all and in the window.
    issued: u64,
    issued_in_window: u64,
    /// Requests under way.
    busy: usize,
    sweep_at: Instant,
    before: Readings,
    spent: Readings,
    window: Duration,
    scratch: Vec<u8>,
}

impl Driver {
    pub(crate) fn new(mut plan: Plan) -> Result<Self, BenchError> {
        TcpStream::connect_timeout(&plan.addr, KNOCK)
            .map_err(|error| BenchError::Connect { addr: plan.addr, error })?;
        if let Some(pid) = plan.pid {
            cpu::process(pid).map_err(|error| BenchError::Process { pid, error })?;
        }
        let now = Instant::now();
        let starts = |k: usize| now + plan.stagger * u32::try_from(k).unwrap_or(u32::MAX);
        let exchange = || Exchange::new(plan.stream, plan.choices);
        Ok(Self {
            poll: Poll::new().map_err(BenchError::Poll)?,
            connections: (0..plan.concurrency)
                .map(|k| Connection::new(starts(k), exchange()))
                .collect(),
            recorder: Recorder::new(),
            checker: Checker::new(plan.expect.take(), plan.body.is_constant()),
            phase: Phase::Warmup { until: now + plan.warmup },
            limit: now + plan.limit,
            issued: 0,
            issued_in_window: 0,
            busy: 0,
            sweep_at: now,
            before: Readings::default(),
            spent: Readings::default(),
            window: Duration::ZERO,
            scratch: Vec::new(),
            plan,
        })
    }

    pub(crate) fn run(mut self) -> Result<Report, BenchError> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let now = Instant::now();
            if self.advance(now) {
                break;
            }
            if now >= self.sweep_at {
                self.sweep(now);
            }
            let timeout = self.next_deadline().saturating_duration_since(now);
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    return Err(BenchError::Poll(error));
                }
                _ => {}
            }
            for event in &events {
                let k = event.token().0;
                if event.is_writable()
                    && let Err(error) = self.connections[k].flush()
                {
                    self.lost(k, io_failure(&error));
                } else if event.is_readable() || event.is_read_closed() || event.is_error() {
                    let closed = event.is_read_closed() || event.is_error();
                    match self.connections[k].read(&mut buffer, closed, &mut self.recorder) {
                        Outcome::Going => {}
                        Outcome::Ended => self.ended(k),
                        Outcome::Lost(failure) => self.lost(k, failure),
                    }
                }
            }
        }
        Ok(self.report())
    }

    /// Moves on with the clock; true when the run is over.
    fn advance(&mut self, now: Instant) -> bool {
        if let Phase::Warmup { until } = self.phase
            && now >= until
        {
            self.before = self.readings();
            self.recorder.open = true;
            self.phase = Phase::Window { began: now };
        }
        if let Phase::Window { began } = self.phase {
            let served =
                self.busy == 0 && self.plan.requests.is_some_and(|n| self.issued_in_window >= n);
            let over = self.plan.duration.is_some_and(|length| now >= began + length);
            if served || over || now >= self.limit {
                let after = self.readings();
                let server = |(after, before)| Duration::saturating_sub(after, before);
                self.spent.server = after.server.zip(self.before.server).map(server);
                self.spent.own = after.own.saturating_sub(self.before.own);
                self.window = now - began;
                self.recorder.open = false;
                self.phase = Phase::Drain { until: self.limit.min(now + self.plan.drain) };
            }
        }
        match self.phase {
            Phase::Drain { until } => self.busy == 0 || now >= until,
            Phase::Warmup { .. } => now >= self.limit,
            Phase::Window { .. } => false,
        }
    }

    fn next_deadline(&self) -> Instant {
        let phase = match self.phase {
            Phase::Warmup { until } | Phase::Drain { until } => until,
            Phase::Window { began } => {
                self.plan.duration.map_or(self.limit, |length| began + length)
            }
        };
        phase.min(self.limit).min(self.sweep_at)
    }

    /// The server's reading is absent when its process is gone.
    fn readings(&self) -> Readings {
        Readings { server: self.plan.pid.and_then(|pid| cpu::process(pid).ok()), own: cpu::own() }
    }

    /// Starts connections whose time has come, and gives up those that are silent.
    fn sweep(&mut self, now: Instant) {
        self.sweep_at = now + SWEEP;
        for k in 0..self.connections.len() {
            match self.connections[k].state {
                State::Waiting(at) if at <= now => self.begin(k),
                State::Waiting(at) => self.sweep_at = self.sweep_at.min(at),
                State::Busy
                    if now.saturating_duration_since(self.connections[k].heard)
                        > self.plan.idle =>
                {
                    self.fail(k, Failure::new("silent for longer than idle_s", b""));
                }
                State::Busy | State::Closed => {}
            }
        }
    }

    fn may_begin(&self) -> bool {
        match self.phase {
            Phase::Warmup { .. } => true,
            Phase::Window { .. } => self.plan.requests.is_none_or(|n| self.issued_in_window < n),
            Phase::Drain { .. } => false,
        }
    }

    /// Begins the next request on connection `k`, if there is one.
    fn begin(&mut self, k: usize) {
        if !self.may_begin() {
            self.connections[k].state = State::Closed;
            self.connections[k].close();
            return;
        }
        let connection = &mut self.connections[k];
        connection.state = State::Busy;
        connection.request = self.issued;
        connection.measured = self.recorder.open;
        connection.out.clear();
        self.plan.request(self.issued, &mut self.scratch, &mut connection.out);
        self.issued += 1;
        self.issued_in_window += u64::from(self.recorder.open);
        self.busy += 1;
        connection.began = Instant::now();
        connection.heard = connection.began;
        self.send(k);
    }

    fn send(&mut self, k: usize) {
        if let Err(error) = self.connections[k].send(self.plan.addr, self.poll.registry(), Token(k))
        {
            self.lost(k, io_failure(&error));
        }
    }

    /// The response on connection `k` is whole.
    fn ended(&mut self, k: usize) {
        let connection = &mut self.connections[k];
        match connection.exchange.end() {
            Ok(tokens) => {
                self.checker.check(connection.request, &connection.exchange.answer.texts);
                let comments = connection.exchange.answer.comments;
                let began = connection.began_in_window();
                self.recorder.success(tokens, comments, connection.heard, began);
                self.busy -= 1;
                self.begin(k);
            }
            Err(failure) => self.fail(k, failure),
        }
    }

    /// Connection `k` broke.
    fn lost(&mut self, k: usize, failure: Failure) {
        if !matches!(self.connections[k].state, State::Busy) {
            return self.connections[k].close();
        }
        let stale = self.connections[k].was_stale();
        self.connections[k].close();
        if stale {
            // The next socket is new, so this happens once a request.
            self.recorder.reconnects += 1;
            self.send(k);
        } else {
            self.fail(k, failure);
        }
    }

    fn fail(&mut self, k: usize, failure: Failure) {
        let connection = &mut self.connections[k];
        self.recorder.failure(connection.request, failure);
        connection.close();
        let again = Instant::now() + PAUSE;
        connection.state = State::Waiting(again);
        self.sweep_at = self.sweep_at.min(again);
        self.busy -= 1;
    }

    fn report(self) -> Report {
        let mut report = self.recorder.report(self.window, self.spent.server, self.spent.own);
        report.requests_cut = self.busy as u64;
        report.texts_checked = self.checker.checked;
        report.texts_wrong = self.checker.wrong;
        report.distinct_texts = self.checker.distinct();
        report.first_wrong = self.checker.first_wrong;
        report
    }
}
