//! Framed formats: what each says of hand-written output.

use crate::common::{Answer, How, with};
use overt_parse::{Options, Piece};
use serde_json::{Value, json};

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "get_weather", "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "units": {"type": ["string", "null"]},
                "where": {"type": "object"},
                "hours": {"type": "array"}
            },
            "required": ["city"]
        }}},
        {"type": "function", "function": {"name": "web-browsing", "parameters": {
            "type": "object", "properties": {"q": {"type": "string"}}
        }}},
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
    ])
}

/// What an answer says, in short: `order|content|reasoning|name{arguments}…`.
fn short(answer: &Answer) -> String {
    let calls: String =
        answer.calls.iter().map(|call| format!("{}{}", call.name, call.arguments)).collect();
    format!("{}|{}|{}|{calls}", answer.order, answer.content, answer.reasoning)
}

struct Family {
    name: &'static str,
    tail: &'static str,
    specials: &'static [&'static str],
}

impl Family {
    fn how(&self, tail: &str) -> How {
        with(self.name, &tools()).reasoning(reasoning_name(self.name)).tail(tail)
    }

    /// Every text, its markers as special tokens and as text, says what stands beside it.
    fn check(&self, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            for specials in [self.specials, &[]] {
                let answer = self.how(self.tail).specials(specials).read(text);
                assert_eq!(short(&answer), *expected, "{}: {text}", self.name);
            }
        }
    }
}

fn reasoning_name(tool: &str) -> &str {
    if tool == "openai" { "openai_gptoss" } else { tool }
}

const HARMONY: Family = Family {
    name: "openai",
    tail: "<|start|>user<|message|>Hi<|end|><|start|>assistant",
    specials: &[
        "<|start|>",
        "<|channel|>",
        "<|message|>",
        "<|end|>",
        "<|call|>",
        "<|return|>",
        "<|constrain|>",
    ],
};

#[test]
fn harmony() {
    HARMONY.check(&[
        ("<|channel|>final<|message|>Hi.<|return|>", "c|Hi.||"),
        ("<|channel|>analysis<|message|>\nthink\n<|end|><|start|>assistant<|channel|>final<|message|>A\n\nb", "rc|A\n\nb|think|"),
        ("<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>",
         "rt||t|get_weather{\"city\": \"Oslo\"}"),
        (" to=functions.web-browsing<|channel|>commentary json<|message|>{\"q\":\"x\"}<|call|>", "t|||web-browsing{\"q\":\"x\"}"),
        ("<|start|>assistant to=functions.web-browsing<|channel|>commentary json<|message|>{\"q\":\"x\"}<|call|>", "t|||web-browsing{\"q\":\"x\"}"),
        // A call on the analysis channel, and one without a content type.
        ("<|channel|>analysis to=functions.now<|message|>{}<|call|>", "t|||now{}"),
        // Preamble, call, final: in that order.
        ("<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.now<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
         "ctc|I look.Done.||now{}"),
        // Two calls; the second one's end is missing.
        ("<|channel|>commentary to=functions.now<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{\"city\":\"a\"}",
         "t|||now{}get_weather{\"city\":\"a\"}"),
        // Strings hold markers' look-alikes, braces, escapes.
        ("<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"}{ \\\" \\\\ \\ud83d\\ude00 \\n <end>\", \"where\": {\"a\": [1, {\"b\": null}]}}<|call|>",
         "t|||get_weather{\"city\": \"}{ \\\" \\\\ \\ud83d\\ude00 \\n <end>\", \"where\": {\"a\": [1, {\"b\": null}]}}"),
        // No arguments at all, numbers with all their digits, an unknown tool.
        ("<|channel|>commentary to=functions.now<|message|><|call|>", "t|||now{}"),
        ("<|channel|>commentary to=functions.f<|message|> {\"n\": 123456789012345678901234567890, \"x\": 1.50e3}<|call|>",
         "t|||f{\"n\": 123456789012345678901234567890, \"x\": 1.50e3}"),
        // An unknown channel is text; so is a message to the user.
        ("<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>––commentary<|message|>Hi there<|return|>", "rc|Hi there|t|"),
        ("<|channel|>commentary to=user<|message|>{\"a\":1}<|end|>", "c|{\"a\":1}||"),
        // A recipient whose body is no object: not a call.
        ("<|channel|>analysis to=python<|message|>print(1)<|call|>", "r||print(1)|"),
        ("<|channel|>commentary to=functions.f<|message|>  sorry<|end|>", "c|  sorry||"),
        // Cut short: in a header, in arguments.
        ("<|channel|>analysis<|message|>t<|end|><|start|>assistant<|chan", "r||t|"),
        ("<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>comm", "r||t|"),
        ("<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"Os", "t|||get_weather{\"city\": \"Os"),
        // Broken arguments end as they stand; the rest is text.
        ("<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"a\"] and more<|call|>", "tc|] and more||get_weather{\"city\": \"a\""),
        // A missing end; a missing start.
        ("<|channel|>analysis<|message|>t<|start|>assistant<|channel|>final<|message|>c", "rc|c|t|"),
        ("<|channel|>analysis<|message|>t<|channel|>final<|message|>c<|end|>", "rc|c|t|"),
        // No frame at all.
        ("Hello to= you", "c|Hello to= you||"),
        ("to be or not\n", "c|to be or not\n||"),
    ]);
}

#[test]
fn harmony_starts_where_the_prompt_ends() {
    for (tail, text, expected) in [
        (
            "<|start|>assistant<|channel|>analysis<|message|>",
            "t<|end|><|start|>assistant<|channel|>final<|message|>c",
            "rc|c|t|",
        ),
        ("<|start|>assistant<|channel|>final<|message|>The answer", " is 4.", "c| is 4.||"),
        ("<|start|>assistant<|channel|>", "analysis<|message|>t", "r||t|"),
        (
            "<|start|>assistant<|channel|>commentary to=functions.now<|message|>",
            "{}<|call|>",
            "t|||now{}",
        ),
        ("", "<|channel|>analysis<|message|>t", "r||t|"),
        ("<|start|>assistant", "<|message|>c", "c|c||"),
    ] {
        for specials in [HARMONY.specials, &[]] {
            let answer = HARMONY.how(tail).specials(specials).read(text);
            assert_eq!(short(&answer), expected, "{tail} {text}");
        }
    }
}

const MUSE: Family = Family {
    name: "muse_glimmer",
    tail: "<|start|>user<|message|>Hi<|eot|><|start|>assistant",
    specials: &["<|start|>", "<|message|>", "<|eom|>", "<|eot|>"],
};

#[test]
fn muse() {
    let call = |city: &str| {
        format!(
            " to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n\
             <atem:parameter name=\"city\">{city}</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"
        )
    };
    let two = format!("{}<|eom|><|start|>assistant{}<|eot|>", call("a"), call(" b\n"));
    MUSE.check(&[
        (" to=user<|message|>Hi <b>.<|eot|>", "c|Hi <b>.||"),
        (" to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>Hi.<|eot|>", "rc|Hi.|hm|"),
        (&two, "t|||get_weather{\"city\": \"a\"}get_weather{\"city\": \" b\\n\"}"),
        // Markup in reasoning, and in text, stays there.
        (" to=self<|message|><atem:function_calls><atem:invoke name=\"now\"></atem:invoke></atem:function_calls><|eom|>",
         "r||<atem:function_calls><atem:invoke name=\"now\"></atem:invoke></atem:function_calls>|"),
        (" to=user<|message|>Use <atem:invoke name=\"now\">.<|eot|>", "c|Use <atem:invoke name=\"now\">.||"),
        // Types; no arguments; an unknown tool; two calls in a message.
        (" to=get_weather<|message|><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\">3</atem:parameter><atem:parameter name=\"days\">3</atem:parameter><atem:parameter name=\"units\">null</atem:parameter><atem:parameter name=\"where\">{\"a\": [1]}</atem:parameter><atem:parameter name=\"hours\">x</atem:parameter></atem:invoke><|eom|>",
         "t|||get_weather{\"city\": \"3\", \"days\": 3, \"units\": null, \"where\": {\"a\": [1]}, \"hours\": \"x\"}"),
        (" to=now<|message|><atem:function_calls>\n<atem:invoke name=\"now\">\n</atem:invoke>\n<atem:invoke name=\"f.g\"><atem:parameter name=\"a\">12345678901234567890</atem:parameter></atem:invoke></atem:function_calls><|eot|>",
         "t|||now{}f.g{\"a\": 12345678901234567890}"),
        // Values hold tags that are not their end, quotes, backslashes.
        (" to=get_weather<|message|><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\"></atem:invoke> \"\\ <atem:parameter name=\"x\"></atem:parameter></atem:invoke><|eom|>",
         "t|||get_weather{\"city\": \"</atem:invoke> \\\"\\\\ <atem:parameter name=\\\"x\\\">\"}"),
        // Missing tags: the call's end, the parameter's end.
        (" to=now<|message|><atem:invoke name=\"now\"><|eom|>", "c|<atem:invoke name=\"now\">||"),
        (" to=get_weather<|message|><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\">a</atem:parameter><atem:invoke name=\"now\"></atem:invoke><|eom|>",
         "t|||get_weather{\"city\": \"a\"}now{}"),
        (" to=get_weather<|message|><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\">a<|eom|><|start|>assistant to=user<|message|>c",
         "tc|c||get_weather{\"city\": \"a\"}"),
        // Cut short by the output's end: as it stands.
        (" to=get_weather<|message|><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\">a</atem:par",
         "t|||get_weather{\"city\": \"a"),
        (" to=get_weather<|message|><atem:invoke name=\"get_wea", "c|<atem:invoke name=\"get_wea||"),
        // Prose where a call should be.
        (" to=now<|message|>Let me look.<|eom|>", "c|Let me look.||"),
        (" to=now<|message|> First. <atem:invoke name=\"now\"></atem:invoke> Then. <|eom|>", "ctc|First.Then.||now{}"),
        ("Hello there", "c|Hello there||"),
        ("to me it\nis", "c|to me it\nis||"),
    ]);
}

const INKLING: Family = Family {
    name: "inkling",
    tail: "<|message_user|><|content_text|>Hi<|end_message|><|message_model|>",
    specials: &[
        "<|message_model|>",
        "<|content_thinking|>",
        "<|content_text|>",
        "<|content_invoke_tool_json|>",
        "<|content_invoke_tool_text|>",
        "<|content_tool_error|>",
        "<|end_message|>",
        "<|content_model_end_sampling|>",
    ],
};

#[test]
fn inkling() {
    INKLING.check(&[
        ("<|content_text|>Hi.<|end_message|>", "c|Hi.||"),
        ("<|content_thinking|>hm\n<|end_message|><|message_model|><|content_text|>Hi.<|content_model_end_sampling|>", "rc|Hi.|hm|"),
        ("now<|content_invoke_tool_json|>{\"name\":\"now\",\"args\":{}}<|end_message|>", "t|||now{}"),
        ("<|content_invoke_tool_json|>{\"name\": \"get_weather\", \"args\": {\"city\": \"Oslo\"}}<|end_message|>", "t|||get_weather{\"city\": \"Oslo\"}"),
        // Arguments before the name; the header's name is the call's.
        ("get_weather<|content_invoke_tool_json|>{\"args\":{\"city\":\"a\"},\"name\":\"get_weather\"}<|end_message|>", "t|||get_weather{\"city\":\"a\"}"),
        ("<|content_invoke_tool_json|>{\"args\":{\"city\":\"a\"},\"name\":\"get_weather\"}<|end_message|>", "t|||get_weather{\"city\":\"a\"}"),
        ("f<|content_invoke_tool_json|>{\"args\":{\"a\":1}}<|end_message|>", "t|||f{\"a\":1}"),
        // Two calls, with text before and after.
        ("<|content_text|>I look.<|end_message|><|message_model|>now<|content_invoke_tool_json|>{\"name\":\"now\",\"args\":null}<|end_message|><|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{\"n\":-1.5e10}}<|end_message|><|message_model|><|content_text|>Done.<|end_message|>",
         "ctc|I look.Done.||now{}f{\"n\":-1.5e10}"),
        // Arguments as a text; a string with everything in it.
        ("f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":\"{\\\"a\\\": \\\"\\\\n\\\"}\"}<|end_message|>", "t|||f{\"a\": \"\\n\"}"),
        ("<|content_invoke_tool_json|>{\"name\":\"get_weather\",\"args\":{\"city\":\"{\\\"}]\\\\ \\ud83d\\ude00 name\"}}<|end_message|>",
         "t|||get_weather{\"city\":\"{\\\"}]\\\\ \\ud83d\\ude00 name\"}"),
        // No call after all.
        ("<|content_invoke_tool_json|>{\"name\": 3}<|end_message|>", "c|{\"name\": 3}||"),
        ("<|content_invoke_tool_json|>{\"args\": {}}<|end_message|>", "c|{\"args\": {}}||"),
        ("<|content_invoke_tool_json|>not now<|end_message|>", "c|not now||"),
        ("<|content_tool_error|>oh<|end_message|>", "c|oh||"),
        // Cut short.
        ("<|content_invoke_tool_json|>{\"name\": \"now\", \"ar", "c|{\"name\": \"now\", \"ar||"),
        ("<|content_invoke_tool_json|>{\"name\": \"f\", \"args\": {\"a\": [1,", "t|||f{\"a\": [1,"),
        ("<|content_thinking|>hm", "r||hm|"),
        // A missing end; no block at all.
        ("<|content_thinking|>hm<|content_text|>c<|end_message|>", "rc|c|hm|"),
        ("Plain text.\n<|end_message|>", "c|Plain text.||"),
        ("Hi", "c|Hi||"),
        ("Hi<|end_message|>", "c|Hi||"),
    ]);
}

const COHERE: Family = Family {
    name: "cohere_command4",
    tail: "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Say <|START_THINKING|><|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    specials: &[
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        "<|END_OF_TURN_TOKEN|>",
    ],
};

#[test]
fn cohere() {
    COHERE.check(&[
        ("<|START_RESPONSE|>Hi.<|END_RESPONSE|>", "c|Hi.||"),
        ("<|START_THINKING|>hm<|END_THINKING|>\n<|START_TEXT|>Hi.\n<|END_TEXT|><|END_OF_TURN_TOKEN|>", "rc|Hi.\n|hm|"),
        ("<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"a\"}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>",
         "rt||hm|get_weather{\"city\": \"a\"}now{}"),
        // One object without a list; other orders of keys; none of some.
        ("<|START_ACTION|>{\"parameters\": {\"city\": \"a\"}, \"tool_name\": \"get_weather\", \"tool_call_id\": \"7\"}<|END_ACTION|>", "t|||get_weather{\"city\": \"a\"}"),
        ("<|START_ACTION|>[{\"tool_name\": \"now\"}]<|END_ACTION|>", "t|||now{}"),
        ("<|START_ACTION|>[]<|END_ACTION|><|START_TEXT|>c<|END_TEXT|>", "c|c||"),
        // Interleaved.
        ("<|START_TEXT|>a<|END_TEXT|><|START_ACTION|>[{\"tool_name\":\"now\",\"parameters\":{}}]<|END_ACTION|><|START_THINKING|>b<|END_THINKING|><|START_TEXT|>c<|END_TEXT|>", "ctrc|ac|b|now{}"),
        // Text outside of frames keeps its inner white space.
        ("Hello,\n\nworld. ", "c|Hello,\n\nworld. ||"),
        ("<|START_THINKING|>\nhm\n<|END_THINKING|>\n\nHello, world.", "rc|Hello, world.|hm|"),
        // Strings with brackets and ends of frames' look.
        ("<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": \"]}\\\"<|END>\\\\\", \"b\": [[{}], {\"c\": 1.0}]}}]<|END_ACTION|>",
         "t|||f{\"a\": \"]}\\\"<|END>\\\\\", \"b\": [[{}], {\"c\": 1.0}]}"),
        // Malformed, cut short.
        ("<|START_ACTION|>[{\"tool\": \"f\"}]<|END_ACTION|>", "c|{\"tool\": \"f\"}]||"),
        ("<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": 1}", "t|||f{\"a\": 1}"),
        ("<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": 1<|END_ACTION|>", "t|||f{\"a\": 1"),
        ("<|START_ACTION|>[{\"tool_name\": \"f\", \"para", "c|{\"tool_name\": \"f\", \"para||"),
        ("<|START_THINKING|>hm", "r||hm|"),
        ("<|START_ACTION|>I cannot.<|END_ACTION|>", "c|I cannot.||"),
    ]);
    let open =
        COHERE.how("<|CHATBOT_TOKEN|><|START_THINKING|>").read("hm<|END_THINKING|><|START_TEXT|>c");
    assert_eq!(short(&open), "rc|c|hm|");
    let closed =
        COHERE.how("<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>").read("<|START_TEXT|>c");
    assert_eq!(short(&closed), "c|c||");
}

const KIMI: Family = Family {
    name: "kimi_k3",
    tail: "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
    specials: &["<|open|>", "<|sep|>", "<|close|>", "<|end_of_msg|>"],
};

#[test]
fn kimi_k3() {
    let call = "<|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>Os lo\n<|close|>argument<|sep|><|open|>argument key=\"days\" type=\"number\"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|>";
    let now = "<|open|>call tool=\"now\" index=\"2\"<|sep|><|close|>call<|sep|>";
    let two = format!(
        "hm<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|>{call}{now}<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>"
    );
    let only = |inner: &str| {
        format!(
            "<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>{inner}"
        )
    };
    let end = "<|close|>call<|sep|><|close|>tools<|sep|>";
    let json = only(&format!(
        "<|open|>json type=\"object\"<|sep|>{{\"a\": \"<b>\"}}<|close|>json<|sep|>{end}"
    ));
    let typed = only(&format!(
        "<|open|>argument key=\"a &quot;b&quot; &amp;amp;\" type=\"boolean\"<|sep|>true<|close|>argument<|sep|>\
         <|open|>argument key=\"n\" type=\"null\"<|sep|>null<|close|>argument<|sep|>\
         <|open|>argument key=\"o\" type=\"object\"<|sep|>{{\"x\":[1,\"y\"]}}<|close|>argument<|sep|>\
         <|open|>argument key=\"i\" type=\"number\"<|sep|>123456789012345678901<|close|>argument<|sep|>\
         <|open|>argument key=\"bad\" type=\"number\"<|sep|>many<|close|>argument<|sep|>\
         <|open|>argument key=\"s\" type=\"string\"<|sep|>\"q\" \\ 5<|close|>argument<|sep|>{end}"
    ));
    let no_ends = only(
        "<|open|>argument key=\"a\" type=\"string\"<|sep|>v<|open|>argument key=\"b\" type=\"number\"<|sep|>1<|close|>tools<|sep|>",
    );
    let cut = only("<|open|>argument key=\"a\" type=\"string\"<|sep|>v\"w");
    let half = only("<|open|>argument key=\"a");
    let bare = only("");
    let next = only(
        "<|open|>argument key=\"a\" type=\"string\"<|sep|>v<|close|>argument<|sep|><|open|>response<|sep|>c",
    );
    KIMI.check(&[
        ("hm<|close|>think<|sep|><|open|>response<|sep|>Hi.<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>", "rc|Hi.|hm|"),
        (&two, "rct|I look.|hm|get_weather{\"city\": \"Os lo\\n\", \"days\": 3}now{}"),
        (&json, "t|||f{\"a\": \"<b>\"}"),
        (&typed, "t|||f{\"a \\\"b\\\" &amp;\": true, \"n\": null, \"o\": {\"x\":[1,\"y\"]}, \"i\": 123456789012345678901, \"bad\": \"many\", \"s\": \"\\\"q\\\" \\\\ 5\"}"),
        // Ends are missing; the output is cut short.
        (&no_ends, "t|||f{\"a\": \"v\", \"b\": 1}"),
        (&next, "tc|c||f{\"a\": \"v\"}"),
        (&cut, "t|||f{\"a\": \"v\\\"w"),
        (&half, "|||"),
        (&bare, "|||"),
        ("hm", "r||hm|"),
        ("\nhm\n<|close|>think", "r||hm|"),
        // Text outside, stray markers, a header that is none.
        ("a<|close|>think<|sep|> Hello\n\nthere ", "rc|Hello\n\nthere |a|"),
        ("a<|sep|>b<|close|>think<|sep|><|sep|><|open|>response<|sep|>c", "rc|c|ab|"),
        ("<|close|>think<|sep|><|open|>response<|sep|>x < y<|close|>response<|sep|>", "c|x < y||"),
        ("<|close|>think<|sep|><|open|>mystery<|sep|>text<|close|>mystery<|sep|>", "c|text||"),
    ]);
    let off = KIMI
        .how("<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>")
        .read("Hi.<|close|>response<|sep|>");
    assert_eq!(short(&off), "c|Hi.||");
}

#[test]
fn without_tools_calls_are_text() {
    for (family, text, expected) in [
        (&HARMONY, "<|channel|>commentary to=functions.now<|message|>{}<|call|>", "c|{}||"),
        (
            &MUSE,
            " to=now<|message|><atem:invoke name=\"now\"></atem:invoke><|eom|>",
            "c|<atem:invoke name=\"now\"></atem:invoke>||",
        ),
        (
            &INKLING,
            "<|content_invoke_tool_json|>{\"name\":\"now\"}<|end_message|>",
            "c|{\"name\":\"now\"}||",
        ),
        (
            &COHERE,
            "<|START_ACTION|>[{\"tool_name\":\"now\"}]<|END_ACTION|>",
            "c|[{\"tool_name\":\"now\"}]||",
        ),
        (
            &KIMI,
            "<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>v<|close|>argument<|sep|>",
            "c|v||",
        ),
    ] {
        let how = How {
            options: Options { prompt_tail: family.tail.to_owned(), ..Options::default() },
            ..family.how("")
        };
        let answer = how.specials(family.specials).read(text);
        assert_eq!(short(&answer), expected, "{text}");
    }
}

#[test]
fn special_tokens_end_open_strings_and_other_ones_are_dropped() {
    let specials = [HARMONY.specials, &["<|x|>"]].concat();
    let how = HARMONY.how(HARMONY.tail).specials(&specials);
    let answer = how.read("<|channel|>commentary to=functions.f<|message|>{\"a\": \"b<|x|>c<|call|><|start|>assistant<|channel|>final<|message|>d<|x|>e");
    assert_eq!(short(&answer), "tc|de||f{\"a\": \"bc");
    // The same as text stays in the string.
    let answer = HARMONY
        .how("")
        .read("<|channel|>commentary to=functions.f<|message|>{\"a\": \"<|call|>\"}<|call|>");
    assert_eq!(short(&answer), "t|||f{\"a\": \"<|call|>\"}");
}

#[test]
fn reasoning_may_stay_in_the_answer_and_is_told_from_the_first_byte() {
    let mut how = KIMI.how(KIMI.tail);
    assert!(how.parser().is_reasoning());
    how.options.merged = true;
    let answer = how.read("hm<|close|>think<|sep|><|open|>response<|sep|>c");
    assert_eq!(short(&answer), "c|hmc||");
    let mut parser = HARMONY.how(HARMONY.tail).parser();
    let mut out = overt_parse::Events::new();
    assert!(!parser.is_reasoning());
    for text in ["<|channel|>", "analysis", "<|message|>"] {
        parser.push(Piece { text, special: text.starts_with('<') }, &mut out);
    }
    assert!(parser.is_reasoning() && out.is_empty());
}

#[test]
fn a_named_tool_does_not_turn_open_reasoning_into_a_call() {
    let how = KIMI.how(KIMI.tail).choice(overt_parse::Choice::Named("now".to_owned()));
    let answer = how.read("{1, 2} is a set<|close|>think<|sep|>");
    assert_eq!(short(&answer), "r||{1, 2} is a set|");
}

#[test]
fn a_long_header_is_text() {
    let text = format!("<|channel|>analysis {}", "words and ".repeat(60));
    let answer = HARMONY.how(HARMONY.tail).specials(HARMONY.specials).read(&text);
    assert_eq!(answer.reasoning.trim(), text["<|channel|>".len()..].trim());
    let text = format!("to={}", "x".repeat(400));
    let answer = HARMONY.how(HARMONY.tail).read(&text);
    assert_eq!(answer.content, text);
}
