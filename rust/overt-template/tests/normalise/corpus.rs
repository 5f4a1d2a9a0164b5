//! Real templates: conversations as OpenAI's clients send them render, and lose nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use overt_template::{Normalisation, RenderInput, Template, TemplateError, Wants, normalise};
use serde_json::{Map, Value, json};

const SYSTEM: [&str; 2] = ["qsysone", "qsystwo"];
const USER: [&str; 2] = ["quserone", "qusertwo"];
const FOLLOW: &str = "qfollow";
const ANSWER: &str = "qanswer";
const RESULT: [&str; 2] = ["qresultone", "qresulttwo"];
const CALL: [&str; 3] = ["qfunction", "qargument", "qvalue"];
const TOOL: [&str; 4] = ["qfunction", "qdescription", "qparameter", "qmeaning"];
const LONG: &str = "call_AbCdEfGhIjKlMnOpQrStUvWx";
const OTHER: &str = "call_ZbCdEfGhIjKlMnOpQrStUvWx";

fn parts(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({"type": "text", "text": text})).collect()
}

fn tools() -> Value {
    json!([{"type": "function", "function": {
        "name": "qfunction", "description": "qdescription",
        "parameters": {"type": "object", "properties": {"qparameter": {"type": "string", "description": "qmeaning"}}}}}])
}

fn calls(arguments: &Value) -> Value {
    json!([{"id": LONG, "type": "function", "function": {"name": "qfunction", "arguments": arguments}}])
}

/// Messages and tools.
type Form = (Value, Option<Value>);

/// Forms that [`form`] knows, not all of them different.
const FORMS: u32 = 128;

/// What stays as it is, though another form renders it.
const KEPT: [&str; 1] = [
    // Refused in the template's own words: an assistant's turn that says nothing.
    "lcpp-mistralai-Ministral-3-14B-Reasoning-2512.jinja, null content",
];

struct Case {
    name: &'static str,
    messages: Value,
    tools: Option<Value>,
    words: Vec<&'static str>,
}

/// What clients send; `words` are what must stand in the prompt.
fn cases() -> Vec<Case> {
    let system = json!({"role": "system", "content": parts(&SYSTEM)});
    let user = json!({"role": "user", "content": parts(&USER)});
    let caller = json!({"role": "assistant", "content": null, "tool_calls": calls(&json!("{\"qargument\": \"qvalue\"}"))});
    let result = json!({"role": "tool", "tool_call_id": LONG, "content": parts(&RESULT)});
    let text_result = json!({"role": "tool", "tool_call_id": LONG, "content": RESULT[0]});
    let answer = json!({"role": "assistant", "content": parts(&[ANSWER])});
    let follow = json!({"role": "user", "content": FOLLOW});
    let case = |name, messages, tools, words: &[&[&'static str]]| Case {
        name,
        messages,
        tools,
        words: words.concat(),
    };
    vec![
        case("parts", json!([user, answer, follow]), None, &[&USER, &[ANSWER, FOLLOW]]),
        case("system parts", json!([system, user]), None, &[&SYSTEM, &USER]),
        case(
            "developer",
            json!([{"role": "developer", "content": parts(&SYSTEM)}, {"role": "user", "content": FOLLOW}]),
            None,
            &[&SYSTEM, &[FOLLOW]],
        ),
        case(
            "null content",
            json!([user, {"role": "assistant", "content": null}, follow]),
            None,
            &[&USER, &[FOLLOW]],
        ),
        case(
            "empty calls",
            json!([user, {"role": "assistant", "content": ANSWER, "tool_calls": []}, follow]),
            None,
            &[&[ANSWER, FOLLOW]],
        ),
        case(
            "tools",
            json!([{"role": "user", "content": FOLLOW}]),
            Some(tools()),
            &[&TOOL, &[FOLLOW]],
        ),
        case("call", json!([user, caller, result]), Some(tools()), &[&USER, &CALL, &RESULT]),
        case(
            "call, text result",
            json!([user, caller, text_result]),
            Some(tools()),
            &[&USER, &CALL, &RESULT[..1]],
        ),
        case(
            "call, followed",
            json!([user, caller, result, answer, follow]),
            Some(tools()),
            &[&USER, &CALL, &RESULT, &[ANSWER, FOLLOW]],
        ),
        case(
            "call with system",
            json!([system, user, caller, result]),
            Some(tools()),
            &[&SYSTEM, &USER, &CALL, &RESULT],
        ),
        case("call, no tools", json!([user, caller, result]), None, &[&USER, &CALL, &RESULT]),
        case(
            "speaking call",
            json!([user, {"role": "assistant", "content": parts(&[ANSWER]), "tool_calls": caller["tool_calls"]}, result]),
            Some(tools()),
            &[&USER, &CALL, &RESULT, &[ANSWER]],
        ),
        case(
            "empty arguments",
            json!([user, {"role": "assistant", "content": "", "tool_calls": calls(&json!(""))}, result]),
            Some(tools()),
            &[&USER, &CALL[..1], &RESULT],
        ),
        case(
            "two calls",
            json!([user, {"role": "assistant", "content": null, "tool_calls": [
                {"id": LONG, "type": "function", "function": {"name": "qfunction", "arguments": "{\"qargument\": \"qvalue\"}"}},
                {"id": OTHER, "type": "function", "function": {"name": "qfunction", "arguments": "{\"qargument\": \"qother\"}"}}]},
                text_result, {"role": "tool", "tool_call_id": OTHER, "content": RESULT[1]}]),
            Some(tools()),
            &[&USER, &CALL, &["qother"], &RESULT],
        ),
        case(
            "no ids",
            json!([user, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "qfunction", "arguments": "{\"qargument\": \"qvalue\"}"}}]}, {"role": "tool", "content": RESULT[0]}]),
            Some(tools()),
            &[&USER, &CALL, &RESULT[..1]],
        ),
        case(
            "no parameters",
            json!([user]),
            Some(
                json!([{"type": "function", "function": {"name": "qfunction", "description": "qdescription"}}]),
            ),
            &[&USER, &TOOL[..2]],
        ),
        case(
            "no description",
            json!([user]),
            Some(
                json!([{"type": "function", "function": {"name": "qfunction", "parameters": {"type": "object", "properties": {"qparameter": {"type": "string"}}}}}]),
            ),
            &[&USER, &["qfunction", "qparameter"]],
        ),
        case(
            "empty text call",
            json!([user, {"role": "assistant", "content": "", "tool_calls": caller["tool_calls"]}, text_result]),
            Some(tools()),
            &[&USER, &CALL, &RESULT[..1]],
        ),
        case(
            "bare calls",
            json!([user, {"role": "assistant", "content": "", "tool_calls": calls(&json!({"qargument": "qvalue"}))}, result]),
            Some(json!([tools()[0]["function"]])),
            &[&USER, &CALL, &RESULT],
        ),
    ]
}

fn special_tokens() -> Map<String, Value> {
    let tokens = json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"});
    tokens.as_object().unwrap().clone()
}

fn render(
    template: &Template,
    messages: &Value,
    tools: Option<&Value>,
) -> Result<String, TemplateError> {
    template.render(&RenderInput {
        messages: messages.clone(),
        tools: tools.cloned(),
        add_generation_prompt: true,
        special_tokens: special_tokens(),
        ..RenderInput::default()
    })
}

/// The same conversation in one of the forms that a template may prefer.
fn form(case: &Case, bits: u32) -> Form {
    let on = |bit: u32| bits & (1 << bit) != 0;
    let (mut messages, mut tools) = (case.messages.clone(), case.tools.clone());
    for message in messages.as_array_mut().unwrap() {
        if let (true, Value::Array(parts)) = (on(0), &message["content"]) {
            let texts: Vec<&str> =
                parts.iter().map(|part| part["text"].as_str().unwrap()).collect();
            message["content"] = json!(texts.join("\n"));
        } else if let (false, Value::String(text)) = (on(0), &message["content"]) {
            message["content"] = parts(&[text]);
        }
        if on(1) && message["content"].is_null() {
            message["content"] = if on(0) { json!("") } else { parts(&[""]) };
        }
        if message["role"] == "developer" && on(2) {
            message["role"] = json!("system");
        }
        let id = |id: &Value| {
            let long = id.as_str().unwrap_or(LONG);
            json!(if !on(3) {
                long
            } else if long == LONG {
                "a00000000"
            } else {
                "b00000000"
            })
        };
        if message["role"] == "tool" {
            message["name"] = json!("qfunction");
            message["tool_call_id"] = id(&message["tool_call_id"]);
        }
        if message.get("tool_calls").is_some_and(|calls| calls.as_array().is_none_or(Vec::is_empty))
        {
            message.as_object_mut().unwrap().remove("tool_calls");
        }
        for call in
            message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten()
        {
            call["id"] = id(&call["id"]);
            let arguments = &mut call["function"]["arguments"];
            let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            let text = if text.is_empty() { "{}".to_owned() } else { text };
            *arguments = if on(4) { serde_json::from_str(&text).unwrap() } else { json!(text) };
        }
    }
    if let Some(tools) = &mut tools {
        if on(6) {
            for tool in tools.as_array_mut().unwrap() {
                let function =
                    if tool.get("function").is_some() { &mut tool["function"] } else { tool };
                for (key, value) in [
                    ("description", json!("")),
                    ("parameters", json!({"type": "object", "properties": {}})),
                ] {
                    if function.get(key).is_none_or(|value| *value == json!({})) {
                        function[key] = value;
                    }
                }
            }
        }
        let bare = tools[0].get("function").cloned().unwrap_or_else(|| tools[0].clone());
        *tools =
            if on(5) { json!([bare]) } else { json!([{"type": "function", "function": bare}]) };
    }
    (messages, tools)
}

/// Paths of real templates; none where there is no corpus.
fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/templates");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jinja"))
        .collect();
    paths.sort();
    paths
}

/// What a prompt must not show: a list or a mapping written out, text escaped twice.
const SPOILT: [&str; 5] =
    ["{'type': 'text'", "{\"type\": \"text\"", "{'qargument'", "\\\"qargument\\\"", "None"];

/// What of a prompt can be better.
fn faults(text: &str, case: &Case) -> Vec<&'static str> {
    let lost = case.words.iter().copied().filter(|word| !text.contains(word));
    lost.chain(SPOILT.into_iter().filter(|mark| text.contains(mark))).collect()
}

#[test]
fn nothing_fails_and_nothing_is_lost() {
    let paths = templates();
    if paths.is_empty() {
        println!("no corpus of templates beside the checkout: nothing to normalise for");
        return;
    }
    let cases: Vec<(Case, Vec<Form>)> = cases()
        .into_iter()
        .map(|case| {
            let mut forms: Vec<Form> = Vec::new();
            for form in (0..FORMS).map(|bits| form(&case, bits)) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
            (case, forms)
        })
        .collect();
    let mut worse: Vec<String> = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let template = Template::compile(&std::fs::read_to_string(path).unwrap()).unwrap();
        let wants = Wants::probe(&template, &special_tokens());
        for normalisation in Normalisation::ALL {
            *counts.entry(normalisation.name()).or_default() +=
                usize::from(wants.may_apply(*normalisation));
        }
        for (case, forms) in &cases {
            let (mut messages, mut tools) = (case.messages.clone(), case.tools.clone());
            normalise(&mut messages, &mut tools, &wants).unwrap();
            let (once, once_tools) = (messages.clone(), tools.clone());
            assert_eq!(
                normalise(&mut messages, &mut tools, &wants).unwrap(),
                [],
                "{name}, {}",
                case.name
            );
            assert_eq!((&messages, &tools), (&once, &once_tools), "{name}, {}", case.name);
            let rendered = render(&template, &once, once_tools.as_ref());
            let found = rendered.as_ref().map(|text| faults(text, case));
            if found.as_ref().is_ok_and(Vec::is_empty) {
                continue;
            }
            let label = format!("{name}, {}", case.name);
            let mut forms = forms
                .iter()
                .filter_map(|(messages, tools)| render(&template, messages, tools.as_ref()).ok());
            let better = forms.find(|text| {
                found.as_ref().map_or(true, |found| is_better(&faults(text, case), found))
            });
            match (better, found) {
                (Some(_), _) if KEPT.contains(&label.as_str()) => {}
                (Some(better), found) => {
                    worse.push(format!(
                        "{label}: {found:?}, but one form has {:?}",
                        faults(&better, case)
                    ));
                }
                (None, Err(error)) => refused.entry(error.to_string()).or_default().push(label),
                (None, Ok(_)) => {}
            }
        }
    }
    for (error, labels) in &refused {
        println!("refused in every form: {error}: {labels:?}");
    }
    println!("of {} templates, may see: {counts:?}", paths.len());
    assert!(worse.is_empty(), "{worse:#?}");
}

/// Shows all that the other shows, and something more or nothing spoilt.
fn is_better(faults: &[&str], than: &[&str]) -> bool {
    faults.len() < than.len() && faults.iter().all(|fault| than.contains(fault))
}
