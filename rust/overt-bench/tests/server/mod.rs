//! A small server that says what it is told, in the cuts that it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is written for one request: pieces, each in a write of its own.
pub(crate) struct Reply {
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Closes the connection after them.
    pub(crate) close: bool,
}

/// Answers request number n (in order of arrival, from 0) with body b by `reply(n, b)`.
pub(crate) fn serve(reply: impl Fn(u64, &str) -> Reply + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let reply = Arc::new(reply);
    let arrived = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (reply, arrived) = (reply.clone(), arrived.clone());
            std::thread::spawn(move || connection(stream.unwrap(), &arrived, &*reply));
        }
    });
    addr
}

fn connection(mut stream: TcpStream, arrived: &AtomicU64, reply: &dyn Fn(u64, &str) -> Reply) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(body) = request(&mut reader) {
        let reply = reply(arrived.fetch_add(1, Ordering::Relaxed), &body);
        for piece in &reply.pieces {
            if stream.write_all(piece).is_err() {
                return;
            }
            // Lets the piece be read alone, now and then.
            std::thread::sleep(Duration::from_micros(200));
        }
        if reply.close {
            return;
        }
    }
}

/// The body of the next request; none when the client left.
fn request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(String::from_utf8(body).unwrap())
}

/// A frame of a chat stream.
pub(crate) fn frame(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n"
    )
}

/// A whole chat stream that says `words`.
pub(crate) fn chat(words: &[&str]) -> String {
    let mut stream = frame("{\"role\":\"assistant\",\"content\":\"\"}", "null");
    for word in words {
        let word = serde_json::to_string(word).unwrap();
        stream += &frame(&format!("{{\"content\":{word}}}"), "null");
    }
    stream + &frame("{}", "\"stop\"") + "data: [DONE]\n\n"
}

/// A response with status 200 whose body comes in chunks of `chunk` bytes and is written `cut` bytes at a time.
pub(crate) fn chunked(body: &str, chunk: usize, cut: usize) -> Reply {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for part in body.as_bytes().chunks(chunk) {
        bytes.extend(format!("{:x}\r\n", part.len()).into_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    Reply { pieces: bytes.chunks(cut).map(<[u8]>::to_vec).collect(), close: false }
}

/// A response with a content length, in one piece.
pub(crate) fn whole(status: u16, body: &str) -> Reply {
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
    Reply { pieces: vec![(head + body).into_bytes()], close: false }
}
