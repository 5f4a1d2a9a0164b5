//! Calls and their answers: ids, names, lists without any.

use serde_json::{Value, json};

use super::{NINE, assistant, call, messages, told, tool, user};

#[test]
fn ids_are_mapped_where_they_are_refused() {
    let sent = json!([
        user(),
        assistant(&[
            call("call_AbCdEfGhIjKlMnOpQrStUvWx", json!({})),
            call("abcdefghi", json!({}))
        ]),
        tool("abcdefghi"),
        tool("call_AbCdEfGhIjKlMnOpQrStUvWx"),
        assistant(&[call("call_2", json!({}))]),
        tool("call_2"),
    ]);
    let normalised = messages(NINE, sent.clone());
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let first = id(&normalised.messages[1]["tool_calls"][0]["id"]);
    let second = id(&normalised.messages[4]["tool_calls"][0]["id"]);
    for made in [&first, &second] {
        assert!(made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
    }
    assert_ne!(first, second);
    assert_eq!(
        normalised.prompt,
        format!(
            "[user]u[assistant]{first}{{}}abcdefghi{{}}[tool]abcdefghi:r[tool]{first}:r[assistant]{second}{{}}[tool]{second}:r"
        )
    );
    assert_eq!(
        normalised.changes,
        told(&[
            ("tool_call_id_mapped", "messages[1].tool_calls[0].id"),
            ("tool_call_id_mapped", "messages[3].tool_call_id"),
            ("tool_call_id_mapped", "messages[4].tool_calls[0].id"),
            ("tool_call_id_mapped", "messages[5].tool_call_id"),
        ])
    );
    // The same again, and the same with fewer messages: a prefix stays a prefix.
    assert_eq!(messages(NINE, sent.clone()).messages, normalised.messages);
    let shorter = messages(NINE, json!(sent.as_array().unwrap()[..4]));
    assert_eq!(shorter.messages[1]["tool_calls"][0]["id"], json!(first));
    // An id that another call has already is not made again.
    let clash = json!([
        user(),
        assistant(&[call(&first, json!({})), call("call_AbCdEfGhIjKlMnOpQrStUvWx", json!({}))]),
        tool(&first)
    ]);
    let apart = messages(NINE, clash);
    assert_eq!(apart.messages[1]["tool_calls"][0]["id"], json!(first));
    assert_ne!(apart.messages[1]["tool_calls"][1]["id"], json!(first));
}

#[test]
fn ids_are_made_where_they_are_needed() {
    let bare =
        |name: &str| json!({"type": "function", "function": {"name": name, "arguments": {}}});
    let result = json!({"role": "tool", "content": "r"});
    let sent = json!([
        user(),
        assistant(&[bare("f"), call("abcdefghi", json!({})), bare("g")]),
        result,
        tool("abcdefghi"),
        result,
        assistant(&[bare("f")]),
        result
    ]);
    let normalised = messages(NINE, sent.clone());
    let calls = &normalised.messages[1]["tool_calls"];
    assert_eq!(normalised.messages[2]["tool_call_id"], calls[0]["id"]);
    assert_eq!(normalised.messages[4]["tool_call_id"], calls[2]["id"]);
    assert_eq!(
        normalised.messages[6]["tool_call_id"],
        normalised.messages[5]["tool_calls"][0]["id"]
    );
    assert_ne!(calls[0]["id"], calls[2]["id"]);
    assert_ne!(calls[0]["id"], normalised.messages[6]["tool_call_id"]);
    assert!(normalised.changes.iter().all(|(name, _)| *name == "tool_call_id_made"));
    assert_eq!(normalised.changes.len(), 6);
    assert!(normalised.prompt.starts_with("[user]u[assistant]"), "{}", normalised.prompt);
    let verbatim = "{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls %}{{ c.id }} {{ c.function.name }}{{ c.function.arguments|tojson }}{% else %}{{ m.tool_call_id }}{{ m.content }}{% endfor %}{% endfor %}";
    let kimi = json!([
        user(),
        assistant(&[call("functions.exec:0", json!({}))]),
        tool("functions.exec:0")
    ]);
    let kept = messages(verbatim, kimi);
    assert_eq!(kept.changes, []);
    assert_eq!(kept.prompt, "[user]u[assistant]functions.exec:0 f{}[tool]functions.exec:0r");
    assert_eq!(messages(verbatim, sent).changes, []);
}

#[test]
fn names_of_functions_reach_tool_messages() {
    let writes = "{% for m in messages %}[{{ m.role }}]{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% else %}{% if m.role == 'tool' %}{{ m.name }}: {% endif %}{{ m.content }}{% endfor %}{% endfor %}";
    let named = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": {}}});
    let sent = json!([user(), assistant(&[named("1", "f"), named("2", "g")]), tool("2"), {"role": "tool", "content": "s"}, {"role": "tool", "tool_call_id": "1", "name": "own", "content": "t"}, tool("nobody's")]);
    let normalised = messages(writes, sent.clone());
    assert_eq!(
        normalised.changes,
        told(&[("tool_name_filled", "messages[2].name"), ("tool_name_filled", "messages[3].name")])
    );
    assert_eq!(
        normalised.prompt,
        "[user]u[assistant]f{}g{}[tool]g: r[tool]f: s[tool]own: t[tool]: r"
    );
    assert_eq!(messages(&writes.replace("{{ m.name }}: ", ": "), sent).changes, []);
}

#[test]
fn answers_find_their_calls() {
    let writes = "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% else %}{{ m.name if m.role == 'tool' }}{{ m.content }}{% endfor %};{% endfor %}";
    let named = |id: Value, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": {}}});
    let names = |sent: Value| -> Vec<Option<String>> {
        let normalised = messages(writes, sent).messages;
        let tools =
            normalised.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        tools.map(|tool| tool.get("name").map(|name| name.as_str().unwrap().to_owned())).collect()
    };
    let by_order = json!({"role": "tool", "content": "r"});
    let name = |name: &str| Some(name.to_owned());
    // Calls with one id are answered in turn, and what is answered is not open.
    let twice = json!([
        user(),
        assistant(&[named(json!("1"), "f"), named(json!("1"), "g"), named(json!("2"), "h")]),
        tool("1"),
        tool("1"),
        by_order,
        by_order
    ]);
    assert_eq!(names(twice), [name("f"), name("g"), name("h"), None]);
    // A later message takes an id over; an earlier call is found by id still.
    let again = json!([
        user(),
        assistant(&[named(json!("1"), "f"), named(json!("2"), "g")]),
        assistant(&[named(json!("1"), "h")]),
        tool("2"),
        tool("1"),
        by_order
    ]);
    assert_eq!(names(again), [name("g"), name("h"), None]);
    // A tool makes no calls, and an id that is no text names none.
    let own = json!([user(), {"role": "tool", "content": "r", "tool_calls": [named(json!("1"), "f")]}, by_order, tool("1")]);
    assert_eq!(names(own), [None, None, None]);
    let number = json!([user(), assistant(&[named(json!(7), "f")]), {"role": "tool", "tool_call_id": 7, "content": "r"}, by_order]);
    assert_eq!(names(number), [None, name("f")]);
}

#[test]
fn lists_without_calls_are_dropped() {
    let by_key = "{% for m in messages %}{% if 'tool_calls' in m %}{{ m.tool_calls[0].function.name }}{% else %}{{ m.content }}{% endif %}{% endfor %}";
    for empty in [json!([]), json!(null)] {
        let normalised = messages(
            by_key,
            json!([user(), {"role": "assistant", "content": "a", "tool_calls": empty}]),
        );
        assert_eq!(normalised.messages[1], json!({"role": "assistant", "content": "a"}));
        assert_eq!(
            normalised.changes,
            told(&[("empty_tool_calls_dropped", "messages[1].tool_calls")])
        );
        assert_eq!(normalised.prompt, "ua");
    }
}
