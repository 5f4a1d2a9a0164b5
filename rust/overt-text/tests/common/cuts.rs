//! Text in pieces, as tokens cut it.

/// `text` in pieces of so many characters, the last with all the rest.
pub(crate) fn cut<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for cut in cuts {
        let at = rest.char_indices().map(|c| c.0).nth(*cut).unwrap_or(rest.len());
        let (piece, later) = rest.split_at(at);
        pieces.push(piece);
        rest = later;
    }
    pieces.push(rest);
    pieces
}

/// Lossy text of the bytes without an incomplete end.
pub(crate) fn certain(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let valid = error.valid_up_to();
        out.push_str(std::str::from_utf8(&rest[..valid]).unwrap());
        match error.error_len() {
            Some(length) => {
                out.push('\u{fffd}');
                rest = &rest[valid + length..];
            }
            None => return out,
        }
    }
    out + std::str::from_utf8(rest).unwrap()
}
