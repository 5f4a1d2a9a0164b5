//! Load generator: a client that costs less than the server it measures.
//!
//! One thread and one poll loop hold all connections; HTTP/1.1 and server-sent events are read by hand.
//! It talks to loopback addresses only, and stops by itself.

mod answer;
mod check;
mod chunked;
mod connection;
mod cpu;
mod driver;
mod exchange;
mod frame;
mod histogram;
mod http;
mod options;
mod plan;
mod report;
mod template;

pub use options::{BenchError, Options};
pub use report::{Quantiles, Report, WrongText};

/// Puts the load that `options` describe on a server, and tells what came back.
///
/// Takes as long as the options say, and never longer than `limit_s`. Answers that fail are counted in
/// the report; they are no error of the run.
///
/// # Errors
/// When an option is out of range, the address is not of this machine's loopback, nothing listens there,
/// the process to sample does not exist, or the system refuses the poll loop.
pub fn run(options: Options) -> Result<Report, BenchError> {
    let plan = plan::Plan::new(options)?;
    driver::Driver::new(plan)?.run()
}
