//! Times in buckets, so that a long run takes no more memory than a short one.

use std::time::Duration;

use crate::report::Quantiles;

/// Buckets a doubling: a value is known to within 1/128 of itself.
const BITS: u32 = 7;
const BUCKETS: usize = (64 - BITS as usize + 1) << BITS;

/// Counts of times, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: f64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum: 0.0, max: 0 }
    }

    /// Adds a time `times` times.
    pub(crate) fn add(&mut self, time: Duration, times: u64) {
        let value = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(value)] += times;
        if times > 0 {
            self.count += times;
            self.sum += value as f64 * times as f64;
            self.max = self.max.max(value);
        }
    }

    /// In milliseconds; absent when nothing was added.
    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        let milliseconds = |value: f64| value / 1e6;
        (self.count > 0).then(|| Quantiles {
            count: self.count,
            mean: milliseconds(self.sum / self.count as f64),
            p50: milliseconds(self.at(0.50)),
            p90: milliseconds(self.at(0.90)),
            p99: milliseconds(self.at(0.99)),
            max: milliseconds(self.max as f64),
        })
    }

    /// The value below or at which the share `q` of all lies.
    fn at(&self, q: f64) -> f64 {
        let rank = (q * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(index).min(self.max as f64);
            }
        }
        self.max as f64
    }
}

fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((shift as usize) << BITS) + (value >> shift) as usize
}

fn middle(index: usize) -> f64 {
    let shift = (index >> BITS).saturating_sub(1);
    let low = ((index - (shift << BITS)) as f64) * 2f64.powi(shift as i32);
    if shift == 0 { low } else { low + 2f64.powi(shift as i32 - 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_of_known_times() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantiles(), None);
        for ms in 1..=1000 {
            histogram.add(Duration::from_millis(ms), 1);
        }
        histogram.add(Duration::from_secs(9), 0);
        let quantiles = histogram.quantiles().unwrap();
        for (got, expected) in
            [(quantiles.p50, 500.0), (quantiles.p90, 900.0), (quantiles.p99, 990.0)]
        {
            assert!((got - expected).abs() <= expected / 128.0, "{got} {expected}");
        }
        assert_eq!((quantiles.count, quantiles.max), (1000, 1000.0));
        assert!((quantiles.mean - 500.5).abs() < 1e-6);
    }

    #[test]
    fn gaps_of_nothing_count() {
        let mut histogram = Histogram::new();
        histogram.add(Duration::ZERO, 99);
        histogram.add(Duration::from_secs(1), 1);
        let quantiles = histogram.quantiles().unwrap();
        assert_eq!((quantiles.p50, quantiles.p99, quantiles.max), (0.0, 0.0, 1000.0));
    }

    proptest! {
        #[test]
        fn a_bucket_is_near_its_values(value in any::<u64>(), shift in 0..64u32) {
            let value = value >> shift;
            let index = bucket(value);
            prop_assert!(index < BUCKETS);
            prop_assert!((middle(index) - value as f64).abs() <= value as f64 / 128.0);
        }
    }
}
