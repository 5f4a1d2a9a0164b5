//! What one render may use besides steps: time, and bytes made.
//!
//! Steps are counted by the engine. Time and bytes are counted here, in the thread that renders,
//! wherever this crate's own code runs: printing, loops, macros, operators, filters and methods.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

use minijinja::{Error, ErrorKind, State};

use crate::python::namespace::Keeping;

/// What a render may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps of any render; a step is an instruction, or 64 bytes of text made.
    pub fuel: u64,
    /// Further steps for each message.
    pub fuel_per_message: u64,
    /// Further steps for each byte of messages, tools, documents and template arguments, as JSON.
    pub fuel_per_byte: u64,
    /// Most steps, whatever the input.
    pub fuel_most: u64,
    /// Most time.
    pub deadline: Duration,
    /// Most bytes of the prompt.
    pub output: usize,
    /// Most bytes of all values that a render makes on its way.
    pub memory: usize,
}

impl Default for Limits {
    /// 1,000,000 steps, 20,000 more for each message and 50 for each byte, at most 50,000,000;
    /// 2 s; 64 MiB of prompt; 256 MiB of values.
    fn default() -> Self {
        Self {
            fuel: 1_000_000,
            fuel_per_message: 20_000,
            fuel_per_byte: 50,
            fuel_most: 50_000_000,
            deadline: Duration::from_secs(2),
            output: 64 << 20,
            memory: 256 << 20,
        }
    }
}

impl Limits {
    /// Steps for an input of so many messages and bytes.
    pub(crate) fn steps(&self, messages: u64, bytes: u64) -> u64 {
        self.fuel
            .saturating_add(self.fuel_per_message.saturating_mul(messages))
            .saturating_add(self.fuel_per_byte.saturating_mul(bytes))
            .min(self.fuel_most)
    }
}

/// Marks an error as a limit reached on its way through the engine.
#[derive(Debug)]
pub(crate) struct Exceeded(pub(crate) String);

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Exceeded {}

pub(crate) fn exceeded(what: impl Into<String>) -> Error {
    let what = what.into();
    Error::new(ErrorKind::InvalidOperation, what.clone()).with_source(Exceeded(what))
}

/// Loops that may be put into other values: their chains cannot be measured.
const MAX_NESTINGS: u32 = 32;
/// Bytes after which the clock is looked at whatever the number of calls.
const LARGE: usize = 65_536;
/// Calls between two looks at the clock.
const TICKS: u32 = 32;

#[derive(Clone, Copy)]
struct Spent {
    end: Option<Instant>,
    deadline: Duration,
    ticks: u32,
    memory: usize,
    most_memory: usize,
    nestings: u32,
    /// Steps that this render may not take of those that any may.
    withheld: u64,
}

const IDLE: Spent = Spent {
    end: None,
    deadline: Duration::ZERO,
    ticks: 0,
    memory: 0,
    most_memory: usize::MAX,
    nestings: 0,
    withheld: 0,
};

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(IDLE) };
}

/// Counts from now on, until it is dropped.
pub(crate) struct Counting {
    outer: Spent,
    _namespaces: Keeping,
}

impl Counting {
    /// Of a render that may take `fuel` steps.
    pub(crate) fn start(limits: &Limits, fuel: u64) -> Self {
        let now = Instant::now();
        let spent = Spent {
            end: now.checked_add(limits.deadline),
            deadline: limits.deadline,
            most_memory: limits.memory,
            withheld: limits.fuel_most.saturating_sub(fuel),
            ..IDLE
        };
        Self { outer: SPENT.replace(spent), _namespaces: Keeping::start() }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        SPENT.set(self.outer);
    }
}

/// Takes the steps that this render may not use; the first thing that a template does.
pub(crate) fn begin(state: &State) -> Result<(), Error> {
    let mut spent = SPENT.get();
    let withheld = std::mem::take(&mut spent.withheld);
    SPENT.set(spent);
    state.consume_fuel(withheld)
}

/// Counts `bytes` that are made: memory, and time as for those that are looked at.
pub(crate) fn make(state: &State, bytes: usize) -> Result<(), Error> {
    state.consume_fuel(bytes as u64 / 64)?;
    spend(bytes)
}

/// Counts `bytes` that are looked at, for they take time: compared, searched, hashed.
pub(crate) fn read(state: &State, bytes: usize) -> Result<(), Error> {
    state.consume_fuel(bytes as u64 / 64)?;
    tick(bytes)
}

/// Counts one call, and `bytes` that it makes, where their steps are counted elsewhere.
pub(crate) fn spend(bytes: usize) -> Result<(), Error> {
    let mut spent = SPENT.get();
    spent.memory = spent.memory.saturating_add(bytes);
    SPENT.set(spent);
    if spent.memory > spent.most_memory {
        return Err(exceeded(format!(
            "it makes more than {} of text and lists",
            size(spent.most_memory)
        )));
    }
    tick(bytes)
}

/// Counts one call that goes through `bytes`.
fn tick(bytes: usize) -> Result<(), Error> {
    let mut spent = SPENT.get();
    spent.ticks += 1;
    let look = spent.ticks >= TICKS || bytes > LARGE;
    if look {
        spent.ticks = 0;
    }
    SPENT.set(spent);
    match spent.end {
        Some(end) if look && Instant::now() > end => {
            Err(exceeded(format!("it takes longer than {:?}", spent.deadline)))
        }
        _ => Ok(()),
    }
}

/// Counts a loop that is put into another value.
pub(crate) fn nest() -> Result<(), Error> {
    let mut spent = SPENT.get();
    spent.nestings += 1;
    SPENT.set(spent);
    if spent.nestings > MAX_NESTINGS {
        return Err(exceeded(format!("it puts more than {MAX_NESTINGS} loops into other values")));
    }
    Ok(())
}

/// A number of bytes in words.
pub(crate) fn size(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}
