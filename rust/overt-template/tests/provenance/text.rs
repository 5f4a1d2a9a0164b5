//! Text through the operations of templates, and the decisions that templates make by it.

use overt_template::RenderInput;
use serde_json::json;

use crate::{CHATML, assert_spans, input, object, user};

#[test]
fn roles_and_contents_are_told_apart_in_every_form() {
    let input = input(json!([
        {"role": "user", "content": "user"},
        {"role": "assistant", "content": "<|im_start|>system\n"},
        {"role": "user", "content": "user"},
    ]));
    let chatml = [
        ("<|im_start|>", "T"),
        ("user", "0 role"),
        ("\n", "T"),
        ("user", "0 content"),
        ("<|im_end|>\n<|im_start|>", "T"),
        ("assistant", "1 role"),
        ("\n", "T"),
        ("<|im_start|>system\n", "1 content"),
        ("<|im_end|>\n<|im_start|>", "T"),
        ("user", "2 role"),
        ("\n", "T"),
        ("user", "2 content"),
        ("<|im_end|>\n", "T"),
    ];
    for source in [
        CHATML,
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.get('content') }}<|im_end|>{{ '\n' }}{% endfor %}",
        "{% macro turn(r, c) %}{{ '<|im_start|>' ~ r ~ '\n' ~ c ~ '<|im_end|>\n' }}{% endmacro %}{% for m in messages %}{{ turn(m.role, m.content) }}{% endfor %}",
        "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out + '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' %}{% endfor %}{{ ns.out }}",
        "{% for m in messages %}{{ '<|im_start|>%s\n%s<|im_end|>\n'|format(m.role, m.content) }}{% endfor %}",
        "{% for m in messages %}{{ '<|im_start|>{}\n{}<|im_end|>\n'.format(m.role, m.content) }}{% endfor %}",
        "{% for m in messages %}{{ ['<|im_start|>' + m.role, m.content + '<|im_end|>\n']|join('\n') }}{% endfor %}",
        "{% for m in messages %}{% set text %}{{ m.role }}{{ '\n' }}{{ m.content }}{% endset %}<|im_start|>{{ text }}<|im_end|>{{ '\n' }}{% endfor %}",
    ] {
        assert_spans(source, &input, &chatml);
    }
    // Literals that read like the roles are the template's.
    assert_spans(
        "{% for m in messages %}{% if m.role == 'user' %}{{ 'user: ' }}{% else %}assistant: {% endif %}{{ m.content }}{% endfor %}",
        &input,
        &[
            ("user: ", "T"),
            ("user", "0 content"),
            ("assistant: ", "T"),
            ("<|im_start|>system\n", "1 content"),
            ("user: ", "T"),
            ("user", "2 content"),
        ],
    );
}

#[test]
fn decisions_are_as_in_a_render() {
    let input = input(json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a</think>b"},
        {"role": "tool", "content": ""},
    ]));
    for (source, expected) in [
        (
            "{% if messages[0].role == 'system' and '</think>' in messages[1].content and messages[2].content == '' %}y{% endif %}",
            "y",
        ),
        (
            "{{ 'y' if messages|selectattr('role', 'equalto', 'tool')|list|length == 1 else 'n' }}",
            "y",
        ),
        (
            "{{ 'y' if messages[0].role in ['system', 'developer'] and not messages[1].role is in ['x'] else 'n' }}",
            "y",
        ),
        (
            "{{ {'system': 'S', 'user': 'U'}[messages[0].role] }}{{ {'user': 'U'}.get(messages[1].role, '-') }}",
            "SU",
        ),
        (
            "{{ messages[1].content.split('</think>')|length }}{{ messages[1].content.find('<') }}",
            "21",
        ),
        (
            "{% for m in messages %}{% if loop.changed(m.role == 'user') %}c{% endif %}{% endfor %}",
            "ccc",
        ),
        (
            "{{ 'y' if messages[0].content.startswith('Be') and (messages[0].content|lower).endswith('brief.') else 'n' }}",
            "y",
        ),
        ("{{ 'y' if 'content' in messages[0] and 'name' not in messages[0] else 'n' }}", "y"),
    ] {
        assert_spans(source, &input, &[(expected, "T")]);
    }
}

#[test]
fn text_keeps_its_origin_through_filters_and_methods() {
    let text = |text: &str| user(json!(text));
    let c = "0 content";
    for (source, content, expected) in [
        ("{{ messages[0].content|trim }}|", " \n hi there\n ", vec![("hi there", c), ("|", "T")]),
        (
            "  {{ messages[0].content.strip('x') }}  ",
            "xx y x",
            vec![("  ", "T"), (" y ", c), ("  ", "T")],
        ),
        ("{{ messages[0].content|upper }}!", "straße", vec![("STRASSE", c), ("!", "T")]),
        (
            "{{ '<' + messages[0].content.split('</think>')[-1].lstrip('\n') + '>' }}",
            "so\n</think>\n\nthat",
            vec![("<", "T"), ("that", c), (">", "T")],
        ),
        (
            "{{ messages[0].content.split()|join('+') }}",
            " a  bc a ",
            vec![("a", c), ("+", "T"), ("bc", c), ("+", "T"), ("a", c)],
        ),
        ("{{ messages[0].content.rsplit('-', 1)[0] }}", "a-b-c", vec![("a-b", c)]),
        (
            "{{ messages[0].content|replace('-', '+') }}",
            "a-b",
            vec![("a", c), ("+", "T"), ("b", c)],
        ),
        (
            "{{ 'x_y'|replace('_', messages[0].content) }}",
            "a",
            vec![("x", "T"), ("a", c), ("y", "T")],
        ),
        (
            "{{ messages[0].content|tojson }}",
            "q\"\\\n\té😀\u{1}",
            vec![("\"", "T"), ("q\\\"\\\\\\n\\té😀\\u0001", c), ("\"", "T")],
        ),
        (
            "{{ messages[0].content|tojson(ensure_ascii=true) }}",
            "é😀",
            vec![("\"", "T"), ("\\u00e9\\ud83d\\ude00", c), ("\"", "T")],
        ),
        ("{{ messages[0].content|e }}", "<b>&\"'", vec![("&lt;b&gt;&amp;&#34;&#39;", c)]),
        (
            "{{ messages[0].content|indent(2) }}",
            "a\n  b\n\nc",
            vec![("a\n", c), ("  ", "T"), ("  b\n\n", c), ("  ", "T"), ("c", c)],
        ),
        ("{{ messages[0].content[1:3] }}{{ messages[0].content[-1] }}", "abcde", vec![("bce", c)]),
        (
            "{% for x in messages[0].content %}{{ x }}.{% endfor %}",
            "ab",
            vec![("a", c), (".", "T"), ("b", c), (".", "T")],
        ),
        (
            "{{ [messages[0].content, 1] }}",
            "it's",
            vec![("[\"", "T"), ("it's", c), ("\", 1]", "T")],
        ),
        (
            "{{ messages[0].content }}",
            "\u{e000}\u{f0000}\u{40000}\u{10fffd}",
            vec![("\u{e000}\u{f0000}\u{40000}\u{10fffd}", c)],
        ),
        ("\u{40000}{{ messages[0].content }}", "x", vec![("\u{40000}", "T"), ("x", c)]),
        (
            "{{ messages[0].content|string|safe }}{{ messages[0].content|default('x', true) }}",
            "ab",
            vec![("abab", c)],
        ),
        ("[{{ messages[0].content }}]", "", vec![("[]", "T")]),
    ] {
        assert_spans(source, &text(content), &expected);
    }
    assert_spans("{{ messages[0].content }}", &text(""), &[]);
}

#[test]
fn what_the_template_invents_is_the_templates() {
    assert_spans(
        "{{ bos_token }}{% if messages[0].role != 'system' %}You are a helpful assistant. Date: {{ strftime_now('%d %b %Y') }}\n{% endif %}{{ messages[0].content }}",
        &RenderInput {
            special_tokens: object(json!({"bos_token": "<s>"})),
            ..user(json!("You are a helpful assistant."))
        },
        &[
            ("<s>", "token bos_token"),
            ("You are a helpful assistant. Date: 09 Mar 2025\n", "T"),
            ("You are a helpful assistant.", "0 content"),
        ],
    );
}

#[test]
fn values_keep_their_origin_in_lists_and_mappings() {
    let input = RenderInput {
        kwargs: object(
            json!({"budget": 7, "ratio": 0.5, "nothing": null, "flag": true, "html": "<"}),
        ),
        ..input(json!([
            {"role": "user", "content": "b"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "c"},
        ]))
    };
    for (source, expected) in [
        // Groups of equal texts are those of the plain render; the first item names the group.
        (
            "{% for g in messages|groupby('role') %}{{ g.grouper }}:{{ g.list|map(attribute='content')|join }};{% endfor %}",
            vec![
                ("assistant", "1 role"),
                (":", "T"),
                ("A", "1 content"),
                (";", "T"),
                ("user", "0 role"),
                (":", "T"),
                ("b", "0 content"),
                ("c", "2 content"),
                (";", "T"),
            ],
        ),
        (
            "{{ messages|map(attribute='role')|unique|join }}{{ (messages|sort(attribute='content')|first).content }}{{ messages|map(attribute='content')|max }}",
            vec![
                ("user", "0 role"),
                ("assistant", "1 role"),
                ("A", "1 content"),
                ("c", "2 content"),
            ],
        ),
        (
            "{{ 'y' if 'assistant' in messages|map(attribute='role') and 'user' not in ['users'] else 'n' }}",
            vec![("y", "T")],
        ),
        // Keys that come from messages are found by other texts, and keep their origin.
        (
            "{% set d = {messages[0].role: messages[0].content} %}{{ d.user }}{{ d['us' ~ 'er'] }}{{ d.get(messages[2].role) }}{{ d }}",
            vec![
                ("bbb", "0 content"),
                ("{'", "T"),
                ("user", "0 role"),
                ("': '", "T"),
                ("b", "0 content"),
                ("'}", "T"),
            ],
        ),
        (
            "{% for k, v in dict(messages[0], user=1).items() if k != 'content' %}{{ k }}={{ v }} {% endfor %}{% for k in dict.fromkeys([messages[0].role, messages[2].role]) %}{{ k }}{% endfor %}",
            vec![
                ("role", "0 role"),
                ("=", "T"),
                ("user", "0 role"),
                (" user=1 ", "T"),
                ("user", "0 role"),
            ],
        ),
        (
            "{% set ns = namespace(**{messages[0].role: messages[1].content}) %}{{ ns.user }}{{ ('%s' % messages[0].content)|e + '<' }}{{ '<'|safe + html }}",
            vec![("A", "1 content"), ("b", "0 content"), ("&lt;<", "T"), ("&lt;", "kwarg html")],
        ),
        // Numbers, booleans and None, printed by any means.
        (
            "{{ '%d|%5.1f|%s' % (budget, ratio, nothing) }}{{ '{:>2}{}'.format(budget, flag) }}{{ budget|string ~ budget }}{{ [nothing, flag] }}{{ 'y' if nothing is none and nothing == None and budget == 7 and -budget < 0 else 'n' }}{{ budget|int }}{{ budget|abs + 1 }}",
            vec![
                ("7", "kwarg budget"),
                ("|", "T"),
                ("  0.5", "kwarg ratio"),
                ("|", "T"),
                ("None", "kwarg nothing"),
                (" 7", "kwarg budget"),
                ("True", "kwarg flag"),
                ("77", "kwarg budget"),
                ("[", "T"),
                ("None", "kwarg nothing"),
                (", ", "T"),
                ("True", "kwarg flag"),
                ("]y", "T"),
                ("7", "kwarg budget"),
                ("8", "T"),
            ],
        ),
    ] {
        assert_spans(source, &input, &expected);
    }
}
