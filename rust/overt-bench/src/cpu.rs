//! CPU time, of the server's process and of this thread.

use std::io;
use std::time::Duration;

/// User and system time of a process and all its threads. Linux only: read from `/proc`.
pub(crate) fn process(pid: u32) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let ticks = ticks(&stat).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "its stat file has another format")
    })?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Fields 14 and 15. The name in field 2 may hold anything, so count from its closing parenthesis.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// CPU time of the calling thread, which is all that the load generator uses.
pub(crate) fn own() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_anything() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7 (a) S 1"), None);
    }

    #[test]
    fn work_takes_time() {
        let (before, process_before) = (own(), process(std::process::id()).unwrap());
        let mut value = 1u64;
        while own() - before < Duration::from_millis(30) {
            value = std::hint::black_box(value.wrapping_mul(3));
        }
        assert!(process(std::process::id()).unwrap() > process_before);
        assert!(process(u32::MAX).is_err());
    }
}
