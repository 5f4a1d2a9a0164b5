//! A step's log probabilities, read from the tables that the model's side fills.

use overt_link::Logprobs;

/// Rows of `[logprob, rank, top ids…, top logprobs…]`, floats as their bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    words: &'a [i32],
    top: usize,
}

impl<'a> Table<'a> {
    /// The table of `rows` rows with `top` alternatives each; none where `words` is too short for it.
    pub(crate) fn new(words: &'a [i32], rows: usize, top: u32) -> Option<Self> {
        let top = top as usize;
        (words.len() >= rows * width(top)).then_some(Self { words, top })
    }

    /// Row `row` with its first `count` alternatives.
    pub(crate) fn row(&self, row: usize, count: u32) -> Logprobs {
        let words = &self.words[row * width(self.top)..(row + 1) * width(self.top)];
        let (ids, logprobs) = words[2..].split_at(self.top);
        // A vocabulary smaller than what was asked for leaves ids of -1.
        let top = ids.iter().zip(logprobs).take(count as usize);
        Logprobs {
            logprob: float(words[0]),
            rank: words[1].cast_unsigned(),
            top: top
                .filter_map(|(id, logprob)| Some((u32::try_from(*id).ok()?, float(*logprob))))
                .collect(),
        }
    }
}

fn width(top: usize) -> usize {
    2 + 2 * top
}

fn float(bits: i32) -> f32 {
    f32::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_as_many_alternatives_as_they_asked_for() {
        let bits = |value: f32| value.to_bits().cast_signed();
        let words =
            [[bits(-1.5), 3, 8, 9, bits(-0.5), bits(-1.0)], [bits(-2.0), 1, 4, -1, bits(-2.0), 0]]
                .concat();
        let table = Table::new(&words, 2, 2).unwrap();
        assert_eq!(table.row(0, 1), Logprobs { logprob: -1.5, rank: 3, top: vec![(8, -0.5)] });
        assert_eq!(table.row(1, 2), Logprobs { logprob: -2.0, rank: 1, top: vec![(4, -2.0)] });
        assert!(Table::new(&words, 3, 2).is_none());
    }
}
