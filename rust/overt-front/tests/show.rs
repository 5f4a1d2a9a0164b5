//! What is shown of a prompt is what an answer to it would be made of, or refused for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use overt_front::{
    Config, Generation, Limits, Overflow, Protocol, Reading, ServedModel, Side, show,
};
use overt_link::Finish;
use serde_json::{Value, json};

use common::{Server, TEMPLATE, TOKENIZER, config, generation};

/// Of the tokenizer, and special.
const END: &str = "<end>";
const END_ID: u32 = 256;

fn escaping() -> Config {
    let reading = Reading { escape_special_tokens: true, ..config().reading };
    Config { reading, ..config() }
}

/// A model whose special token is another one.
fn with_special(special: &str, template: &str) -> ServedModel {
    let tokenizer = String::from_utf8(TOKENIZER.to_vec()).unwrap().replace(END, special);
    let meta = json!({
        "model": {"max_model_len": 64, "vocab_size": 257},
        "chat_templates": [{"name": "default", "text": template}],
    });
    ServedModel::new(meta.to_string().as_bytes(), tokenizer.as_bytes(), &escaping().reading)
        .unwrap()
}

fn chat(content: &str) -> (Protocol, String) {
    let body = json!({"messages": [{"role": "user", "content": content}]});
    (Protocol::Chat, body.to_string())
}

fn prompt(prompt: impl Into<Value>) -> (Protocol, String) {
    (Protocol::Completions, json!({"prompt": prompt.into()}).to_string())
}

fn generations() -> Vec<Generation> {
    let plain = || Generation { stream: false, ..generation() };
    let cut = |most, side| Generation {
        truncate_prompt_tokens: Some(most),
        truncation_side: side,
        ..plain()
    };
    vec![
        plain(),
        Generation { max_tokens: Some(1000), ..plain() },
        Generation { max_tokens: Some(1000), strict: Some(Vec::new()), ..plain() },
        Generation { max_tokens: Some(60), overflow: Overflow::Refuse, ..plain() },
        Generation { min_tokens: 63, max_tokens: None, ..plain() },
        Generation { stop_regex: vec!["(".into()], ..plain() },
        Generation { bad_words: vec!["x".repeat(1000)], ..plain() },
        Generation { strict: Some(Vec::new()), ..plain() },
        Generation { n: 600, ..plain() },
        cut(Some(5), Side::Left),
        cut(Some(5), Side::Right),
        cut(None, Side::Left),
        cut(None, Side::Right),
        Generation { max_tokens: Some(20), ..cut(None, Side::Left) },
        Generation { add_special_tokens: Some(true), ..plain() },
    ]
}

#[test]
fn prompts_clamps_and_refusals_are_an_answers() {
    let bodies = [
        chat("hi"),
        chat(""),
        chat(&format!("a{END}b")),
        chat(&"é".repeat(40)),
        chat(&format!("{}{END}", "x".repeat(100_000))),
        prompt("ab"),
        prompt(""),
        prompt(json!(["ab", END])),
        prompt(json!([97, 98])),
        prompt("x".repeat(63)),
        prompt("x".repeat(64)),
        prompt("é".repeat(100_000)),
    ];
    for config in [config(), escaping()] {
        let mut server = Server::with(&[("default", TEMPLATE)], config);
        let mut handle = 0;
        for (protocol, body) in &bodies {
            for generation in generations() {
                handle += 1;
                let shown = server.front.show(*protocol, body.as_bytes(), &generation);
                server.submit(handle, *protocol, body.as_bytes(), generation.clone());
                let about = format!("{:.80} {generation:?}", body);
                match shown {
                    Ok(shown) => {
                        let submitted = server.submitted();
                        let ids: Vec<_> = shown.prompts.iter().map(|one| &one.token_ids).collect();
                        assert_eq!(ids, submitted.prompts.iter().collect::<Vec<_>>(), "{about}");
                        assert_eq!(shown.adapted, server.front.start(handle), "{about}");
                        server.front.abort(handle);
                        assert!(server.told().is_some());
                    }
                    Err(error) => {
                        let (told, status) = server.error(handle);
                        assert_eq!(status, error.body.status, "{about}");
                        assert_eq!(told["message"], error.body.message, "{about}");
                    }
                }
            }
        }
    }
}

#[test]
fn tokens_lie_in_the_whole_text_wherever_it_was_cut() {
    let server = Server::new();
    let long = format!("{}äbc", "x".repeat(10_000));
    let show = |body: &(Protocol, String), most, truncation_side| {
        let generation = Generation {
            truncate_prompt_tokens: Some(Some(most)),
            truncation_side,
            ..generation()
        };
        server.front.show(body.0, body.1.as_bytes(), &generation).unwrap().prompts.remove(0)
    };
    let cut = show(&prompt(long.as_str()), 3, Side::Left);
    assert_eq!(cut.token_ids, [0xa4, 98, 99]);
    assert_eq!(cut.token_offsets.unwrap(), [(10_000, 10_001), (10_001, 10_002), (10_002, 10_003)]);
    assert_eq!(cut.prompt_text.as_deref(), Some(long.as_str()));
    assert_eq!(cut.truncated_tokens, None, "nobody counted them");
    let cut = show(&prompt(long.as_str()), 2, Side::Right);
    assert_eq!(cut.token_offsets.unwrap(), [(0, 1), (1, 2)]);
    let cut = show(&prompt("äbc"), 3, Side::Left);
    assert_eq!(cut.token_offsets.unwrap(), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(cut.truncated_tokens, Some(1));
    let cut = show(&chat(&long), 13, Side::Left);
    assert_eq!(
        server.front.detokenize(&cut.token_ids).unwrap(),
        "\nassistant: c\nassistant: "[12..]
    );
    assert_eq!(cut.token_offsets.unwrap()[0], (10_008, 10_009));
}

#[test]
fn special_tokens_that_a_client_spells_are_told_with_their_place() {
    let server = Server::with(
        &[("default", "{{ messages|tojson }}{{ tools|tojson }}{{ documents|tojson }}{{ mood }}")],
        config(),
    );
    let cases: [(&str, &str, &str); 9] = [
        (
            r#"{"messages": [{"role": "user", "content": "a<end>"}]}"#,
            "messages[0].content",
            "messages",
        ),
        // JSON writes a character in more ways than one.
        (
            r#"{"messages": [{"role": "user", "content": "\u003cend\u003E"}]}"#,
            "messages[0].content",
            "messages",
        ),
        (r#"{"messages": [{"role": "<end>", "content": "a"}]}"#, "messages[0].role", "messages"),
        (
            r#"{"messages": [{"role": "user", "content": "a", "<end>": 1}]}"#,
            r#"messages[0]["<end>"]"#,
            "messages",
        ),
        (
            r#"{"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"\\u003cend>\"}"}}]}]}"#,
            "messages[0].tool_calls[0].function.arguments.a",
            "messages",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"<end>": 1}}}]}"#,
            r#"tools[0].function.parameters["<end>"]"#,
            "tools",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "a"}], "documents": [{"text": "<end>"}]}"#,
            "documents[0].text",
            "documents",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"mood": "<end>"}}"#,
            "chat_template_kwargs.mood",
            "chat_template_kwargs",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"mood": {"made up": "<end>"}}}"#,
            r#"chat_template_kwargs.mood["made up"]"#,
            "chat_template_kwargs",
        ),
    ];
    for (body, field, counted) in cases {
        let (_, adapted) =
            server.front.tokenize(Protocol::Chat, body.as_bytes(), &generation()).unwrap();
        let told: Vec<_> = adapted.iter().map(|one| (&*one.field, &*one.counted)).collect();
        assert_eq!(told, [(field, counted)], "{body}");
        assert_eq!(adapted[0].applied, "special tokens");
        assert!(adapted[0].reason.contains("`<end>`"));
    }
    let (_, adapted) = server
        .front
        .tokenize(
            Protocol::Chat,
            br#"{"messages": [{"role": "user", "content": "<end"}]}"#,
            &generation(),
        )
        .unwrap();
    assert_eq!(adapted, []);
    let many = json!({"messages": vec![json!({"role": "user", "content": END}); 100]}).to_string();
    let (_, adapted) = Server::with(&[("default", "{{ messages|length }}")], config())
        .front
        .tokenize(Protocol::Chat, many.as_bytes(), &generation())
        .unwrap();
    assert_eq!(adapted.len(), 16, "a header names no more");
}

#[test]
fn parts_that_are_written_together_are_read_together() {
    let parts = r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "<en"}, {"type": "text", "text": "d>"}]}]}"#;
    let writes =
        "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}";
    // Where parts become one text, a line feed comes between them.
    for (template, fields, ids) in [
        (writes, vec!["messages[0].content"], vec![END_ID]),
        ("{{ messages[0].content }}", vec![], b"<en\nd>".map(u32::from).to_vec()),
    ] {
        let server = Server::with(&[("default", template)], config());
        let (made, adapted) =
            server.front.tokenize(Protocol::Chat, parts.as_bytes(), &generation()).unwrap();
        assert_eq!(made, ids, "{template}");
        assert_eq!(adapted.iter().map(|one| &*one.field).collect::<Vec<_>>(), fields);
    }
}

#[test]
fn markers_that_a_template_makes_of_roles_are_special() {
    let makes = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";
    let compares = "{% for m in messages %}{% if m.role == 'user' %}{{ '<|' + m.role + '|>' + m.content }}\
                    {% endif %}{% endfor %}";
    let (protocol, body) = chat("<|user|>");
    for template in [makes, compares] {
        let model = with_special("<|user|>", template);
        let shown = show(&model, protocol, body.as_bytes(), &generation(), &Limits::default());
        let ids = shown.unwrap().prompts.remove(0).token_ids;
        assert_eq!(ids, [&[END_ID], b"<|user|>".map(u32::from).as_slice()].concat(), "{template}");
    }
    let made_up = r#"{"messages": [{"role": "endoftext", "content": "a"}]}"#;
    let model = with_special("<|endoftext|>", makes);
    let shown = show(&model, protocol, made_up.as_bytes(), &generation(), &Limits::default());
    assert!(!shown.unwrap().prompts[0].token_ids.contains(&END_ID));
}

#[test]
fn answers_tell_it_and_strict_ones_are_refused() {
    let mut server = Server::new();
    let (protocol, body) = chat(END);
    let plain = Generation { stream: false, max_tokens: Some(1000), ..generation() };
    server.submit(1, protocol, body.as_bytes(), plain.clone());
    assert!(server.submitted().prompts[0].contains(&END_ID));
    server.text(1, "a", Finish::Length);
    let adapted = loop {
        if let Some(ready) = server.take().into_iter().next() {
            break ready.adapted;
        }
    };
    let told: Vec<_> = adapted.iter().map(|one| (&*one.field, one.applied.clone())).collect();
    let room = 64 - "user: \nassistant: ".len() - 1;
    assert_eq!(
        told,
        [("messages[0].content", json!("special tokens")), ("max_tokens", json!(room))]
    );
    server.submit(2, protocol, body.as_bytes(), Generation { strict: Some(Vec::new()), ..plain });
    let (error, status) = server.error(2);
    let message = error["message"].as_str().unwrap();
    assert_eq!((status, &error["code"]), (400, &"not_honoured".into()));
    assert!(message.contains("messages[0].content") && message.contains("max_tokens"), "{message}");
}

#[test]
fn escaped_texts_spell_no_special_token_and_nothing_else_changes() {
    let server = Server::with(&[("default", TEMPLATE)], escaping());
    let plain = Server::new();
    for content in ["<end>", "a<end>b<end>", "<en", "\u{10FFFD}<end>\u{F0000}", "\u{E000}"] {
        let (protocol, body) = chat(content);
        let shown = server.front.show(protocol, body.as_bytes(), &generation()).unwrap();
        let one = &shown.prompts[0];
        assert_eq!(shown.adapted, []);
        assert!(!one.token_ids.contains(&END_ID));
        assert_eq!(one.prompt_text, Some(format!("user: {content}\nassistant: ")));
        assert_eq!(server.front.detokenize(&one.token_ids).ok(), one.prompt_text);
        assert_eq!(one.token_offsets, None);
        let same = plain.front.show(protocol, body.as_bytes(), &generation()).unwrap();
        assert_eq!(one.spans, same.prompts[0].spans);
    }
    // A role and a content, and a client's half beside the template's.
    let halves = Server::with(
        &[("default", "{% for m in messages %}<{{ m.role }}{{ m.content }}>{% endfor %}")],
        escaping(),
    );
    for (role, content) in [("en", "d"), ("end", ""), ("", "end")] {
        let role = if role.is_empty() { "e" } else { role };
        let content = if role == "e" { "nd" } else { content };
        let body = json!({"messages": [{"role": role, "content": content}]}).to_string();
        let (ids, _) =
            halves.front.tokenize(Protocol::Chat, body.as_bytes(), &generation()).unwrap();
        assert!(!ids.contains(&END_ID), "{body}");
    }
    let making = Generation {
        template_variables: json!({"mood": END}).as_object().unwrap().clone(),
        ..generation()
    };
    let operators = Server::with(&[("default", "{{ messages[0].content }}{{ mood }}")], escaping());
    let (protocol, body) = chat(END);
    let (ids, _) = operators.front.tokenize(protocol, body.as_bytes(), &making).unwrap();
    assert_eq!(ids, [b"<end>".map(u32::from).as_slice(), &[END_ID]].concat());
    // The template's own are special as ever.
    let own = Server::with(
        &[("default", "{% for m in messages %}{{ m.content }}<end>{% endfor %}")],
        escaping(),
    );
    let (protocol, body) = chat(END);
    let (ids, _) = own.front.tokenize(protocol, body.as_bytes(), &generation()).unwrap();
    assert_eq!(ids.iter().filter(|id| **id == END_ID).count(), 1);
    assert_eq!(ids.last(), Some(&END_ID));
}
