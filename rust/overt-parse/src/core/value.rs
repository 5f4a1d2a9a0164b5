//! Finds where a JSON value ends, byte by byte, without building it.

/// Where one byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Within the value.
    Inside,
    /// The last byte of the value.
    Last,
    /// Behind the value, which ended before.
    Behind,
    /// No JSON value has this byte here.
    Invalid,
}

/// Follows strings, escapes and brackets; numbers and words end where something else begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Value {
    kind: Kind,
    depth: u32,
    /// The open brackets, the innermost in the lowest bit: set for a brace.
    braces: u128,
    string: bool,
    escape: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Scalar,
    Text,
    Container,
}

impl Value {
    /// True of an object or array.
    pub(crate) fn is_container(self) -> bool {
        self.kind == Kind::Container
    }

    /// True of a number, `true`, `false` or `null`.
    pub(crate) fn is_scalar(self) -> bool {
        self.kind == Kind::Scalar
    }

    /// True once a byte of it has come.
    pub(crate) fn has_begun(self) -> bool {
        self.kind != Kind::Unknown
    }

    /// True within a string.
    pub(crate) fn in_string(self) -> bool {
        self.string
    }

    /// Reads what of `bytes` belongs to the value; answers how many bytes, and where the last byte stands that was
    /// looked at: [`Place::Inside`] when all of `bytes` was read and the value goes on.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> (usize, Place) {
        let mut at = 0;
        while at < bytes.len() {
            if self.string && !self.escape {
                match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                    Some(skip) => at += skip,
                    None => break,
                }
            }
            match self.step(bytes[at]) {
                Place::Inside => at += 1,
                Place::Last => return (at + 1, Place::Last),
                place => return (at, place),
            }
        }
        (bytes.len(), Place::Inside)
    }

    /// Reads the next byte; the first one must not be white space.
    pub(crate) fn step(&mut self, byte: u8) -> Place {
        if self.string {
            match byte {
                _ if self.escape => self.escape = false,
                b'\\' => self.escape = true,
                b'"' => {
                    self.string = false;
                    if self.kind == Kind::Text {
                        return Place::Last;
                    }
                }
                _ => {}
            }
            return Place::Inside;
        }
        match (self.kind, byte) {
            (Kind::Scalar, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') => Place::Behind,
            (
                Kind::Unknown | Kind::Scalar,
                b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z',
            ) => {
                self.kind = Kind::Scalar;
                Place::Inside
            }
            (Kind::Unknown, b'"') => {
                self.kind = Kind::Text;
                self.string = true;
                Place::Inside
            }
            (Kind::Unknown | Kind::Container, b'{' | b'[') => {
                self.kind = Kind::Container;
                self.depth += 1;
                self.braces = self.braces << 1 | u128::from(byte == b'{');
                if self.depth > u128::BITS { Place::Invalid } else { Place::Inside }
            }
            (Kind::Container, b'"') => {
                self.string = true;
                Place::Inside
            }
            (Kind::Container, b'}' | b']') => {
                if (self.braces & 1 == 1) != (byte == b'}') {
                    return Place::Invalid;
                }
                self.braces >>= 1;
                self.depth -= 1;
                if self.depth == 0 { Place::Last } else { Place::Inside }
            }
            // No token of JSON begins so: markup has come where the value should have ended.
            (_, b'<') => Place::Invalid,
            (Kind::Container, _) => Place::Inside,
            _ => Place::Invalid,
        }
    }
}
