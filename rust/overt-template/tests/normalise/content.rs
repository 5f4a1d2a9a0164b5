//! Content, and whose it is.

use serde_json::json;

use super::{BOTH, FIRST_PART, PARTS, TEXT, call, messages, part, run, told, user};

#[test]
fn parts_become_text_and_text_parts() {
    for role in ["user", "assistant", "system", "tool"] {
        let sent = json!([user(), {"role": role, "content": [part("a"), part("b")]}, user()]);
        let text = messages(TEXT, sent.clone());
        assert_eq!(text.messages[1]["content"], "a\nb");
        assert_eq!(text.changes, told(&[("text_parts_joined", "messages[1].content")]));
        assert_eq!(text.prompt, format!("[user]u\n[{role}]a\nb\n[user]u\n"));
        assert_eq!(messages(BOTH, sent).changes, []);
    }
    let parts = messages(
        PARTS,
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": [part("b")]}]),
    );
    assert_eq!(parts.messages[0]["content"], json!([part("a")]));
    assert_eq!(parts.changes, told(&[("text_made_part", "messages[0].content")]));
    assert_eq!(parts.prompt, "[user]a[user]b");
    let image = json!({"type": "image"});
    let first = messages(
        FIRST_PART,
        json!([{"role": "user", "content": [image, part("a"), part("b")]}, user()]),
    );
    assert_eq!(first.messages[0]["content"], json!([image, part("a\nb")]));
    assert_eq!(first.messages[1]["content"], json!([part("u")]));
    assert_eq!(
        first.changes,
        told(&[
            ("text_parts_joined", "messages[0].content"),
            ("text_made_part", "messages[1].content")
        ])
    );
    // One text in a list of one reads the same everywhere.
    assert_eq!(messages(TEXT, json!([{"role": "user", "content": []}])).messages[0]["content"], "");
}

#[test]
fn parts_of_other_kinds_are_dropped_by_name() {
    let sent = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, part("a"), {"type": "input_audio"}, "b"]}]);
    let text = messages(TEXT, sent.clone());
    assert_eq!(text.messages[0]["content"], "a\nb");
    assert_eq!(
        text.changes,
        told(&[
            ("part_dropped", "messages[0].content[0]"),
            ("part_dropped", "messages[0].content[2]"),
            ("text_parts_joined", "messages[0].content")
        ])
    );
    assert_eq!(messages(BOTH, sent).changes, []);
    for malformed in [
        json!(7),
        json!(null),
        json!({"type": "text"}),
        json!({"type": "text", "text": 7}),
        json!({}),
    ] {
        let unfit =
            run(TEXT, json!([user(), {"role": "user", "content": [part("a"), malformed]}]), None)
                .err()
                .unwrap();
        assert_eq!(unfit.path, "messages[1].content[1]");
        assert!(unfit.message.contains("messages[1].content[1]"), "{unfit}");
    }
}

#[test]
fn content_that_is_missing_becomes_empty() {
    let silent = json!([user(), {"role": "assistant", "content": null, "tool_calls": [call("call_1", json!("{}"))]}, {"role": "tool", "tool_call_id": "call_1"}, {"role": "assistant"}]);
    let fails = messages(TEXT, silent.clone());
    assert_eq!(
        fails.changes,
        told(&[
            ("empty_content_filled", "messages[1].content"),
            ("empty_content_filled", "messages[2].content"),
            ("empty_content_filled", "messages[3].content")
        ])
    );
    assert_eq!(fails.prompt, "[user]u\n[assistant]\n[tool]\n[assistant]\n");
    let prints = "{% for m in messages %}[{{ m.role }}]{{ m.get('content') }}{% endfor %}";
    assert_eq!(messages(prints, silent.clone()).prompt, "[user]u[assistant][tool][assistant]");
    let lenient = messages(
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}",
        silent.clone(),
    );
    assert_eq!((lenient.messages, lenient.changes), (silent, vec![]));
    // Neither absent nor an empty string, but a list with an empty text.
    let reads_first = "{% for m in messages %}[{{ m.role }}]{% if m.content[0].thinking %}t{% endif %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}";
    let part_made = messages(
        reads_first,
        json!([user(), {"role": "assistant", "content": ""}, {"role": "assistant"}]),
    );
    assert_eq!(part_made.messages[1]["content"], json!([part("")]));
    assert_eq!(part_made.messages[2]["content"], json!([part("")]));
    assert_eq!(part_made.prompt, "[user]u[assistant][assistant]");
    let refuses = "{% for m in messages %}{% if not m.content %}{{ raise_exception('say something') }}{% endif %}{{ m.content }}{% endfor %}";
    let refused = messages(refuses, json!([user(), {"role": "assistant"}]));
    assert_eq!(refused.changes, []);
    assert_eq!(refused.prompt, "the chat template refused the messages: say something");
}

#[test]
fn the_developer_becomes_the_system_where_nobody_knows_it() {
    let sent = json!([{"role": "developer", "content": "d"}, user()]);
    let any_role = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    let in_prose = "You are a developer. {% for m in messages %}[{{ m.role|upper }}]{{ m.content }}{% endfor %}";
    let refused = "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] %}{{ raise_exception('Unexpected role') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    let dropped = "{% for m in messages %}{% if m.role in ['system', 'user'] %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}";
    for (source, expected) in [
        (any_role, "[system]d[user]u"),
        (in_prose, "You are a developer. [SYSTEM]d[USER]u"),
        (refused, "[system]d[user]u"),
        (dropped, "[system]d[user]u"),
    ] {
        let normalised = messages(source, sent.clone());
        assert_eq!(
            normalised.changes,
            told(&[("developer_to_system", "messages[0].role")]),
            "{source}"
        );
        assert_eq!(normalised.prompt, expected);
    }
    let allowed = refused.replace("'system',", "'system', 'developer',");
    let apart = "{% for m in messages %}{{ '<dev>' if m.role == 'developer' else '[' ~ m.role ~ ']' }}{{ m.content }}{% endfor %}";
    for (source, expected) in [(allowed.as_str(), "[developer]d[user]u"), (apart, "<dev>d[user]u")]
    {
        let normalised = messages(source, sent.clone());
        assert_eq!((normalised.changes, normalised.prompt.as_str()), (vec![], expected));
    }
    // Its content is shaped as that of its place.
    let text_only = apart.replace("{{ m.content }}", "{{ m.content + '' }}");
    let parts = json!([{"role": "developer", "content": [part("a"), part("b")]}, user()]);
    assert_eq!(messages(&text_only, parts).prompt, "<dev>a\nb[user]u");
}
