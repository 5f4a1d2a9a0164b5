//! What holds for any JSON, under any wants.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

use super::arguments::Arguments;
use super::content::{Content, Empty, Form};
use super::tools::{self, ToolWants};
use super::{Wants, normalise};

/// Any JSON, of the keys and words that messages have.
fn value() -> impl Strategy<Value = Json> {
    const KEYS: [&str; 12] = [
        "role",
        "content",
        "tool_calls",
        "id",
        "tool_call_id",
        "function",
        "name",
        "arguments",
        "type",
        "text",
        "parameters",
        "other",
    ];
    const WORDS: [&str; 16] = [
        "",
        " ",
        "user",
        "assistant",
        "tool",
        "system",
        "developer",
        "text",
        "function",
        "image",
        "call_1",
        "abcdefghi",
        "{}",
        "{\"a\": 1.0}",
        "[1]",
        "{\"a",
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        select(&WORDS[..]).prop_map(Json::from),
        "\\PC{0,9}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        let pair = (select(&KEYS[..]).prop_map(str::to_owned), inner.clone());
        prop_oneof![
            vec(inner, 0..5).prop_map(Json::Array),
            vec(pair, 0..5).prop_map(|pairs| Json::Object(Map::from_iter(pairs))),
        ]
    })
}

/// A message in the right shape, as far as it goes.
fn message() -> impl Strategy<Value = Json> {
    let role = select(vec!["user", "assistant", "tool", "system", "developer", "critic"]);
    let id = || {
        select(vec![json!("call_1"), json!("call_2"), json!("abcdefghi"), json!(null), json!(7)])
    };
    let content = prop_oneof![
        value(),
        Just(json!("text")),
        vec(
            select(vec![
                json!({"type": "text", "text": "a"}),
                json!({"type": "image"}),
                json!("b")
            ]),
            0..4
        )
        .prop_map(Json::Array),
    ];
    let call = (id(), value()).prop_map(
        |(id, arguments)| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}),
    );
    (role, content, vec(call, 0..3), id(), 0u8..16).prop_map(|(role, content, calls, id, keys)| {
        let mut message = json!({"role": role});
        let pairs = [
            ("content", content),
            ("tool_calls", json!(calls)),
            ("tool_call_id", id),
            ("name", json!(null)),
        ];
        for (bit, (key, value)) in pairs.into_iter().enumerate() {
            if keys & (1 << bit) != 0 {
                message[key] = value;
            }
        }
        message
    })
}

fn wants() -> impl Strategy<Value = Wants> {
    let content = (
        select(vec![Form::AsSent, Form::Text, Form::Parts, Form::OnePart]),
        select(vec![Empty::AsSent, Empty::Text, Empty::Part]),
    )
        .prop_map(|(form, empty)| Content { form, empty });
    let arguments = select(vec![
        Arguments::AsSent,
        Arguments::Either,
        Arguments::Mapping,
        Arguments::MappingOrText,
        Arguments::Text,
    ]);
    let form = select(vec![tools::Form::AsSent, tools::Form::Wrapped, tools::Form::Bare]);
    (proptest::array::uniform6(content), arguments, form, any::<[bool; 6]>()).prop_map(
        |(
            content,
            arguments,
            form,
            [description, parameters, short_ids, needs_ids, tool_names, developer],
        )| Wants {
            content,
            arguments,
            tools: ToolWants { form, description, parameters },
            short_ids,
            needs_ids,
            tool_names,
            developer_to_system: developer,
        },
    )
}

proptest! {
    #[test]
    fn once_is_enough(
        messages in prop_oneof![value(), vec(prop_oneof![3 => message(), 1 => value()], 0..6).prop_map(Json::Array)],
        tools in proptest::option::of(value()),
        wants in wants(),
    ) {
        let (mut once, mut once_tools) = (messages.clone(), tools.clone());
        match normalise(&mut once, &mut once_tools, &wants) {
            Err(unfit) => prop_assert!(unfit.message.contains(&unfit.path)),
            Ok(changes) => {
                prop_assert_eq!(changes.is_empty(), once == messages && once_tools == tools);
                for change in &changes {
                    prop_assert!(wants.may_apply(change.normalisation), "{:?}", change);
                }
                let (mut twice, mut twice_tools) = (once.clone(), once_tools.clone());
                prop_assert_eq!(normalise(&mut twice, &mut twice_tools, &wants), Ok(vec![]));
                prop_assert_eq!((twice, twice_tools), (once, once_tools));
            }
        }
    }
}
