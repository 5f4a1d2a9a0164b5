//! Python's string literals, turned into the inside of JSON strings as they come.
//!
//! - Both quotes, single and triple; prefixes `r`, `b`, `u`, `f`; all escapes but `\N{...}`, which stays as it is.
//! - Halves of a surrogate pair in two `\u` escapes are one character; a half alone becomes U+FFFD.
//! - A quote ends a string only before `,` `)` `]` `}` `:` or the end, since templates and models write apostrophes
//!   without a backslash; before another quote it is followed by an adjacent string, which is joined.
//! - Line feeds within single quotes are read as they stand.

use crate::core::typed::escape;

/// One string literal, adjacent ones included.
#[derive(Debug, Default)]
pub(super) struct Text {
    step: Step,
    quote: char,
    triple: bool,
    raw: bool,
    /// Text that is said only if it turns out to be the string's: a quote and what follows it, or digits.
    held: String,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Step {
    #[default]
    Body,
    /// One quote has come.
    Opened,
    /// Two quotes have come: an empty string, or the start of a triple one.
    Twice,
    /// A backslash has come.
    Escape,
    /// Digits of `\x`, `\u` or `\U`: so many are still to come.
    Hex(u8),
    /// Digits of an octal escape: so many may still come.
    Octal(u8),
    /// Some of a triple string's closing quotes.
    Closing,
    /// A quote has come that may be the end; blanks may follow.
    Closed,
}

/// What a character did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fed {
    /// It belongs to the string.
    Goes,
    /// The string has ended before it.
    Ended,
}

impl Text {
    /// A string whose first quote has come.
    pub(super) fn open(quote: char, raw: bool) -> Self {
        Self { step: Step::Opened, quote, raw, ..Self::default() }
    }

    /// True where markers are the string's text.
    pub(super) fn is_inside(&self) -> bool {
        self.step != Step::Closed
    }

    /// How many bytes from the start of `text` need no look at each character: they have been said to `out`.
    pub(super) fn run(&mut self, text: &str, out: &mut String) -> usize {
        if self.step != Step::Body {
            return 0;
        }
        let quote = u8::try_from(self.quote).unwrap_or(b'"');
        let len = memchr::memchr2(quote, b'\\', text.as_bytes()).unwrap_or(text.len());
        if len > 0 {
            self.release_half(out);
            escape(&text[..len], out);
        }
        len
    }

    /// Reads one character; what is sure to be the string's goes to `out`, escaped.
    pub(super) fn feed(&mut self, c: char, out: &mut String) -> Fed {
        match self.step {
            Step::Opened if c == self.quote => self.step = Step::Twice,
            Step::Opened => return self.body(c, out),
            Step::Twice if c == self.quote => {
                self.triple = true;
                self.step = Step::Body;
            }
            Step::Twice => {
                self.close();
                return self.closed(c, out);
            }
            Step::Body => return self.body(c, out),
            Step::Escape => self.escaped(c, out),
            Step::Hex(left) => return self.hex(left, c, out),
            Step::Octal(left) => return self.octal(left, c, out),
            Step::Closing if c == self.quote => {
                self.held.push(c);
                if self.held.len() == 3 {
                    self.close();
                }
            }
            Step::Closing => {
                let held = std::mem::take(&mut self.held);
                self.say(&held, out);
                return self.body(c, out);
            }
            Step::Closed => return self.closed(c, out),
        }
        Fed::Goes
    }

    /// Nothing more can belong to the string; true when its closing quote has come.
    pub(super) fn finish(&mut self, out: &mut String) -> bool {
        self.release_half(out);
        matches!(self.step, Step::Closed | Step::Twice)
    }

    fn close(&mut self) {
        self.step = Step::Closed;
        self.held.clear();
        if !self.triple {
            self.held.push(self.quote);
        }
    }

    fn body(&mut self, c: char, out: &mut String) -> Fed {
        self.step = Step::Body;
        if c == '\\' {
            self.step = Step::Escape;
        } else if c == self.quote && self.triple {
            self.step = Step::Closing;
            self.held.push(c);
        } else if c == self.quote {
            self.close();
        } else {
            self.say(c.encode_utf8(&mut [0; 4]), out);
        }
        Fed::Goes
    }

    fn closed(&mut self, c: char, out: &mut String) -> Fed {
        match c {
            ',' | ')' | ']' | '}' | ':' => {
                self.release_half(out);
                Fed::Ended
            }
            ' ' | '\t' | '\r' | '\n' if self.triple && self.held.is_empty() => Fed::Goes,
            ' ' | '\t' | '\r' | '\n' => {
                self.held.push(c);
                Fed::Goes
            }
            '\'' | '"' => {
                let high = self.high;
                *self = Self { high, ..Self::open(c, false) };
                Fed::Goes
            }
            _ if self.triple => {
                self.release_half(out);
                Fed::Ended
            }
            _ => {
                let held = std::mem::take(&mut self.held);
                self.say(&held, out);
                self.body(c, out)
            }
        }
    }

    fn escaped(&mut self, c: char, out: &mut String) {
        self.step = Step::Body;
        if self.raw {
            self.say("\\", out);
            return self.say(c.encode_utf8(&mut [0; 4]), out);
        }
        let mut own = [0; 4];
        let said = match c {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'a' => "\u{7}",
            'v' => "\u{b}",
            '\\' => "\\",
            '\'' => "'",
            '"' => "\"",
            '\n' => "",
            'x' | 'u' | 'U' => {
                self.held.push(c);
                self.step = Step::Hex(match c {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                });
                return;
            }
            '0'..='7' => {
                self.held.push(c);
                self.step = Step::Octal(2);
                return;
            }
            // No escape of Python's: the backslash stays.
            _ => {
                self.say("\\", out);
                c.encode_utf8(&mut own)
            }
        };
        self.say(said, out);
    }

    fn hex(&mut self, left: u8, c: char, out: &mut String) -> Fed {
        if !c.is_ascii_hexdigit() {
            // Not an escape after all.
            let held = std::mem::take(&mut self.held);
            self.say("\\", out);
            self.say(&held, out);
            return self.body(c, out);
        }
        self.held.push(c);
        self.step = Step::Hex(left - 1);
        if left == 1 {
            let code = u32::from_str_radix(&self.held[1..], 16).unwrap_or(0xfffd);
            self.held.clear();
            self.step = Step::Body;
            self.code(code, out);
        }
        Fed::Goes
    }

    fn octal(&mut self, left: u8, c: char, out: &mut String) -> Fed {
        if left > 0 && matches!(c, '0'..='7') {
            self.held.push(c);
            self.step = Step::Octal(left - 1);
            return Fed::Goes;
        }
        let code = u32::from_str_radix(&self.held, 8).unwrap_or(0xfffd);
        self.held.clear();
        self.code(code, out);
        self.body(c, out)
    }

    /// Says the character of this number.
    fn code(&mut self, code: u32, out: &mut String) {
        match (self.high.take(), code) {
            (Some(high), 0xdc00..=0xdfff) => {
                let whole = 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00);
                let whole = char::from_u32(whole).unwrap_or('\u{fffd}');
                return escape(whole.encode_utf8(&mut [0; 4]), out);
            }
            (Some(_), _) => out.push('\u{fffd}'),
            (None, _) => {}
        }
        match code {
            0xd800..=0xdbff => self.high = Some(code),
            _ => {
                let c = char::from_u32(code).unwrap_or('\u{fffd}');
                escape(c.encode_utf8(&mut [0; 4]), out);
            }
        }
    }

    fn say(&mut self, text: &str, out: &mut String) {
        if !text.is_empty() {
            self.release_half(out);
            escape(text, out);
        }
    }

    fn release_half(&mut self, out: &mut String) {
        if self.high.take().is_some() {
            out.push('\u{fffd}');
        }
    }
}
