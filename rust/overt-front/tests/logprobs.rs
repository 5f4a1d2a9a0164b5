//! Log probabilities with the text they belong to, echoed prompts, and the likeliest of many choices.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use overt_front::{Generation, Protocol};
use overt_link::{Batch, Finish, Logprobs, PromptLogprobs, Row};
use serde_json::{Value, json};

use common::{CHAT, Server, generation};

const END: u32 = 256;

/// A token whose log probability is -(token / 64), one alternative beside it.
fn told(token: u32) -> Logprobs {
    let logprob = -(token as f32) / 64.0;
    Logprobs { logprob, rank: 2, top: vec![(120, -0.25), (token, logprob)] }
}

fn row(request: u64, choice: u32, token: u32, finish: Option<Finish>) -> Row {
    Row { request, choice, token, finish, logprobs: Some(Box::new(told(token))) }
}

/// Sends the tokens one a batch; the last one ends choice 0.
fn send(server: &Server, request: u64, tokens: &[u32], finish: Finish) {
    for (index, token) in tokens.iter().enumerate() {
        let finish = (index + 1 == tokens.len()).then_some(finish);
        server.say(Batch { rows: vec![row(request, 0, *token, finish)], ..Batch::default() });
    }
}

fn frames(stream: &str) -> Vec<Value> {
    let lines = stream.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// (text, bytes of the tokens told with it) of each frame that has either.
fn chunks(stream: &str) -> Vec<(String, Vec<u8>)> {
    let mut chunks = Vec::new();
    for frame in frames(stream) {
        let choice = &frame["choices"][0];
        let text = choice["delta"]["content"].as_str().unwrap_or_default().to_owned();
        let entries = choice["logprobs"]["content"].as_array().cloned().unwrap_or_default();
        let bytes: Vec<u8> = entries
            .iter()
            .flat_map(|entry| entry["bytes"].as_array().cloned().unwrap_or_default())
            .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap())
            .collect();
        if !text.is_empty() || !entries.is_empty() {
            chunks.push((text, bytes));
        }
    }
    chunks
}

fn bytes(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

fn asked(generation: Generation) -> Generation {
    Generation { logprobs: Some(2), ..generation }
}

#[test]
fn tokens_are_told_with_their_text_and_never_before_it() {
    type Case = (&'static [&'static str], Vec<u32>, Finish, Vec<(&'static str, &'static str)>);
    let cases: [Case; 5] = [
        (&[], bytes("ab"), Finish::Length, vec![("a", "a"), ("b", "b")]),
        // Held for a stop that does not come.
        (&["bcd"], bytes("abcx"), Finish::Length, vec![("a", "a"), ("bcx", "bcx")]),
        // Cut away with the stop.
        (&["bc"], bytes("abc"), Finish::StopText(0), vec![("a", "a")]),
        // The end of the turn is no text.
        (&[], vec![97, END], Finish::EndOfTurn, vec![("a", "a")]),
        // Four tokens, one character.
        (&[], bytes("🐈!"), Finish::Length, vec![("🐈", "🐈"), ("!", "!")]),
    ];
    for (stops, tokens, finish, expected) in cases {
        let mut server = Server::new();
        let stop = stops.iter().map(|stop| (*stop).to_owned()).collect();
        server.submit(1, Protocol::Chat, CHAT, asked(Generation { stop, ..generation() }));
        assert_eq!(server.submitted().params.logprobs, Some(2));
        send(&server, 1, &tokens, finish);
        let expected: Vec<(String, Vec<u8>)> = expected
            .iter()
            .map(|(text, told)| ((*text).to_owned(), told.as_bytes().into()))
            .collect();
        assert_eq!(chunks(&server.answer(1).0), expected);
    }
}

#[test]
fn a_token_that_a_stop_cuts_is_told_whole() {
    let mut server = Server::new();
    let generation = Generation { stop: vec!["é".into()], stream: false, ..asked(generation()) };
    server.submit(1, Protocol::Chat, CHAT, generation);
    server.submitted();
    send(&server, 1, &bytes("xé"), Finish::StopText(0));
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "x");
    assert_eq!(body["choices"][0]["logprobs"]["content"].as_array().unwrap().len(), 1);
    assert_eq!(body["choices"][0]["stop_reason"], "é");
}

#[test]
fn invalid_bytes_and_hidden_tokens_have_names_and_no_text() {
    let mut server = Server::new();
    server.submit(1, Protocol::Chat, CHAT, asked(Generation { stream: false, ..generation() }));
    server.submitted();
    send(&server, 1, &[0xf0, 97, END, 98], Finish::Length);
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    let content = body["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let said: Vec<_> =
        content.iter().map(|entry| json!([entry["token"], entry["bytes"]])).collect();
    assert_eq!(
        said,
        [json!(["\\xf0", [0xf0]]), json!(["a", [97]]), json!(["<end>", null]), json!(["b", [98]])]
    );
    assert_eq!(content[1]["logprob"], -97.0 / 64.0);
    assert_eq!(
        content[1]["top_logprobs"][0],
        json!({"token": "x", "logprob": -0.25, "bytes": [120]})
    );
    assert_eq!(body["choices"][0]["message"]["content"], "\u{fffd}ab");
}

#[test]
fn an_echo_stands_before_the_answer_with_its_own_log_probabilities() {
    for stream in [false, true] {
        let mut server = Server::new();
        let generation = Generation { echo: true, stream, ..asked(generation()) };
        server.submit(1, Protocol::Completions, br#"{"prompt": "h\u00e9"}"#, generation);
        let submitted = server.submitted();
        assert_eq!(submitted.params.prompt_logprobs, Some(2));
        let prompt = submitted.prompts[0].clone();
        // In two pieces, as chunks of a prefill would bring them.
        for (first, tokens) in [(1, &prompt[1..2]), (2, &prompt[2..])] {
            let tokens = tokens.iter().map(|token| told(*token)).collect();
            server.say(Batch {
                prompt_logprobs: vec![PromptLogprobs { request: 1, prompt: 0, first, tokens }],
                ..Batch::default()
            });
        }
        send(&server, 1, &bytes("!?"), Finish::Length);
        let answer = server.answer(1).0;
        let choices: Vec<Value> = if stream {
            frames(&answer).iter().map(|frame| frame["choices"][0].clone()).collect()
        } else {
            vec![serde_json::from_str::<Value>(&answer).unwrap()["choices"][0].clone()]
        };
        let text: String = choices.iter().filter_map(|choice| choice["text"].as_str()).collect();
        assert_eq!(text, "hé!?");
        let all = |name: &str| -> Vec<Value> {
            let lists = choices.iter().filter_map(|choice| choice["logprobs"][name].as_array());
            lists.flatten().cloned().collect()
        };
        assert_eq!(all("tokens"), ["h", "bytes:\\xc3", "bytes:\\xa9", "!", "?"]);
        assert_eq!(all("text_offset"), [0, 1, 1, 2, 3]);
        let own = |token: u32| json!(-(token as f32) / 64.0);
        assert_eq!(all("token_logprobs"), [Value::Null, own(0xc3), own(0xa9), own(33), own(63)]);
        assert_eq!(all("top_logprobs")[0], Value::Null);
        assert_eq!(all("top_logprobs")[3]["x"], -0.25);
    }
}

#[test]
fn an_echo_alone_makes_no_token() {
    let mut server = Server::new();
    let generation = Generation { echo: true, stream: false, max_tokens: Some(0), ..generation() };
    server.submit(1, Protocol::Completions, br#"{"prompt": "hey"}"#, generation);
    assert_eq!(server.submitted().params.max_tokens, 1);
    send(&server, 1, &[97], Finish::Length);
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    assert_eq!(body["choices"][0]["text"], "hey");
    assert_eq!(body["choices"][0]["finish_reason"], "length");
    assert_eq!(body["usage"]["completion_tokens"], 0);
}

#[test]
fn prompt_log_probabilities_stand_under_the_token_ids() {
    let mut server = Server::new();
    let generation = Generation { stream: false, prompt_logprobs: Some(1), ..generation() };
    server.submit(1, Protocol::Completions, br#"{"prompt": [97, 98]}"#, generation);
    server.submitted();
    server.say(Batch {
        prompt_logprobs: vec![PromptLogprobs {
            request: 1,
            prompt: 0,
            first: 1,
            tokens: vec![told(98)],
        }],
        ..Batch::default()
    });
    send(&server, 1, &[97], Finish::Length);
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    let expected = json!([null, {
        "98": {"logprob": -98.0 / 64.0, "rank": 2, "decoded_token": "b"},
        "120": {"logprob": -0.25, "rank": 1, "decoded_token": "x"},
    }]);
    assert_eq!(body["choices"][0]["prompt_logprobs"], expected);
}

#[test]
fn prompt_log_probabilities_beyond_their_memory_are_refused() {
    let mut server = Server::new();
    let prompt = format!(r#"{{"prompt": "{}"}}"#, "x".repeat(60));
    let generation = Generation { stream: false, prompt_logprobs: Some(20), ..generation() };
    server.submit(1, Protocol::Completions, prompt.as_bytes(), generation);
    let (error, status) = server.error(1);
    assert_eq!((status, error["param"].as_str()), (400, Some("prompt_logprobs")));
}

#[test]
fn the_likeliest_of_many_are_answered_and_all_are_counted() {
    let mut server = Server::new();
    let generation = Generation { stream: false, n: 2, best_of: 3, ..generation() };
    let body = br#"{"prompt": ["p", "q"]}"#;
    server.submit(1, Protocol::Completions, body, generation);
    let submitted = server.submitted();
    assert_eq!((submitted.n, submitted.params.logprobs), (3, Some(0)));
    // Smaller tokens are likelier: of prompt 0 choices 2 and 0, of prompt 1 choices 4 and 3.
    for (choice, token) in [(0, 98), (1, 99), (2, 97), (3, 101), (4, 100), (5, 102)] {
        let rows = vec![row(1, choice, token, Some(Finish::Length))];
        server.say(Batch { rows, ..Batch::default() });
    }
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    let choices = body["choices"].as_array().unwrap();
    let texts: Vec<_> = choices.iter().map(|choice| choice["text"].clone()).collect();
    assert_eq!(texts, ["a", "b", "d", "e"]);
    assert_eq!(choices[3]["index"], 3);
    assert_eq!(choices[0]["logprobs"], Value::Null);
    assert_eq!(body["usage"]["completion_tokens"], 6);
}

#[test]
fn tokens_before_the_least_number_are_no_part_of_a_stop() {
    let mut server = Server::new();
    let generation =
        Generation { stream: false, min_tokens: 2, stop: vec!["ab".into()], ..generation() };
    server.submit(1, Protocol::Completions, br#"{"prompt": "p"}"#, generation);
    assert_eq!(server.submitted().params.min_tokens, 2);
    send(&server, 1, &bytes("aabab"), Finish::StopText(0));
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    assert_eq!(body["choices"][0]["text"], "aab");
}

#[test]
fn patterns_stop_and_are_refused_by_their_place() {
    let mut server = Server::new();
    let stop_regex = vec!["[0-9]+;".to_owned()];
    let generation =
        Generation { stream: false, stop: vec!["x".into()], stop_regex, ..generation() };
    server.submit(1, Protocol::Completions, br#"{"prompt": "p"}"#, generation.clone());
    let (error, status) = server.error(1);
    assert_eq!((status, error["param"].as_str()), (400, Some("stop_regex[0]")));
    let generation = Generation { stop_regex: vec!["[0-9]{1,9};".into()], ..generation };
    server.submit(2, Protocol::Completions, br#"{"prompt": "p"}"#, generation);
    server.submitted();
    send(&server, 2, &bytes("a12;"), Finish::StopText(1));
    let body: Value = serde_json::from_str(&server.answer(2).0).unwrap();
    assert_eq!(body["choices"][0]["text"], "a");
    assert_eq!(body["choices"][0]["stop_reason"], "[0-9]{1,9};");
}

#[test]
fn bad_words_are_spelt_with_and_without_a_space() {
    let mut server = Server::new();
    let generation = Generation { bad_words: vec!["no".into()], ..generation() };
    server.submit(1, Protocol::Completions, br#"{"prompt": "p"}"#, generation);
    assert_eq!(server.submitted().params.bad_words, [vec![32, 110, 111], vec![110, 111]]);
}

#[test]
fn a_stop_token_stays_where_what_ended_the_choice_is_wanted() {
    for (skip_special_tokens, token, text) in
        [(false, END, "a<end>"), (true, END, "a"), (true, u32::from(b'.'), "a.")]
    {
        let mut server = Server::new();
        let generation = Generation {
            stream: false,
            include_stop: true,
            skip_special_tokens,
            stop_token_ids: vec![token],
            ..generation()
        };
        server.submit(1, Protocol::Completions, br#"{"prompt": "p"}"#, generation);
        server.submitted();
        send(&server, 1, &[97, token], Finish::StopToken(token));
        let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
        assert_eq!(body["choices"][0]["text"], text);
        assert_eq!(body["choices"][0]["stop_reason"], token);
    }
}

#[test]
fn a_hidden_stop_token_is_not_told() {
    let mut server = Server::new();
    let generation = Generation {
        stream: false,
        include_stop: true,
        stop_token_ids: vec![END],
        ..asked(generation())
    };
    server.submit(1, Protocol::Chat, CHAT, generation);
    server.submitted();
    send(&server, 1, &[97, END], Finish::StopToken(END));
    let body: Value = serde_json::from_str(&server.answer(1).0).unwrap();
    assert_eq!(body["choices"][0]["logprobs"]["content"].as_array().unwrap().len(), 1);
}

#[test]
fn what_an_answer_repeats_is_bounded_over_all_its_choices() {
    let prompt = format!(r#"{{"prompt": "{}"}}"#, "x".repeat(50));
    let echo = |n: u32, copies: bool, logprobs: Option<u32>| {
        let mut server = Server::new();
        let generation = Generation {
            stream: false,
            echo: true,
            n,
            copies,
            logprobs,
            max_tokens: Some(0),
            ..generation()
        };
        server.submit(1, Protocol::Completions, prompt.as_bytes(), generation);
        let (error, status) = server.error(1);
        (status, error["param"].as_str().map(str::to_owned))
    };
    // As copies they are no fewer.
    assert_eq!(echo(1025, false, None), (400, Some("prompt".into())));
    assert_eq!(echo(1025, true, None), (400, Some("prompt".into())));
    assert_eq!(echo(26, false, Some(0)), (400, Some("logprobs".into())));
    assert_eq!(echo(26, true, Some(0)), (400, Some("logprobs".into())));
}

#[test]
fn counts_on_every_chunk_begin_with_the_prompt() {
    let mut server = Server::new();
    let generation = Generation { continuous_usage: true, ..generation() };
    server.submit(1, Protocol::Chat, CHAT, generation);
    let prompt = server.submitted().prompts[0].len();
    send(&server, 1, &bytes("ab"), Finish::Length);
    let usages: Vec<_> =
        frames(&server.answer(1).0).iter().map(|frame| frame["usage"].clone()).collect();
    assert!(usages.iter().all(|usage| usage["prompt_tokens"] == prompt));
    let made: Vec<_> = usages.iter().map(|usage| usage["completion_tokens"].as_u64()).collect();
    assert_eq!(made, [Some(0), Some(1), Some(2), Some(2)]);
}
