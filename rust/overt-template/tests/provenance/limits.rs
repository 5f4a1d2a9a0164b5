//! What cannot be followed, and what is refused.

use overt_template::{RenderInput, Template, TemplateError};
use serde_json::{Value, json};

use crate::{input, label, object, spans, trace, user};

#[test]
fn what_cannot_be_followed_is_derived() {
    // Zero-padded: an operation that no mark survives.
    let traced = trace("<{{ messages[0].content.zfill(5) }}>", &user(json!("42")));
    let spans: Vec<_> =
        traced.spans.iter().map(|span| (label(&span.origin), span.derived)).collect();
    let expected = [("T", false), ("0 content", true), ("T", false)];
    assert_eq!(spans, expected.map(|(origin, derived)| (origin.to_owned(), derived)));
    assert!(!traced.exact);
    // The name of a filter, from a message: no marked render gives the prompt.
    let traced = trace(
        "{% for m in messages %}{{ m.content }}.{% endfor %}{{ ['x']|map(messages[1].content)|join }}{{ eos_token }}",
        &RenderInput {
            special_tokens: object(json!({"eos_token": "</s>"})),
            ..input(json!([
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "upper"},
                {"role": "user", "content": "third"},
            ]))
        },
    );
    assert_eq!(traced.text, "first.upper.third.X</s>");
    let of = |text: &str| {
        let at = traced.text.find(text).unwrap();
        let span = traced.spans.iter().find(|span| span.start <= at && at < span.end).unwrap();
        (label(&span.origin), span.derived)
    };
    assert_eq!(of("first"), ("0 content".to_owned(), false));
    assert_eq!(of("upper"), ("1 content".to_owned(), true));
    assert_eq!(of("</s>"), ("token eos_token".to_owned(), false));
    // Nothing is claimed of the rest: some of it may be the message's.
    assert_eq!(of("."), ("T".to_owned(), true));
}

#[test]
fn more_characters_than_there_are_marks_take_several_renders() {
    let text: String = ('\u{3400}'..='\u{d7ff}').collect();
    let messages: Vec<Value> = (0..22).map(|_| json!({"role": "user", "content": text})).collect();
    let spans =
        spans("{% for m in messages %}{{ m.content }}|{% endfor %}", &input(json!(messages)));
    let expected = (0..22).flat_map(|index| {
        [(text.clone(), format!("{index} content")), ("|".to_owned(), "T".to_owned())]
    });
    assert!(spans.into_iter().eq(expected));
}

#[test]
fn refusals_are_those_of_a_render() {
    let raises = Template::compile("{{ raise_exception('no ' + messages[0].role) }}").unwrap();
    let hello = user(json!("hello"));
    assert_eq!(raises.trace(&hello), Err(TemplateError::Raised { message: "no user".to_owned() }));
    assert!(
        raises
            .trace(&input(json!([])))
            .is_err_and(|error| matches!(error, TemplateError::Input(_)))
    );
    let shadowing = RenderInput { kwargs: object(json!({"messages": []})), ..hello.clone() };
    assert_eq!(raises.trace(&shadowing).unwrap_err(), raises.render(&shadowing).unwrap_err());
    let endless = Template::compile(
        "{% for i in range(3000) %}{% for j in range(3000) %}{% endfor %}{% endfor %}",
    )
    .unwrap();
    assert!(matches!(endless.trace(&hello), Err(TemplateError::Budget { .. })));
    let now = Template::compile("{{ strftime_now('%Y') }}").unwrap();
    assert_eq!(now.trace(&hello).unwrap().text, now.render(&hello).unwrap());
}
