//! One request's answer, from the connection's bytes to the text.

use crate::answer::{Answer, Failure};
use crate::http::Response;

/// So much of an error's body is kept, bytes.
const ERROR_BODY: usize = 64 * 1024;

/// Reused by all requests of a connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) response: Response,
    pub(crate) answer: Answer,
}

impl Exchange {
    pub(crate) fn new(stream: bool, choices: usize) -> Self {
        Self { response: Response::default(), answer: Answer::new(stream, choices) }
    }

    /// Forgets the last answer.
    pub(crate) fn reset(&mut self) {
        self.response.reset();
        self.answer.reset();
    }

    /// Reads what came; gives the number of frames with text. After a failure the connection is of no use.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<u64, Failure> {
        self.response
            .push(bytes, &mut self.answer.body)
            .map_err(|reason| Failure::new(reason, bytes))?;
        if self.response.status == 200 {
            return self.answer.read();
        }
        // The body of an error is no stream; its beginning is enough.
        self.answer.body.truncate(ERROR_BODY);
        Ok(0)
    }

    /// The connection ended.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        self.response.close().map_err(|reason| Failure::new(reason, b""))
    }

    /// The response is whole; gives the tokens that its frames did not count.
    pub(crate) fn end(&mut self) -> Result<u64, Failure> {
        match self.response.status {
            200 => self.answer.end(),
            status => Err(Failure::new(format!("status {status}"), &self.answer.body)),
        }
    }
}
