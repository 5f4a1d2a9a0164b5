//! Reads the body of one answer: its text, its frames, and whether it is whole.

use crate::frame;

/// Bodies and texts above this are an error.
const LIMIT: usize = 16 * 1024 * 1024;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Few words, the same for all failures of a kind.
    pub(crate) reason: String,
    /// What came instead, cut short.
    pub(crate) detail: String,
}

impl Failure {
    pub(crate) fn new(reason: impl Into<String>, detail: &[u8]) -> Self {
        let detail = String::from_utf8_lossy(&detail[..detail.len().min(400)]).into_owned();
        Self { reason: reason.into(), detail }
    }
}

/// An answer as far as it has come.
#[derive(Debug)]
pub(crate) struct Answer {
    stream: bool,
    /// What has come and is not read: a line's beginning of a stream, all of a JSON answer.
    pub(crate) body: Vec<u8>,
    /// One a choice.
    pub(crate) texts: Vec<Vec<u8>>,
    finished: Vec<bool>,
    /// `[DONE]` was seen.
    done: bool,
    /// Comments in the stream.
    pub(crate) comments: u64,
}

impl Answer {
    pub(crate) fn new(stream: bool, choices: usize) -> Self {
        Self {
            stream,
            body: Vec::new(),
            texts: vec![Vec::new(); choices],
            finished: vec![false; choices],
            done: false,
            comments: 0,
        }
    }

    /// Forgets the last answer.
    pub(crate) fn reset(&mut self) {
        self.body.clear();
        self.texts.iter_mut().for_each(Vec::clear);
        self.finished.fill(false);
        self.done = false;
        self.comments = 0;
    }

    /// Reads the whole lines of what has come; gives the number of frames with text.
    pub(crate) fn read(&mut self) -> Result<u64, Failure> {
        if self.body.len() > LIMIT || self.texts.iter().any(|text| text.len() > LIMIT) {
            return Err(Failure::new("an answer above 16 MiB", b""));
        }
        if !self.stream {
            return Ok(0);
        }
        let body = std::mem::take(&mut self.body);
        let mut frames = 0;
        let mut start = 0;
        let mut result = Ok(());
        for end in memchr::memchr_iter(b'\n', &body) {
            result = self.line(&body[start..end]).map(|text| frames += u64::from(text));
            start = end + 1;
            if result.is_err() {
                break;
            }
        }
        self.body = body;
        self.body.drain(..start);
        result.map(|()| frames)
    }

    /// The body has ended; gives the tokens of a JSON answer, 0 for a stream, whose frames are counted.
    pub(crate) fn end(&mut self) -> Result<u64, Failure> {
        if !self.stream {
            return match frame::texts(&self.body, &mut self.texts) {
                Ok(true) => Ok(frame::completion_tokens(&self.body).unwrap_or(0)),
                Ok(false) => Err(Failure::new("an answer with too few choices", &self.body)),
                Err(error) => Err(Failure::new(error, &self.body)),
            };
        }
        if !self.body.is_empty() {
            return Err(Failure::new("a stream that ended within a line", &self.body));
        }
        if !self.done {
            return Err(Failure::new("a stream that ended without [DONE]", b""));
        }
        if !self.finished.iter().all(|&finished| finished) {
            return Err(Failure::new("a stream that ended without a finish frame", b""));
        }
        Ok(0)
    }

    /// True when the line is a frame with text.
    fn line(&mut self, line: &[u8]) -> Result<bool, Failure> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(data) = line.strip_prefix(b"data:") else {
            self.comments += u64::from(line.first() == Some(&b':'));
            // Other fields, and the blank lines between events: one line of data is one frame here.
            return Ok(false);
        };
        let data = data.trim_ascii();
        if self.done {
            return Err(Failure::new("a frame after [DONE]", data));
        }
        if data == b"[DONE]" {
            self.done = true;
            return Ok(false);
        }
        if data.starts_with(b"{\"error\"") {
            return Err(Failure::new("an error frame", data));
        }
        let choice = if self.texts.len() == 1 { 0 } else { frame::choice(data).unwrap_or(0) };
        let Some(text) = self.texts.get_mut(choice) else {
            return Err(Failure::new("a frame of a choice that was not asked for", data));
        };
        let said = frame::text(data, text).map_err(|error| Failure::new(error, data))?;
        if said && self.finished[choice] {
            return Err(Failure::new("text after the finish frame", data));
        }
        if frame::finishes(data) && std::mem::replace(&mut self.finished[choice], true) {
            return Err(Failure::new("a second finish frame", data));
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames with text, tokens and texts of an answer that comes in pieces of `size` bytes.
    fn read(
        stream: bool,
        choices: usize,
        body: &str,
        size: usize,
    ) -> Result<(u64, u64, Vec<String>), String> {
        let mut answer = Answer::new(stream, choices);
        let mut frames = 0;
        for piece in body.as_bytes().chunks(size) {
            answer.body.extend_from_slice(piece);
            frames += answer.read().map_err(|failure| failure.reason)?;
        }
        let tokens = answer.end().map_err(|failure| failure.reason)?;
        Ok((
            frames,
            tokens,
            answer.texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect(),
        ))
    }

    const ROLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    const HI: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\u{ef}\"},\"finish_reason\":null}]}\n\n";
    const STOP: &str =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\n";
    const DONE: &str = "data: [DONE]\n\n";

    #[test]
    fn a_stream_in_every_cut() {
        let stream = [ROLE, HI, ": keep-alive\n\n", HI, STOP, USAGE, DONE].concat();
        for stream in [stream.replace('\n', "\r\n"), stream] {
            for size in 1..stream.len() {
                assert_eq!(read(true, 1, &stream, size), Ok((2, 0, vec!["hïhï".into()])));
            }
        }
    }

    #[test]
    fn choices_are_told_apart() {
        let other = |frame: &str| frame.replace("\"index\":0", "\"index\":1");
        let stream = [HI, &other(HI), HI, &other(STOP), STOP, DONE].concat();
        assert_eq!(read(true, 2, &stream, 50), Ok((3, 0, vec!["hïhï".into(), "hï".into()])));
        let third = [&HI.replace("\"index\":0", "\"index\":2"), DONE].concat();
        assert_eq!(
            read(true, 2, &third, 50),
            Err("a frame of a choice that was not asked for".into())
        );
    }

    #[test]
    fn what_a_stream_must_not_be() {
        for (stream, reason) in [
            ([HI, STOP].concat(), "a stream that ended without [DONE]"),
            ([HI, DONE].concat(), "a stream that ended without a finish frame"),
            ([HI, STOP, STOP, DONE].concat(), "a second finish frame"),
            ([HI, STOP, HI, DONE].concat(), "text after the finish frame"),
            ([HI, STOP, DONE, HI].concat(), "a frame after [DONE]"),
            ([HI, STOP, DONE, "data: x"].concat(), "a stream that ended within a line"),
            ([HI, "data: {\"error\":{\"message\":\"m\"}}\n\n", DONE].concat(), "an error frame"),
            ([HI, "data: {\"content\":\"\n\n"].concat(), "a string without an end"),
        ] {
            assert_eq!(read(true, 1, &stream, 7), Err(reason.into()));
        }
    }

    #[test]
    fn a_json_answer() {
        let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"completion_tokens":5}}"#;
        assert_eq!(read(false, 1, body, 10), Ok((0, 5, vec!["hi".into()])));
        assert_eq!(read(false, 2, body, 10), Err("an answer with too few choices".into()));
    }
}
