//! Ranges of a text in which special tokens are ordinary text.

use std::ops::Range;

/// Byte ranges in order, apart from each other, none empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plain(Vec<Range<usize>>);

impl Plain {
    /// Of ranges in any order, which may overlap; what is empty or reversed says nothing.
    pub(crate) fn new(ranges: &[Range<usize>]) -> Self {
        let mut sorted: Vec<Range<usize>> =
            ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        sorted.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// True when a byte of `range` is in one of them.
    pub(crate) fn overlaps(&self, range: &Range<usize>) -> bool {
        let next = self.0.partition_point(|plain| plain.end <= range.start);
        self.0.get(next).is_some_and(|plain| plain.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_any_order_are_one_set_of_bytes() {
        #[expect(clippy::reversed_empty_ranges, reason = "says nothing, and is no error")]
        let plain = Plain::new(&[7..9, 2..4, 3..5, 5..5, 9..6, 20..usize::MAX]);
        assert_eq!(plain.0, [2..5, 7..9, 20..usize::MAX]);
        let bytes: Vec<usize> = (0..24).filter(|at| plain.overlaps(&(*at..at + 1))).collect();
        assert_eq!(bytes, [2, 3, 4, 7, 8, 20, 21, 22, 23]);
        assert!(plain.overlaps(&(0..3)) && plain.overlaps(&(0..100)));
        assert!(!plain.overlaps(&(0..2)) && !plain.overlaps(&(5..7)));
    }
}
