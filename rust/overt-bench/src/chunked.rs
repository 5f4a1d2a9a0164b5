//! Reads HTTP/1.1 chunked coding, cut anywhere.

/// Where in the coding the reader stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Chunked {
    /// Before the first digit of a length.
    #[default]
    Start,
    /// Within a length.
    Size(u64),
    /// Within what may follow a length.
    Extension(u64),
    /// At the line feed after a length.
    SizeEnd(u64),
    /// So many bytes of data are to come.
    Data(u64),
    /// At the carriage return after data.
    DataReturn,
    /// At the line feed after data.
    DataEnd,
    /// At the start of a line after the last chunk.
    Trailer,
    /// Within such a line.
    TrailerLine,
    /// At the line feed that ends the body.
    End,
    /// The body has ended.
    Done,
}

impl Chunked {
    /// Appends the data in `bytes` to `out`; gives how many bytes were read: fewer than all only when done.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, &'static str> {
        let mut at = 0;
        while at < bytes.len() && *self != Self::Done {
            if let Self::Data(left) = *self {
                let take = usize::try_from(left)
                    .map_or(bytes.len() - at, |left| left.min(bytes.len() - at));
                out.extend_from_slice(&bytes[at..at + take]);
                at += take;
                let left = left - take as u64;
                *self = if left == 0 { Self::DataReturn } else { Self::Data(left) };
            } else {
                *self = self.step(bytes[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn step(self, byte: u8) -> Result<Self, &'static str> {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        Ok(match (self, byte) {
            (Self::Start, _) => Self::Size(digit.ok_or("a chunk without a length")?),
            (Self::Size(size), b'\r') | (Self::Extension(size), b'\r') => Self::SizeEnd(size),
            (Self::Size(size), b';' | b' ' | b'\t') | (Self::Extension(size), _) => {
                Self::Extension(size)
            }
            (Self::Size(size), _) => {
                let digit = digit.ok_or("a chunk's length that is no number")?;
                if size >> 56 != 0 {
                    return Err("a chunk's length that is too large");
                }
                Self::Size(size << 4 | digit)
            }
            (Self::SizeEnd(0), b'\n') => Self::Trailer,
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataReturn, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::Start,
            (Self::Trailer, b'\r') => Self::End,
            (Self::TrailerLine, b'\n') => Self::Trailer,
            (Self::Trailer | Self::TrailerLine, _) => Self::TrailerLine,
            (Self::End, b'\n') => Self::Done,
            _ => return Err("a chunk without its line end"),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(cuts: &[&[u8]]) -> Result<(Vec<u8>, usize, bool), &'static str> {
        let (mut chunked, mut out, mut used) = (Chunked::default(), Vec::new(), 0);
        for cut in cuts {
            used += chunked.push(cut, &mut out)?;
        }
        Ok((out, used, chunked == Chunked::Done))
    }

    #[test]
    fn extensions_trailers_and_what_follows() {
        let coded = b"3;a=b\r\nabc\r\nA \r\n0123456789\r\n0\r\nx: y\r\n\r\nHTTP";
        assert_eq!(read(&[coded]), Ok((b"abc0123456789".to_vec(), coded.len() - 4, true)));
    }

    #[test]
    fn bad_coding_is_an_error() {
        for coded in [
            "\r\n",
            "x\r\n",
            "3\n",
            "3x\r\n",
            "1\r\nab",
            "1\r\na\rb",
            "fffffffffffffffff\r\n",
            "0\r\n\rx",
        ] {
            assert!(read(&[coded.as_bytes()]).is_err(), "{coded:?}");
        }
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            size in 1..30usize,
        ) {
            let mut coded = Vec::new();
            for part in &parts {
                coded.extend(format!("{:x}\r\n", part.len()).bytes().chain(part.iter().copied()));
                coded.extend(b"\r\n");
            }
            coded.extend(b"0\r\n\r\n");
            let cuts: Vec<_> = coded.chunks(size).collect();
            prop_assert_eq!(read(&cuts), Ok((parts.concat(), coded.len(), true)));
        }
    }
}
