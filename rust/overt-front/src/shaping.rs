//! What an answer's events become for the client: one call alone, reasoning in one piece, inputs of custom tools.

use std::sync::Arc;

use overt_parse::{Event, Events};

/// Changes one choice's events; made only where something is to be changed.
#[derive(Debug, Default)]
pub(crate) struct Shaping {
    /// The choice is over once a call has ended.
    one_call: bool,
    /// Reasoning so far, where it is told in one piece.
    gathered: Option<String>,
    /// Names of custom tools, whose arguments are one free text.
    custom: Arc<[String]>,
    input: Option<Input>,
}

impl Shaping {
    /// `gathers`: reasoning is told in one piece.
    pub(crate) fn new(one_call: bool, gathers: bool, custom: Arc<[String]>) -> Self {
        Self { one_call, gathered: gathers.then(String::new), custom, input: None }
    }

    /// Rewrites `events`, with `spare` as a place to work in; `ended`: nothing follows. Answers whether the choice
    /// is over.
    pub(crate) fn shape(&mut self, events: &mut Events, spare: &mut Events, ended: bool) -> bool {
        spare.clear();
        let mut over = false;
        for event in events.iter() {
            if let (Event::Reasoning(text), Some(gathered)) = (event, &mut self.gathered) {
                gathered.push_str(text);
                continue;
            }
            self.tell_reasoning(spare);
            match event {
                Event::Text(text) => spare.text(text),
                Event::Reasoning(text) => spare.reasoning(text),
                Event::ToolStart { index, id, name } => {
                    self.input =
                        self.custom.iter().any(|custom| custom == name).then(Input::default);
                    spare.tool_start(index, id, name);
                }
                Event::ToolArgs { index, text } => match &mut self.input {
                    Some(input) => spare.tool_args(index, &input.read(text)),
                    None => spare.tool_args(index, text),
                },
                Event::ToolEnd { index } => {
                    if let Some(mut input) = self.input.take() {
                        spare.tool_args(index, &input.finish());
                    }
                    spare.tool_end(index);
                    over = self.one_call;
                    if over {
                        break;
                    }
                }
            }
        }
        if ended || over {
            self.tell_reasoning(spare);
        }
        std::mem::swap(events, spare);
        over
    }

    fn tell_reasoning(&mut self, out: &mut Events) {
        if let Some(gathered) = &mut self.gathered {
            out.reasoning(gathered);
            gathered.clear();
        }
    }
}

/// Reads the text out of `{"input": "…"}` as it comes. What has another form is said as it is.
#[derive(Debug, Default)]
struct Input {
    state: State,
    /// What was read and not said yet: the beginning, or an escape that is not whole.
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the text.
    #[default]
    Before,
    Text,
    /// Behind the text.
    Behind,
    /// It has another form.
    Raw,
}

impl Input {
    fn read(&mut self, text: &str) -> String {
        match self.state {
            State::Raw => return text.to_owned(),
            State::Behind => return String::new(),
            State::Before | State::Text => self.held.push_str(text),
        }
        if self.state == State::Before {
            match opening(&self.held) {
                Opening::Whole(length) => {
                    self.held.drain(..length);
                    self.state = State::Text;
                }
                Opening::Part => return String::new(),
                Opening::Other => {
                    self.state = State::Raw;
                    return std::mem::take(&mut self.held);
                }
            }
        }
        self.text()
    }

    /// Says as much as can be decoded.
    fn text(&mut self) -> String {
        let mut end = self.held.len();
        let mut at = 0;
        let bytes = self.held.as_bytes();
        let mut closed = false;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    (end, closed) = (at, true);
                    break;
                }
                b'\\' => match escape(&self.held[at..]) {
                    Some(length) => at += length,
                    None => {
                        end = at;
                        break;
                    }
                },
                _ => at += 1,
            }
        }
        let quoted = format!("\"{}\"", &self.held[..end]);
        let said = serde_json::from_str(&quoted).unwrap_or_else(|_| self.held[..end].to_owned());
        self.held.drain(..end);
        if closed {
            self.held.clear();
            self.state = State::Behind;
        }
        said
    }

    fn finish(&mut self) -> String {
        match self.state {
            // No text has come: the arguments are empty.
            State::Before if self.held.trim() == "{}" => String::new(),
            _ => std::mem::take(&mut self.held),
        }
    }
}

enum Opening {
    /// It takes so many bytes.
    Whole(usize),
    /// It may still become one.
    Part,
    Other,
}

/// Whether `text` begins with `{"input":"`, white space allowed.
fn opening(text: &str) -> Opening {
    let mut rest = text;
    for (index, part) in ["{", "\"input\"", ":", "\""].iter().enumerate() {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        match rest.strip_prefix(part) {
            Some(behind) => rest = behind,
            None if part.starts_with(rest) => return Opening::Part,
            // `{}` may still be followed by nothing.
            None if index == 1 && rest.starts_with('}') => return Opening::Part,
            None => return Opening::Other,
        }
    }
    Opening::Whole(text.len() - rest.len())
}

/// Bytes of the escape that `text` begins with, both halves of a pair; none while it is not whole.
fn escape(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if *bytes.get(1)? != b'u' {
        return Some(2);
    }
    let unit = u32::from_str_radix(text.get(2..6)?, 16).unwrap_or(0);
    if !(0xd800..0xdc00).contains(&unit) {
        return Some(6);
    }
    match (bytes.get(6), bytes.get(7)) {
        (Some(b'\\'), Some(b'u')) => text.get(8..12).map(|_| 12),
        (Some(b'\\') | None, None) => None,
        _ => Some(6),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use overt_parse::{Event, Events};

    use super::Shaping;

    /// What comes of fragments of a custom tool's arguments.
    fn input(arguments: &str, size: usize) -> String {
        let custom: Arc<[String]> = Arc::from(["c".to_owned()]);
        let mut shaping = Shaping::new(false, false, custom);
        let (mut events, mut spare, mut said) = (Events::new(), Events::new(), String::new());
        let mut step = |events: &mut Events| {
            shaping.shape(events, &mut spare, false);
            for event in events.iter() {
                if let Event::ToolArgs { text, .. } = event {
                    said.push_str(text);
                }
            }
            events.clear();
        };
        events.tool_start(0, "i", "c");
        step(&mut events);
        let characters: Vec<char> = arguments.chars().collect();
        for piece in characters.chunks(size) {
            events.tool_args(0, &piece.iter().collect::<String>());
            step(&mut events);
        }
        events.tool_end(0);
        step(&mut events);
        said
    }

    #[test]
    fn inputs_are_the_text_that_the_arguments_hold() {
        for (arguments, expected) in [
            (r#"{"input": "ls -l"}"#, "ls -l"),
            (r#" { "input" : "a\"b\\c\nd" } "#, "a\"b\\c\nd"),
            (r#"{"input":"\ud83d\ude00 \u00e9 é"}"#, "😀 é é"),
            (r#"{"input":""}"#, ""),
            ("{}", ""),
            (r#"{"input":"cut \u00"#, "cut \\u00"),
            (r#"{"other": 1}"#, r#"{"other": 1}"#),
            ("[1]", "[1]"),
        ] {
            for size in [1, 2, 3, 50] {
                assert_eq!(input(arguments, size), expected, "{arguments} by {size}");
            }
        }
    }

    #[test]
    fn reasoning_is_told_in_one_piece_and_a_call_ends_the_choice() {
        let mut shaping = Shaping::new(true, true, Arc::default());
        let (mut events, mut spare) = (Events::new(), Events::new());
        events.reasoning("a");
        assert!(!shaping.shape(&mut events, &mut spare, false));
        assert!(events.is_empty());
        events.reasoning("b");
        events.tool_start(0, "i", "f");
        events.tool_end(0);
        events.text("more");
        assert!(shaping.shape(&mut events, &mut spare, false));
        let said: Vec<_> = events.iter().collect();
        assert_eq!(
            said,
            [
                Event::Reasoning("ab"),
                Event::ToolStart { index: 0, id: "i", name: "f" },
                Event::ToolEnd { index: 0 },
            ]
        );
    }
}
