//! HTTP/1.1 chunked transfer coding.

use crate::json::HEX;

/// Appends `bytes` to `out` as one chunk: length in hexadecimal, CRLF, data, CRLF.
///
/// Of no bytes nothing is written, since a chunk of length 0 would end the response.
pub fn chunk(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    out.reserve(bytes.len() + 20);
    let digits = (usize::BITS - bytes.len().leading_zeros()).div_ceil(4);
    out.extend((0..digits).rev().map(|digit| HEX[bytes.len() >> (4 * digit) & 15]));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_hexadecimal() {
        for length in [1, 9, 10, 15, 16, 255, 256, 4095, 4096, 70_000] {
            let data = vec![b'x'; length];
            let mut out = b"before".to_vec();
            chunk(&data, &mut out);
            let expected = [format!("before{length:x}\r\n").as_bytes(), &data, b"\r\n"].concat();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn nothing_is_no_chunk() {
        let mut out = Vec::new();
        chunk(b"", &mut out);
        assert!(out.is_empty());
    }
}
