//! The front between routes that only read its outbox and an engine that only speaks over the link.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use std::time::{Duration, Instant};

use overt_front::{Generation, Overflow, Protocol, Side};
use overt_link::{Batch, Failure, Finish, Received, Refused, Row, Started, ToEngine};

use common::{CHAT, Server, TEMPLATE, config, contents, generation};

#[test]
fn a_chat_is_rendered_tokenised_and_streamed() {
    let mut server = Server::new();
    server.submit(1, Protocol::Chat, CHAT, generation());
    let submit = server.submitted();
    let prompt: Vec<u32> = "user: hi\nassistant: ".bytes().map(u32::from).collect();
    assert_eq!((submit.request, submit.n, submit.prompts), (1, 1, vec![prompt]));
    assert_eq!((submit.params.max_tokens, submit.params.seed), (8, 5));
    server.text(1, "hello", Finish::Length);
    let (stream, status) = server.answer(1);
    assert_eq!(status, 200);
    assert_eq!(contents(&stream), "hello");
    assert!(stream.contains("\"finish_reason\":\"length\""));
    assert!(stream.ends_with("data: [DONE]\n\n"));
    assert!(stream.contains("\"id\":\"chatcmpl-"));
}

#[test]
fn an_answer_that_is_not_streamed_comes_whole() {
    let mut server = Server::new();
    server.submit(
        1,
        Protocol::Completions,
        br#"{"prompt": "ab"}"#,
        Generation { stream: false, ..generation() },
    );
    assert_eq!(server.submitted().prompts, [vec![97, 98]]);
    server.say(Batch {
        started: vec![Started { request: 1, choice: 0, cached_tokens: 1 }],
        ..Batch::default()
    });
    server.text(1, "xy", Finish::EndOfTurn);
    let (body, status) = server.answer(1);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    // The token that ends the turn is counted and is no text.
    assert_eq!(body["choices"][0]["text"], "x");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["completion_tokens"], 2);
    assert_eq!(body["usage"]["prompt_tokens_details"]["cached_tokens"], 1);
}

#[test]
fn max_tokens_is_the_rest_of_the_context_at_most() {
    let mut server = Server::new();
    for (handle, asked, given) in [(1, None, 44), (2, Some(100), 44), (3, Some(2), 2)] {
        server.submit(
            handle,
            Protocol::Chat,
            CHAT,
            Generation { max_tokens: asked, ..generation() },
        );
        assert_eq!(server.submitted().params.max_tokens, given);
    }
    let long = format!(r#"{{"prompt": "{}"}}"#, "x".repeat(64));
    server.submit(4, Protocol::Completions, long.as_bytes(), generation());
    let (error, status) = server.error(4);
    assert_eq!((status, &error["code"]), (400, &"context_length_exceeded".into()));
    assert_eq!(error["param"], "prompt");
    assert!(error["message"].as_str().unwrap().contains("64 tokens"));
}

#[test]
fn what_cannot_be_prepared_never_reaches_the_engine() {
    let mut server = Server::new();
    let cases: [(Protocol, &[u8], &str); 4] = [
        (Protocol::Chat, br#"{"messages": [{"role": 1}]}"#, "messages[0].role"),
        (Protocol::Completions, br#"{"prompt": [257]}"#, "prompt[0]"),
        (Protocol::Completions, br#"{"prompt": ""}"#, "prompt"),
        (Protocol::Completions, br#"{"prompt": ["a", ""]}"#, "prompt[1]"),
    ];
    for (handle, (protocol, body, param)) in (1..).zip(cases) {
        server.submit(handle, protocol, body, generation());
        let (error, status) = server.error(handle);
        assert_eq!((status, &error["param"]), (400, &param.into()));
    }
    server.submit(9, Protocol::Chat, CHAT, generation());
    assert_eq!(server.submitted().request, 9);
}

#[test]
fn an_error_is_a_status_before_the_head_and_a_frame_after_it() {
    let mut server = Server::new();
    for handle in 1..=4 {
        server.submit(handle, Protocol::Chat, CHAT, generation());
        server.submitted();
    }
    let refused = vec![(1, Refused::QueueFull { limit: 3 })];
    server.say(Batch { refused, ..Batch::default() });
    assert_eq!(server.error(1).1, 429);
    server.say(Batch { failed: vec![(2, Failure::NotFinite)], ..Batch::default() });
    let (error, status) = server.error(2);
    assert_eq!((status, &error["code"]), (500, &"logits_not_finite".into()));
    server.text(3, "so", Finish::Length);
    server.answer(3);
    server.front.start(4);
    server.say(Batch { failed: vec![(4, Failure::Step)], ..Batch::default() });
    let (stream, status) = server.answer(4);
    assert_eq!(status, 0, "the status has gone already");
    assert!(stream.starts_with("data: {\"error\":"), "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n"));
}

#[test]
fn a_parser_that_panics_fails_its_own_request() {
    overt_parse::register(&overt_parse::faulty::FORMAT);
    let mut config = config();
    config.reading.tool_call_parser = "faulty".into();
    let mut server = Server::with(&[("default", TEMPLATE)], config);
    let whole = Generation { stream: false, ..generation() };
    for (handle, generation) in [(1, generation()), (2, whole), (3, generation())] {
        server.submit(handle, Protocol::Chat, CHAT, generation);
        server.submitted();
    }
    server.front.start(1);
    let row = |request, byte| Row {
        request,
        choice: 0,
        token: u32::from(byte),
        finish: None,
        logprobs: None,
    };
    let fault = overt_parse::faulty::FAULT as u8;
    for byte in [b'o', fault, b'k'] {
        let rows = vec![row(1, byte), row(2, byte), row(3, byte.max(b' '))];
        server.say(Batch { rows, ..Batch::default() });
    }
    for handle in [1, 2] {
        assert_eq!(server.told(), Some(ToEngine::Abort { request: handle }));
    }
    let (stream, _) = server.answer(1);
    assert!(contents(&stream).starts_with('o'), "{stream}");
    assert!(stream.contains("\"code\":\"internal_error\""), "{stream}");
    let (error, status) = server.error(2);
    assert_eq!((status, &error["code"]), (500, &"internal_error".into()));
    server.text(3, "!", Finish::Length);
    assert_eq!(contents(&server.answer(3).0), "o k!");
    server.submit(4, Protocol::Chat, CHAT, generation());
    assert_eq!(server.submitted().request, 4);
}

#[test]
fn an_abort_is_told_once_and_silences_the_request() {
    let mut server = Server::new();
    server.submit(1, Protocol::Chat, CHAT, generation());
    server.submitted();
    server.front.abort(1);
    server.front.abort(1);
    assert_eq!(server.told(), Some(ToEngine::Abort { request: 1 }));
    server.text(1, "late", Finish::Length);
    server.submit(2, Protocol::Chat, CHAT, generation());
    assert_eq!(server.submitted().request, 2);
    server.text(2, "next", Finish::Length);
    assert_eq!(contents(&server.answer(2).0), "next");
    assert!(!server.answers.contains_key(&1));
    assert_eq!(server.front.stats().requests_aborted, 1);
}

#[test]
fn a_lagging_client_pauses_its_decoding_and_is_given_up_later() {
    let mut server = Server::new();
    server.submit(1, Protocol::Chat, CHAT, Generation { max_tokens: Some(40), ..generation() });
    server.submitted();
    server.front.hold(1, true);
    let row = |token: u8| Row {
        request: 1,
        choice: 0,
        token: u32::from(token),
        finish: None,
        logprobs: None,
    };
    let batch = |token| Batch { rows: vec![row(token)], ..Batch::default() };
    (0..20).for_each(|_| server.say(batch(b'a')));
    assert_eq!(server.told(), Some(ToEngine::Hold { request: 1, on: true }));
    assert!(server.take().is_empty(), "its connection takes nothing");
    server.front.hold(1, false);
    let ready = server.take();
    assert_eq!(ready.len(), 1, "everything leaves in one write");
    assert_eq!(server.told(), Some(ToEngine::Hold { request: 1, on: false }));
    server.front.hold(1, true);
    (0..20).for_each(|_| server.say(batch(b'b')));
    assert_eq!(server.told(), Some(ToEngine::Hold { request: 1, on: true }));
    // Others' traffic never lets the link's reader rest.
    let until = Instant::now() + Duration::from_secs(5);
    let told = loop {
        server.say(Batch::default());
        if let Received::Message(message) = server.from_front.recv().unwrap() {
            break message;
        }
        assert!(Instant::now() < until, "it lags for ever");
    };
    assert_eq!(told, ToEngine::Abort { request: 1 });
    let (stream, _) = server.answer(1);
    assert_eq!(contents(&stream), "a".repeat(20) + &"b".repeat(20));
    assert!(stream.contains("too slowly"));
}

#[test]
fn a_request_that_ended_is_let_go_even_by_a_client_that_reads_nothing() {
    let mut server = Server::new();
    server.submit(1, Protocol::Chat, CHAT, generation());
    server.submitted();
    server.front.hold(1, true);
    server.text(1, "bye", Finish::Length);
    let (stream, status) = server.answer(1);
    assert_eq!((contents(&stream).as_str(), status), ("bye", 200));
}

#[test]
fn a_request_has_at_most_1024_choices() {
    let mut server = Server::new();
    let body = format!(r#"{{"prompt": [{}]}}"#, ["[1]"; 9].join(","));
    server.submit(1, Protocol::Completions, body.as_bytes(), Generation { n: 128, ..generation() });
    let (error, status) = server.error(1);
    assert_eq!((status, &error["param"]), (400, &"prompt".into()));
    assert!(error["message"].as_str().unwrap().contains("1152 choices"));
}

#[test]
fn a_text_that_no_tokenizer_could_fit_is_refused_before_it_is_cut() {
    let mut server = Server::new();
    let body = format!(r#"{{"prompt": "{}"}}"#, "x".repeat(1000));
    server.submit(1, Protocol::Completions, body.as_bytes(), generation());
    let (error, status) = server.error(1);
    assert_eq!((status, &error["code"]), (400, &"context_length_exceeded".into()));
    assert!(error["message"].as_str().unwrap().contains("1000 bytes"));
}

#[test]
fn the_engines_death_ends_everything_at_once() {
    let mut server = Server::new();
    for handle in 1..=3 {
        server.submit(handle, Protocol::Chat, CHAT, generation());
        server.submitted();
    }
    server.text(1, "a", Finish::Length);
    server.say(Batch {
        rows: vec![Row { request: 2, choice: 0, token: 98, finish: None, logprobs: None }],
        ..Batch::default()
    });
    assert_eq!(server.answer(1).1, 200);
    while !server.answers.contains_key(&2) {
        server.take();
    }
    server.to_front.close();
    let (stream, _) = server.answer(2);
    assert!(stream.contains("\"error\"") && stream.ends_with("data: [DONE]\n\n"));
    assert_eq!(server.error(3).1, 503);
    assert!(!server.front.health().0);
    server.submit(4, Protocol::Chat, CHAT, generation());
    assert_eq!(server.error(4).1, 503);
}

#[test]
fn the_watchdog_sees_work_without_steps_and_nothing_else() {
    let mut server = Server::new();
    std::thread::sleep(Duration::from_millis(250));
    assert!(server.front.health().0, "idle is healthy");
    server.submit(1, Protocol::Chat, CHAT, generation());
    server.submitted();
    std::thread::sleep(Duration::from_millis(50));
    assert!(server.front.health().0, "nothing is late yet");
    std::thread::sleep(Duration::from_millis(250));
    let (healthy, reason) = server.front.health();
    assert!(!healthy && reason.contains("No step"));
    server.text(1, "x", Finish::Length);
    server.answer(1);
    assert!(server.front.health().0);
}

#[test]
fn tokens_and_text_of_the_utility_routes() {
    let server = Server::new();
    let front = &server.front;
    let (ids, _) =
        front.tokenize(Protocol::Completions, br#"{"prompt": "ab"}"#, &generation()).unwrap();
    assert_eq!(ids, [97, 98]);
    let closed = Generation { add_generation_prompt: false, ..generation() };
    let (chat, adapted) = front.tokenize(Protocol::Chat, CHAT, &closed).unwrap();
    assert_eq!(adapted, []);
    assert_eq!(front.detokenize(&chat).unwrap(), "user: hi\n");
    assert_eq!(front.token_strings(&[256, 32]).unwrap(), ["<end>", "\u{120}"]);
    assert_eq!(front.detokenize(&[1, 300]).unwrap_err().body.param.as_deref(), Some("tokens[1]"));
}

#[test]
fn a_default_that_does_not_fit_is_nobodys_business() {
    let strict = Some(Vec::new());
    for (max_tokens_sent, overflow) in [(false, Overflow::Refuse), (true, Overflow::Clamp)] {
        let mut server = Server::new();
        let generation = Generation {
            max_tokens: Some(1000),
            max_tokens_sent,
            overflow,
            stream: false,
            strict: strict.clone(),
            ..generation()
        };
        server.submit(1, Protocol::Chat, CHAT, generation);
        if max_tokens_sent {
            let (error, status) = server.error(1);
            assert_eq!((status, error["code"].as_str()), (400, Some("not_honoured")));
        } else {
            assert!(server.submitted().params.max_tokens < 64);
        }
    }
}

#[test]
fn prompts_are_cut_to_what_fits_and_no_further() {
    for (truncate, max_tokens, text, expected) in [
        (Some(3), 8, "abcdef", "def"),
        (Some(9), 8, "abcdef", "abcdef"),
        // 8 of the context of 64 are asked for, or more than it holds.
        (None, 8, "abcdef", "abcdef"),
        (None, 64, "abcdef", "abcdef"),
        (None, 100, "abcdef", "abcdef"),
    ] {
        let mut server = Server::new();
        let generation = Generation {
            truncate_prompt_tokens: Some(truncate),
            max_tokens: Some(max_tokens),
            ..generation()
        };
        let body = serde_json::json!({"prompt": text}).to_string();
        server.submit(1, Protocol::Completions, body.as_bytes(), generation);
        let prompt: Vec<u32> = expected.bytes().map(u32::from).collect();
        assert_eq!(server.submitted().prompts, [prompt]);
    }
    let mut server = Server::new();
    let generation = Generation {
        truncate_prompt_tokens: Some(Some(2)),
        truncation_side: Side::Right,
        ..generation()
    };
    let body = serde_json::json!({"prompt": "é".repeat(100_000)}).to_string();
    server.submit(1, Protocol::Completions, body.as_bytes(), generation);
    assert_eq!(server.submitted().prompts, [[0xc3, 0xa9]]);
}
