//! The load generator against a server whose answers are known.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

mod server;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use overt_bench::{BenchError, Options, Report, run};
use serde_json::{Value, json};
use server::{Reply, chat, chunked, frame, serve, whole};

fn options(addr: SocketAddr, more: Value) -> Options {
    let mut options = json!({
        "addr": addr.to_string(), "body": {"messages": []}, "concurrency": 4, "requests": 20, "limit_s": 20.0,
    });
    for (key, value) in more.as_object().unwrap() {
        options[key] = value.clone();
    }
    serde_json::from_value(options).unwrap()
}

fn load(addr: SocketAddr, more: Value) -> Report {
    run(options(addr, more)).unwrap()
}

const WORDS: [&str; 4] = ["It’s ", "\"so\"\n", "\u{1F600}", "\\u0041"];

#[test]
fn streams_in_odd_cuts_are_read_whole() {
    // Chunks and writes that cut frames, chunk lengths, characters and escapes, each request in its own way.
    let addr = serve(|n, _| {
        let (chunk, cut) =
            [(1, 97), (7, 1), (64, 13), (1000, 5), (131, 64), (100_000, 100_000)][n as usize % 6];
        chunked(&chat(&WORDS), chunk, cut.max(3))
    });
    let report = load(addr, json!({"expect": WORDS.concat()}));
    assert_eq!(report.failures, [].into(), "{:?}", report.first_failure);
    assert_eq!((report.requests_ok, report.requests_failed, report.requests_cut), (20, 0, 0));
    assert_eq!((report.tokens, report.texts_checked, report.texts_wrong), (80, 20, 0));
    assert_eq!(report.distinct_texts, 1);
    assert_eq!(report.ttft_ms.unwrap().count, 20);
    assert_eq!(report.latency_ms.unwrap().count, 20);
    assert_eq!(report.inter_token_ms.unwrap().count, 60);
    assert!((1.0..=4.0).contains(&report.frames_per_read.unwrap()));
    assert!(report.tokens_per_s > report.requests_per_s);
    assert!(report.own_cpu_us_per_token.unwrap() > 0.0);
    assert_eq!(report.server_cores, None);
}

#[test]
fn wrong_texts_are_counted_and_shown() {
    let addr =
        serve(|n, _| chunked(&chat(if n % 5 == 4 { &["ot", "her"] } else { &["right"] }), 50, 500));
    for more in [json!({"concurrency": 1}), json!({"expect": "right"})] {
        let report = load(addr, more);
        assert_eq!((report.requests_ok, report.texts_checked, report.texts_wrong), (20, 20, 4));
        assert_eq!(report.distinct_texts, 2);
        let wrong = report.first_wrong.unwrap();
        assert_eq!((wrong.expected.as_str(), wrong.got.as_str()), ("right", "other"));
    }
}

#[test]
fn every_kind_of_failure_has_its_name() {
    let addr = serve(|n, _| match n {
        0 => whole(503, "busy"),
        1 => chunked(&chat(&["a"]).replace("data: [DONE]\n\n", ""), 50, 500),
        2 => chunked(&(frame("{\"content\":\"a\"}", "null") + "data: [DONE]\n\n"), 50, 500),
        3 => chunked("data: {\"error\":{\"message\":\"gone\"}}\n\ndata: [DONE]\n\n", 50, 500),
        4 => {
            let mut reply = chunked(&chat(&["a"]), 50, 200);
            reply.pieces.truncate(1);
            Reply { close: true, ..reply }
        }
        5 => Reply { pieces: vec![b"nonsense\r\n\r\n".to_vec()], close: true },
        _ => chunked(&chat(&["a"]), 50, 500),
    });
    let report = load(addr, json!({"concurrency": 1, "requests": 8}));
    let reasons: Vec<_> = report.failures.keys().map(String::as_str).collect();
    assert_eq!(
        reasons,
        [
            "a malformed head: invalid HTTP version",
            "a stream that ended without [DONE]",
            "a stream that ended without a finish frame",
            "an error frame",
            "status 503",
            "the connection closed within the response",
        ]
    );
    assert_eq!((report.requests_ok, report.requests_failed), (2, 6));
    assert_eq!(report.first_failure.unwrap(), "request 0: status 503: busy");
}

#[test]
fn json_answers_are_checked_by_request() {
    let addr = serve(|_, body| {
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["stream"], false);
        let answer = json!({
            "choices": [{"index": 0, "text": format!("to {}", body["prompt"].as_str().unwrap()), "finish_reason": "length"}],
            "usage": {"completion_tokens": 3},
        });
        whole(200, &answer.to_string())
    });
    let more = json!({"body": {"prompt": "p{i}"}, "stream": false, "expect": "to p{i}", "path": "/v1/completions"});
    let report = load(addr, more);
    assert_eq!((report.requests_ok, report.tokens, report.texts_wrong), (20, 60, 0), "{report:?}");
    assert_eq!(report.distinct_texts, 20);
    assert_eq!((report.ttft_ms, report.inter_token_ms), (None, None));
}

#[test]
fn closed_connections_are_opened_again() {
    let addr = serve(|_, _| {
        let mut reply = whole(200, &chat(&["a"]));
        let head = String::from_utf8(reply.pieces.remove(0)).unwrap();
        Reply {
            pieces: vec![head.replace("\r\n\r\ndata", "\r\nconnection: close\r\n\r\ndata").into()],
            close: true,
        }
    });
    let report = load(addr, json!({}));
    assert_eq!(
        (report.requests_ok, report.requests_failed, report.reconnects),
        (20, 0, 0),
        "{report:?}"
    );
    // Promises to keep the connection and closes it: the request that meets the close is sent again.
    let addr = serve(|_, _| Reply { close: true, ..whole(200, &chat(&["a"])) });
    let report = load(addr, json!({}));
    assert_eq!((report.requests_ok, report.requests_failed), (20, 0), "{report:?}");
    assert!(report.reconnects > 0);
}

#[test]
fn a_window_ends_by_itself() {
    let addr = serve(|_, _| Reply {
        // Frames without end; the client leaves.
        pieces: std::iter::once(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())
            .chain(std::iter::repeat_n(frame("{\"content\":\"a\"}", "null").into_bytes(), 20_000))
            .collect(),
        close: true,
    });
    let window = json!({"requests": null, "duration_s": 0.2, "warmup_s": 0.1, "drain_s": 0.1, "stagger_ms": 1.0,
        "pid": std::process::id()});
    let report = load(addr, window);
    assert_eq!((report.requests_ok, report.requests_failed, report.requests_cut), (0, 0, 4));
    assert!(report.window_s >= 0.2);
    assert!(
        report.tokens > 0 && report.ttft_ms.is_none(),
        "all began before the window: {report:?}"
    );
    assert!(report.server_cores.is_some() && report.server_cpu_us_per_token.is_some());
    let limit = json!({"requests": 1000, "limit_s": 0.3});
    let report = load(addr, limit);
    assert_eq!(report.requests_cut, 4);
}

#[test]
fn a_silent_server_fails_by_name() {
    static HELD: Mutex<()> = Mutex::new(());
    let held = HELD.lock().unwrap();
    let addr = serve(|_, _| {
        drop(HELD.lock());
        whole(200, "")
    });
    let report = load(addr, json!({"requests": 2, "concurrency": 2, "idle_s": 0.1}));
    drop(held);
    assert_eq!(report.failures, [("silent for longer than idle_s".to_owned(), 2)].into());
}

#[test]
fn no_run_without_a_server_a_process_or_loopback() {
    let addr = serve(|_, _| whole(200, ""));
    let error = |more| run(options(addr, more)).unwrap_err();
    assert!(matches!(
        error(json!({"addr": "10.0.0.1:80"})),
        BenchError::Option { field: "addr", .. }
    ));
    assert!(matches!(error(json!({"pid": 0})), BenchError::Process { pid: 0, .. }));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    assert!(matches!(error(json!({"addr": free.to_string()})), BenchError::Connect { .. }));
    let unknown = serde_json::from_value::<Options>(json!({"addr": "", "body": "", "conc": 1}));
    assert!(unknown.unwrap_err().to_string().contains("conc"));
}

#[test]
fn many_connections_at_once() {
    let addr = serve(|_, _| chunked(&chat(&["a", "b", "c"]), 77, 1000));
    let report = load(addr, json!({"concurrency": 64, "requests": 640, "stagger_ms": 0.1}));
    assert_eq!(
        (report.requests_ok, report.tokens, report.texts_wrong),
        (640, 1920, 0),
        "{report:?}"
    );
    assert!(report.window_s < Duration::from_secs(20).as_secs_f64());
}
