//! Normalising: each normalisation on small templates, reported conversations, real templates.

#![allow(clippy::unwrap_used)]

mod arguments;
mod calls;
mod cases;
mod content;
mod corpus;
mod tools;

use overt_template::{Normalisation, RenderInput, Template, Unfit, Wants, normalise};
use serde_json::{Map, Value, json};

/// Texts only.
const TEXT: &str = "{% for m in messages %}[{{ m.role }}]{{ m.content + '\n' }}{% endfor %}";
/// Parts only.
const PARTS: &str = "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}";
/// Either.
const BOTH: &str = "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endif %}{% endfor %}";
/// Of several parts the first.
const FIRST_PART: &str =
    "{% for m in messages %}[{{ m.role }}]{{ m.content[0]['text'] + '|' }}{% endfor %}";

/// Refuses ids as Mistral's templates do.
const NINE: &str = "{% for m in messages %}[{{ m.role }}]{% if m.role == 'tool' %}{% if m.tool_call_id is not defined or m.tool_call_id|length != 9 %}{{ raise_exception('9 characters') }}{% endif %}{{ m.tool_call_id }}:{{ m.content }}{% elif m.tool_calls %}{% for c in m.tool_calls %}{% if c.id is not defined or c.id|length != 9 %}{{ raise_exception('9 characters') }}{% endif %}{{ c.id }}{{ c.function.arguments|tojson }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}";

struct Normalised {
    messages: Value,
    tools: Option<Value>,
    changes: Vec<(&'static str, String)>,
    prompt: String,
}

fn run(source: &str, messages: Value, tools: Option<Value>) -> Result<Normalised, Unfit> {
    let template = Template::compile(source).unwrap();
    let wants = Wants::probe(&template, &Map::new());
    let (mut messages, mut tools) = (messages, tools);
    let changes = normalise(&mut messages, &mut tools, &wants)?;
    for change in &changes {
        assert!(wants.may_apply(change.normalisation), "{change:?}");
    }
    let changes =
        changes.into_iter().map(|change| (change.normalisation.name(), change.path)).collect();
    let input =
        RenderInput { messages: messages.clone(), tools: tools.clone(), ..RenderInput::default() };
    let prompt = template.render(&input).unwrap_or_else(|error| error.to_string());
    Ok(Normalised { messages, tools, changes, prompt })
}

fn messages(source: &str, messages: Value) -> Normalised {
    run(source, messages, None).unwrap()
}

fn part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str, arguments: Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
}

fn assistant(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": calls})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

fn user() -> Value {
    json!({"role": "user", "content": "u"})
}

fn told(changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    changes.iter().map(|(name, path)| (*name, (*path).to_owned())).collect()
}

#[test]
fn a_template_that_renders_no_probe_gets_what_was_sent() {
    let wants = |source: &str| Wants::probe(&Template::compile(source).unwrap(), &Map::new());
    for source in [
        "{{ raise_exception('never') }}",
        "{{ missing.value }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    ] {
        assert_eq!(wants(source), Wants::default());
    }
    let sent = json!([{"role": "developer", "content": [part("a")]}, assistant(&[call("call_1", json!("["))])]);
    let mut messages = sent.clone();
    assert_eq!(normalise(&mut messages, &mut None, &Wants::default()), Ok(vec![]));
    assert_eq!(messages, sent);
    for shapeless in
        [json!(null), json!("x"), json!([1, null, []]), json!([{"tool_calls": {}, "content": 7}])]
    {
        for source in [TEXT, PARTS, NINE] {
            let mut messages = shapeless.clone();
            assert_eq!(
                normalise(&mut messages, &mut Some(shapeless.clone()), &wants(source)),
                Ok(vec![])
            );
            assert_eq!(messages, shapeless);
        }
    }
}

#[test]
fn the_list_is_closed_and_named() {
    let mut names: Vec<&str> = Normalisation::ALL.iter().map(|one| one.name()).collect();
    assert!(Normalisation::ALL.iter().all(|one| one.meaning().ends_with('.')));
    let adapted: Vec<&str> = Normalisation::ALL
        .iter()
        .filter(|one| one.changes_meaning())
        .map(|one| one.name())
        .collect();
    assert_eq!(adapted, ["part_dropped", "developer_to_system"]);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Normalisation::ALL.len());
}
