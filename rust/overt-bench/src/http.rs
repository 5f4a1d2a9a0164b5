//! Reads one HTTP/1.1 response, cut anywhere.

use crate::chunked::Chunked;

/// Heads longer than this are an error.
const HEAD_LIMIT: usize = 64 * 1024;

/// How the end of the body is told.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Chunked(Chunked),
    Length(u64),
    Close,
}

/// A response as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Response {
    head: Vec<u8>,
    /// Known once the head is whole.
    body: Option<Framing>,
    /// 0 until then.
    pub(crate) status: u16,
    /// The connection takes another request after this one.
    pub(crate) keep_alive: bool,
    pub(crate) done: bool,
}

impl Response {
    /// Forgets the last response.
    pub(crate) fn reset(&mut self) {
        self.head.clear();
        (self.body, self.status, self.keep_alive, self.done) = (None, 0, false, false);
    }

    /// Nothing of the response has come.
    pub(crate) fn is_silent(&self) -> bool {
        self.head.is_empty()
    }

    /// Reads what came, appends what of it is the body's.
    pub(crate) fn push(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<(), String> {
        if self.body.is_some() {
            return self.push_body(bytes, body);
        }
        self.head.extend_from_slice(bytes);
        let Some(length) = self.parse_head()? else {
            return if self.head.len() > HEAD_LIMIT {
                Err("a head above 64 KiB".into())
            } else {
                Ok(())
            };
        };
        let head = std::mem::take(&mut self.head);
        let result = self.push_body(&head[length..], body);
        self.head = head;
        result
    }

    /// The connection ended.
    pub(crate) fn close(&mut self) -> Result<(), String> {
        match self.body {
            Some(Framing::Close) => self.done = true,
            _ if self.done => {}
            None => return Err("the connection closed before the response".into()),
            Some(_) => return Err("the connection closed within the response".into()),
        }
        Ok(())
    }

    fn push_body(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<(), String> {
        let used = match &mut self.body {
            _ if self.done => 0,
            Some(Framing::Chunked(chunked)) => {
                let used = chunked.push(bytes, body)?;
                self.done = *chunked == Chunked::Done;
                used
            }
            Some(Framing::Length(left)) => {
                let take = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                body.extend_from_slice(&bytes[..take]);
                *left -= take as u64;
                self.done = *left == 0;
                take
            }
            Some(Framing::Close) => {
                body.extend_from_slice(bytes);
                bytes.len()
            }
            None => 0,
        };
        if used < bytes.len() { Err("bytes after the end of the response".into()) } else { Ok(()) }
    }

    /// The head's length once it is whole.
    fn parse_head(&mut self) -> Result<Option<usize>, String> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(format!("a malformed head: {error}")),
        };
        let status = response.code.unwrap_or(0);
        // Interim responses pass.
        if (100..200).contains(&status) {
            self.head.drain(..length);
            return self.parse_head();
        }
        self.status = status;
        self.keep_alive = response.version == Some(1);
        let mut framing = Framing::Close;
        for header in response.headers {
            let is = |word: &[u8]| header.value.trim_ascii().eq_ignore_ascii_case(word);
            if header.name.eq_ignore_ascii_case("transfer-encoding") {
                if !is(b"chunked") {
                    return Err("a transfer coding other than chunked".into());
                }
                framing = Framing::Chunked(Chunked::default());
            } else if header.name.eq_ignore_ascii_case("content-length") {
                let value =
                    str::from_utf8(header.value).ok().and_then(|value| value.trim().parse().ok());
                let value = value.ok_or("a content length that is no number")?;
                if !matches!(framing, Framing::Chunked(_)) {
                    framing = Framing::Length(value);
                }
            } else if header.name.eq_ignore_ascii_case("connection") {
                self.keep_alive = !is(b"close") && (self.keep_alive || is(b"keep-alive"));
            }
        }
        if matches!(status, 204 | 304) {
            framing = Framing::Length(0);
        }
        self.keep_alive &= !matches!(framing, Framing::Close);
        self.done = matches!(framing, Framing::Length(0));
        self.body = Some(framing);
        Ok(Some(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, body, done, keep-alive; the response comes in pieces of `size` bytes.
    fn read(text: &str, size: usize) -> Result<(u16, String, bool, bool), String> {
        let (mut response, mut body) = (Response::default(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            response.push(piece, &mut body)?;
        }
        Ok((response.status, String::from_utf8(body).unwrap(), response.done, response.keep_alive))
    }

    #[test]
    fn every_framing_in_every_cut() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, "ok", true, true)),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", (200, "ok", false, true)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad\r\ncontent-length: 1\r\n\r\nx",
                (400, "x", true, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                (200, "ok", true, true),
            ),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok", (200, "ok", false, false)),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n",
                (200, "", true, false),
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", (200, "ok", true, false)),
            ("HTTP/1.1 204 No\r\n\r\n", (204, "", true, true)),
        ] {
            for size in 1..=text.len() {
                let (status, body, done, keep) = read(text, size).unwrap();
                assert_eq!((status, body.as_str(), done, keep), expected, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn bad_responses_are_errors() {
        for text in [
            "HTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab",
        ] {
            assert!(read(text, text.len()).is_err(), "{text:?}");
        }
        assert!(read(&format!("HTTP/1.1 200 OK\r\na: {}", "x".repeat(70_000)), 1000).is_err());
    }

    #[test]
    fn a_close_ends_only_what_it_may() {
        for (text, ok) in [
            ("", false),
            ("HTTP/1.1 200", false),
            ("HTTP/1.1 200 OK\r\n\r\nab", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", false),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", true),
        ] {
            let mut response = Response::default();
            response.push(text.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(response.close().is_ok(), ok, "{text:?}");
        }
    }
}
