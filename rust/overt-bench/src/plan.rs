//! The options, checked and made ready.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;

use crate::options::{BenchError, Options};
use crate::template::Template;

/// A run that can be made.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) addr: SocketAddr,
    /// The request's head up to the content length.
    head: Vec<u8>,
    pub(crate) body: Template,
    pub(crate) concurrency: usize,
    pub(crate) requests: Option<u64>,
    pub(crate) duration: Option<Duration>,
    pub(crate) warmup: Duration,
    pub(crate) stream: bool,
    pub(crate) choices: usize,
    pub(crate) expect: Option<Template>,
    pub(crate) pid: Option<u32>,
    pub(crate) stagger: Duration,
    pub(crate) idle: Duration,
    pub(crate) drain: Duration,
    pub(crate) limit: Duration,
}

impl Plan {
    pub(crate) fn new(options: Options) -> Result<Self, BenchError> {
        if options.requests.is_none() && options.duration_s.is_none() {
            return Err(refuse("requests", "absent", "give `requests`, `duration_s` or both"));
        }
        if options.requests == Some(0) {
            return Err(refuse("requests", 0, "1 or more"));
        }
        if options.duration_s == Some(0.0) {
            return Err(refuse("duration_s", 0, "above 0"));
        }
        if !(1..=4096).contains(&options.concurrency) {
            return Err(refuse("concurrency", options.concurrency, "1 to 4096"));
        }
        if !(1..=128).contains(&options.choices) {
            return Err(refuse("choices", options.choices, "1 to 128"));
        }
        if options.limit_s <= options.warmup_s {
            return Err(refuse("limit_s", options.limit_s, "above `warmup_s`"));
        }
        Ok(Self {
            addr: loopback(&options.addr)?,
            head: head(&options)?,
            body: Template::new(&body(&options)?),
            concurrency: options.concurrency as usize,
            requests: options.requests,
            duration: options.duration_s.map(|s| seconds("duration_s", s)).transpose()?,
            warmup: seconds("warmup_s", options.warmup_s)?,
            stream: options.stream,
            choices: options.choices as usize,
            expect: options.expect.as_deref().map(Template::new),
            pid: options.pid,
            stagger: seconds("stagger_ms", options.stagger_ms / 1000.0)?,
            idle: seconds("idle_s", options.idle_s)?,
            drain: seconds("drain_s", options.drain_s)?,
            limit: seconds("limit_s", options.limit_s)?,
        })
    }

    /// Appends the whole request number `i`.
    pub(crate) fn request(&self, i: u64, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.clear();
        self.body.render(i, scratch);
        out.extend_from_slice(&self.head);
        // Writing to memory cannot fail.
        let _ = write!(out, "content-length: {}\r\n\r\n", scratch.len());
        out.extend_from_slice(scratch);
    }
}

fn refuse(field: &'static str, value: impl ToString, allowed: &'static str) -> BenchError {
    BenchError::Option { field, value: value.to_string(), allowed }
}

fn seconds(field: &'static str, value: f64) -> Result<Duration, BenchError> {
    if !(0.0..=3600.0).contains(&value) {
        return Err(refuse(field, value, "0 to 3600 seconds"));
    }
    Ok(Duration::from_secs_f64(value))
}

/// Names are not looked up, so that nothing leaves the machine.
fn loopback(addr: &str) -> Result<SocketAddr, BenchError> {
    let port = addr.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let parsed = match port {
        Some(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => addr.parse::<SocketAddr>().ok(),
    };
    match parsed {
        Some(addr) if addr.ip().is_loopback() && addr.port() != 0 => Ok(addr),
        _ => Err(refuse(
            "addr",
            format!("{addr:?}"),
            "a loopback address and port (127.0.0.1:8000, [::1]:8000, localhost:8000); \
             load is put on this machine's own server only",
        )),
    }
}

fn body(options: &Options) -> Result<String, BenchError> {
    match &options.body {
        Value::String(text) => Ok(text.clone()),
        Value::Object(fields) => {
            let mut fields = fields.clone();
            let stream = fields.entry("stream").or_insert(Value::Bool(options.stream));
            if *stream != Value::Bool(options.stream) {
                let allowed = "the same as `stream` of the options (true when absent)";
                return Err(refuse("body.stream", &*stream, allowed));
            }
            Ok(Value::Object(fields).to_string())
        }
        other => Err(refuse("body", other, "an object, or a string to be sent as it is")),
    }
}

fn head(options: &Options) -> Result<Vec<u8>, BenchError> {
    let visible = |byte: u8| (0x21..=0x7e).contains(&byte);
    if !options.path.starts_with('/') || !options.path.bytes().all(visible) {
        let allowed = "a path from its slash on, in visible ASCII (escape the rest with %)";
        return Err(refuse("path", format!("{:?}", options.path), allowed));
    }
    let mut head = format!("POST {} HTTP/1.1\r\n", options.path);
    let mut add = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
    let given = |name: &str| options.headers.keys().any(|key| key.eq_ignore_ascii_case(name));
    for (name, value) in [("host", options.addr.as_str()), ("content-type", "application/json")] {
        if !given(name) {
            add(name, value);
        }
    }
    for (name, value) in &options.headers {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let framing = ["content-length", "transfer-encoding"];
        if name.is_empty()
            || !name.bytes().all(token)
            || framing.iter().any(|n| name.eq_ignore_ascii_case(n))
        {
            let allowed = "header names of letters, digits and -, none that frames the body";
            return Err(refuse("headers", format!("{name:?}"), allowed));
        }
        if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return Err(refuse(
                "headers",
                format!("{value:?}"),
                "header values without control characters",
            ));
        }
        add(name, value);
    }
    Ok(head.into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(change: Value) -> Result<Plan, BenchError> {
        let mut options = json!({"addr": "127.0.0.1:80", "body": {"p": "{i}"}, "requests": 1});
        for (key, value) in change.as_object().unwrap() {
            options[key] = value.clone();
        }
        Plan::new(serde_json::from_value(options).unwrap())
    }

    #[test]
    fn only_loopback() {
        for addr in ["127.0.0.1:8000", "127.9.9.9:1", "[::1]:8000", "localhost:8000"] {
            assert!(plan(json!({"addr": addr})).is_ok(), "{addr}");
        }
        for addr in [
            "192.168.0.1:80",
            "0.0.0.0:80",
            "8.8.8.8:53",
            "example.com:80",
            "[::]:1",
            "127.0.0.1",
            "",
            "localhost",
            "localhost:99999",
            "127.0.0.1:0",
            "http://127.0.0.1:80",
        ] {
            let error = plan(json!({"addr": addr})).unwrap_err().to_string();
            assert!(error.contains("`addr`") && error.contains("loopback"), "{error}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        for (change, field) in [
            (json!({"requests": null}), "requests"),
            (json!({"requests": 0}), "requests"),
            (json!({"duration_s": 0.0}), "duration_s"),
            (json!({"duration_s": -1.0}), "duration_s"),
            (json!({"warmup_s": 1e8, "limit_s": 1e9}), "warmup_s"),
            (json!({"warmup_s": 5, "limit_s": 5}), "limit_s"),
            (json!({"warmup_s": -1, "limit_s": -1}), "limit_s"),
            (json!({"concurrency": 0}), "concurrency"),
            (json!({"concurrency": 5000}), "concurrency"),
            (json!({"choices": 0}), "choices"),
            (json!({"path": "v1"}), "path"),
            (json!({"path": "/a b"}), "path"),
            (json!({"path": "/a\r\nx: y"}), "path"),
            (json!({"headers": {"a b": "c"}}), "headers"),
            (json!({"headers": {"a": "c\r\nd: e"}}), "headers"),
            (json!({"headers": {"Content-Length": "3"}}), "headers"),
            (json!({"body": 1}), "body"),
            (json!({"body": {"stream": false}}), "body.stream"),
        ] {
            let error = plan(change).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{field}`")), "{field}: {error}");
        }
    }

    #[test]
    fn a_request_is_whole() {
        let plan = plan(json!({"path": "/x", "headers": {"Authorization": "Bearer k"}})).unwrap();
        let mut out = Vec::new();
        plan.request(12, &mut Vec::new(), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /x HTTP/1.1\r\nhost: 127.0.0.1:80\r\ncontent-type: application/json\r\n\
             Authorization: Bearer k\r\ncontent-length: 24\r\n\r\n{\"p\":\"12\",\"stream\":true}"
        );
    }

    #[test]
    fn a_body_may_be_raw_text() {
        let plan = plan(json!({"body": "{\"seed\": {i}}"})).unwrap();
        let mut out = Vec::new();
        plan.request(5, &mut Vec::new(), &mut out);
        assert!(out.ends_with(b"\r\n\r\n{\"seed\": 5}"));
    }
}
