//! Every format, written from random logits under its own grammar: what comes of it is read as calls of the offered
//! tools, with arguments of their schemas.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::collections::BTreeSet;
use std::sync::Arc;

use overt_grammar::{
    Constraint, Factory, Grammar, Limits, Matcher, Rule, Vocabulary, source, words,
};
use overt_parse::{
    Choice, Event, Events, Format, Many, Options, Parser, Piece, Tool, Tools, formats,
};
use serde_json::{Value, json};

/// Outputs of each format.
const WALKS: usize = 25;
/// Tokens of one output at most.
const MOST: usize = 1500;

fn tools() -> Tools {
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let place = closed(
        json!({"k": {"type": "number", "minimum": 0, "maximum": 9}, "x": {"type": ["null", "string"], "maxLength": 3}}),
        json!(["k", "x"]),
    );
    let book = closed(
        json!({
            "city": {"type": "string", "maxLength": 6},
            "code": {"type": "string", "minLength": 2, "maxLength": 4},
            "day": {"type": "integer", "minimum": 1, "maximum": 31},
            "unit": {"enum": ["c", "f"]},
            "near": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2},
            "place": place,
        }),
        json!(["city", "code", "day", "unit", "near", "tags", "place"]),
    );
    let note = closed(json!({"text": {"type": "string", "maxLength": 12}}), json!([]));
    let of = |name: &str, parameters| Tool { name: name.to_owned(), parameters, strict: true };
    let list = vec![of("book", book), of("note", note), of("stop", closed(json!({}), json!([])))];
    Tools { list }
}

/// Whether a value is of a schema, as far as the keywords above go.
fn is_of(schema: &Value, value: &Value) -> bool {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    let typed = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => true,
    };
    let listed = schema["enum"].as_array().is_none_or(|values| values.contains(value));
    let long = value.as_str().is_none_or(|text| {
        let count = text.chars().count() as u64;
        count >= schema["minLength"].as_u64().unwrap_or(0)
            && count <= schema["maxLength"].as_u64().unwrap_or(u64::MAX)
    });
    let bounded = value.as_f64().is_none_or(|number| {
        number >= schema["minimum"].as_f64().unwrap_or(f64::MIN)
            && number <= schema["maximum"].as_f64().unwrap_or(f64::MAX)
    });
    let items = value.as_array().is_none_or(|items| {
        items.len() as u64 <= schema["maxItems"].as_u64().unwrap_or(u64::MAX)
            && items.iter().all(|item| is_of(&schema["items"], item))
    });
    let members = value.as_object().is_none_or(|members| {
        let properties = schema["properties"].as_object().unwrap();
        let required = schema["required"].as_array().unwrap();
        required.iter().all(|name| members.contains_key(name.as_str().unwrap()))
            && members.iter().all(|(name, value)| {
                properties.get(name).is_some_and(|schema| is_of(schema, value))
            })
    });
    typed && listed && long && bounded && items && members
}

/// The texts that a grammar writes as they stand.
fn texts(rule: &Rule, found: &mut BTreeSet<String>) {
    match rule {
        Rule::Text(text) | Rule::Marker(text) => {
            found.insert(text.clone());
        }
        Rule::Until(texts) => found.extend(texts.iter().cloned()),
        Rule::Seq(rules) | Rule::Any(rules) => rules.iter().for_each(|rule| texts(rule, found)),
        Rule::Maybe(rule) | Rule::Many { rule, .. } => texts(rule, found),
        Rule::Both(one, other) => {
            texts(one, found);
            texts(other, found);
        }
        Rule::Json(_) | Rule::Pattern(_) | Rule::Named(_) => {}
    }
}

/// A vocabulary of bytes, of the texts that a format writes, and of its special tokens.
struct Words {
    literal: Vec<String>,
    special: Vec<String>,
}

impl Words {
    /// `special`: the family's markers are special tokens, as its vocabulary has them, and else plain text.
    fn of(row: &Format, grammar: &Grammar, special: bool) -> Self {
        let mut literal = BTreeSet::new();
        texts(&grammar.start, &mut literal);
        grammar.rules.iter().for_each(|(_, rule)| texts(rule, &mut literal));
        let special: Vec<String> =
            row.tokens.iter().filter(|_| special).map(|text| (*text).to_owned()).collect();
        literal.retain(|text| text.len() > 1 && !special.contains(text));
        Self { literal: literal.into_iter().collect(), special }
    }

    fn end(&self) -> u32 {
        u32::try_from(256 + self.literal.len() + self.special.len()).unwrap()
    }

    fn special_id(&self, spelling: &str) -> Option<u32> {
        let at = self.special.iter().position(|special| special == spelling)?;
        Some(u32::try_from(256 + self.literal.len() + at).unwrap())
    }

    fn vocabulary(&self) -> Vocabulary {
        let bytes = (0..=255_u8).map(|byte| (vec![byte], None));
        let literal = self.literal.iter().map(|text| (text.clone().into_bytes(), None));
        let special = self.special.iter().map(|text| (Vec::new(), Some(text.clone())));
        let end = std::iter::once((Vec::new(), Some("<the end>".to_owned())));
        Vocabulary::new(bytes.chain(literal).chain(special).chain(end), &[self.end()]).unwrap()
    }

    /// Tokens as pieces of output; texts beside each other as one.
    fn pieces(&self, tokens: &[u32]) -> Vec<(String, bool)> {
        let mut pieces: Vec<(Vec<u8>, bool)> = Vec::new();
        for token in tokens.iter().map(|token| *token as usize) {
            let (bytes, special) = match token {
                0..256 => (vec![u8::try_from(token).unwrap()], false),
                _ if token - 256 < self.literal.len() => {
                    (self.literal[token - 256].clone().into_bytes(), false)
                }
                _ => (self.special[token - 256 - self.literal.len()].clone().into_bytes(), true),
            };
            match pieces.last_mut() {
                Some((last, false)) if !special => last.extend(bytes),
                _ => pieces.push((bytes, special)),
            }
        }
        let text = |(bytes, special)| (String::from_utf8(bytes).unwrap(), special);
        pieces.into_iter().map(text).collect()
    }
}

/// A fixed sequence of numbers from 0 to 1; nothing depends on chance.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The allowed token with the highest random logit, where what closes has a bonus that grows; none where the cap of
/// tokens comes first.
fn walk(start: &Matcher, vocabulary: &Words, dice: &mut Dice) -> Option<Vec<u32>> {
    let mut matcher = start.clone();
    let end = vocabulary.end();
    let mut mask = vec![0_u32; words(end as usize + 1)];
    let mut tokens = Vec::new();
    while tokens.len() < MOST {
        if matcher.is_ended() {
            return Some(tokens);
        }
        matcher.fill(&mut mask).unwrap();
        let closing = 0.3 + tokens.len() as f64 / 200.0;
        let mut best = (f64::MIN, end);
        for token in 0..=end {
            if mask[token as usize / 32] >> (token % 32) & 1 == 0 {
                continue;
            }
            let closes = token >= 256 || b"\"'}])>|".contains(&(token as u8));
            let logit = dice.next() + if closes { closing } else { 0.0 };
            if logit > best.0 {
                best = (logit, token);
            }
        }
        assert!(best.0 > f64::MIN, "nothing is allowed after {:?}", vocabulary.pieces(&tokens));
        matcher.accept(best.1).unwrap();
        if best.1 == end {
            return Some(tokens);
        }
        tokens.push(best.1);
    }
    None
}

/// Calls, and what was no call.
fn read(row: &'static Format, pieces: &[(String, bool)]) -> (Vec<(String, String)>, String) {
    let options =
        Options { tools: Arc::new(tools()), choice: Choice::Required, ..Options::default() };
    let mut parser = Parser::new(Some(row), None, options);
    let (mut calls, mut text) = (Vec::new(), String::new());
    let mut events = Events::new();
    let mut add = |events: &Events| {
        for event in events.iter() {
            match event {
                Event::ToolStart { name, .. } => calls.push((name.to_owned(), String::new())),
                Event::ToolArgs { text, .. } => calls.last_mut().unwrap().1.push_str(text),
                Event::Text(more) | Event::Reasoning(more) => text.push_str(more),
                Event::ToolEnd { .. } => {}
            }
        }
    };
    for (text, special) in pieces {
        events.clear();
        parser.push(Piece { text, special: *special }, &mut events);
        add(&events);
    }
    events.clear();
    parser.finish(&mut events);
    add(&events);
    (calls, text)
}

/// What was wrong with outputs of one grammar of a format.
fn sample(
    row: &'static Format,
    grammar: Grammar,
    special: bool,
    tools: &Tools,
) -> Result<(), String> {
    let vocabulary = Words::of(row, &grammar, special);
    let markers = |spelling: &str| vocabulary.special_id(spelling);
    let options = overt_grammar::Options { markers: &markers, ..Default::default() };
    let source =
        source(&Constraint::Rule(grammar), "tools", &options).map_err(|error| error.to_string())?;
    let factory = Factory::new(Arc::new(vocabulary.vocabulary()), Limits::default()).unwrap();
    let start = factory.compile(&source).map_err(|error| format!("{error}\n{}", source.lark))?;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut finished = 0;
    for _ in 0..WALKS {
        let Some(tokens) = walk(&start, &vocabulary, &mut dice) else { continue };
        finished += 1;
        let pieces = vocabulary.pieces(&tokens);
        let (calls, text) = read(row, &pieces);
        let valid = calls.iter().all(|(name, arguments)| {
            let tool = tools.get(name);
            let value: Result<Value, _> = serde_json::from_str(arguments);
            tool.zip(value.ok()).is_some_and(|(tool, value)| is_of(&tool.parameters, &value))
        });
        if calls.is_empty() || !valid || !text.trim().is_empty() {
            return Err(format!("{pieces:?} was read as {calls:?} and {text:?}"));
        }
    }
    if finished < WALKS / 2 {
        return Err(format!("only {finished} outputs came to an end"));
    }
    Ok(())
}

#[test]
fn calls_sampled_under_their_formats_grammar_are_of_their_tools_schemas() {
    let tools = tools();
    let offered: Vec<&Tool> = tools.list.iter().collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    let kinds = formats().into_iter().flat_map(|row| [(row, true), (row, false)]);
    for (row, special) in kinds.filter(|(row, special)| *special || !row.tokens.is_empty()) {
        let Some(grammar) = row.grammar(&offered, Many::Some) else { continue };
        let beside = row.grammar_beside_json(&offered, Many::Some);
        let beside = beside.filter(|beside| *beside != grammar);
        for grammar in [Some(grammar), beside].into_iter().flatten() {
            seen += 1;
            if let Err(fault) = sample(row, grammar, special, &tools) {
                wrong.push(format!("{}: {fault}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen >= 60, "{seen} grammars");
}
