//! Whether a text is what a grammar says: every place where a rule may end, tried one by one. For short texts.

use std::collections::{BTreeSet, HashMap};

use overt_rule::{Grammar, Rule};
use serde_json::Value;

/// True when the whole of `text` is what `grammar` says.
pub fn accepts(grammar: &Grammar, text: &str) -> bool {
    let rules = grammar.rules.iter().map(|(name, rule)| (name.as_str(), rule)).collect();
    let mut matcher = Matcher { rules, text, known: HashMap::new() };
    matcher.ends(&grammar.start, 0).contains(&text.len())
}

struct Matcher<'a> {
    rules: HashMap<&'a str, &'a Rule>,
    text: &'a str,
    /// Where a named rule that begins somewhere may end; none while that is being found out.
    known: HashMap<(&'a str, usize), Option<BTreeSet<usize>>>,
}

impl<'a> Matcher<'a> {
    /// Where what begins at `at` may end.
    fn ends(&mut self, rule: &'a Rule, at: usize) -> BTreeSet<usize> {
        let text = self.text;
        let rest = &text[at..];
        let cuts = || (at..=text.len()).filter(|end| text.is_char_boundary(*end));
        match rule {
            Rule::Text(fixed) | Rule::Marker(fixed) => {
                rest.starts_with(fixed.as_str()).then_some(at + fixed.len()).into_iter().collect()
            }
            Rule::Until(stops) => {
                let last = |stop: &String| Some(at + rest.find(stop.as_str())? + stop.len() - 1);
                let last = stops.iter().filter_map(last).min().unwrap_or(text.len());
                cuts().take_while(|end| *end <= last).collect()
            }
            Rule::Pattern(pattern) => {
                let whole = regex::Regex::new(&format!("^(?:{pattern})$")).expect("a pattern");
                cuts().filter(|end| whole.is_match(&text[at..*end])).collect()
            }
            Rule::Json(schema) => value(rest)
                .filter(|(value, _)| holds(schema, schema, value))
                .map(|(_, len)| at + len)
                .into_iter()
                .collect(),
            Rule::Seq(rules) => {
                rules.iter().fold(BTreeSet::from([at]), |from, rule| self.all(rule, &from))
            }
            Rule::Any(rules) => {
                assert!(!rules.is_empty(), "one of none");
                rules.iter().flat_map(|rule| self.ends(rule, at)).collect()
            }
            Rule::Maybe(rule) => {
                let mut ends = self.ends(rule, at);
                ends.insert(at);
                ends
            }
            Rule::Many { rule, min, max } => {
                let mut ends = BTreeSet::new();
                let mut from = BTreeSet::from([at]);
                for count in 0..=max.unwrap_or(u32::MAX) {
                    if count >= *min {
                        ends.extend(&from);
                    }
                    let next: BTreeSet<usize> = from
                        .iter()
                        .flat_map(|at| {
                            let ends = self.ends(rule, *at);
                            assert!(!ends.contains(at), "what is repeated may be empty: {rule:?}");
                            ends
                        })
                        .collect();
                    if next.is_empty() {
                        break;
                    }
                    from = next;
                }
                ends
            }
            Rule::Both(one, other) => &self.ends(one, at) & &self.ends(other, at),
            Rule::Named(name) => {
                let rule = self.rules.get_key_value(name.as_str());
                let (name, rule) = rule.expect("a rule of this name");
                let key = (*name, at);
                if let Some(known) = self.known.get(&key) {
                    return known.clone().expect("a rule that reads something before itself");
                }
                self.known.insert(key, None);
                let ends = self.ends(rule, at);
                self.known.insert(key, Some(ends.clone()));
                ends
            }
        }
    }

    fn all(&mut self, rule: &'a Rule, from: &BTreeSet<usize>) -> BTreeSet<usize> {
        from.iter().flat_map(|at| self.ends(rule, *at)).collect()
    }
}

/// The JSON value with which `text` begins, and its length.
fn value(text: &str) -> Option<(Value, usize)> {
    // A number or word ends where no letter of one follows; other values know their end.
    let word = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
    let word = word.unwrap_or(text.len());
    if word > 0 {
        return Some((serde_json::from_str(&text[..word]).ok()?, word));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok().filter(|_| !text.starts_with(char::is_whitespace))?;
    Some((value, values.byte_offset()))
}

/// What of JSON Schema the tests need.
fn holds(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
        let target = place.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return holds(root, target.expect("a place in the schema"), value);
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let named = |name: &Value| name == kind || (name == "number" && kind == "integer");
    let typed = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(named),
        Some(name) => named(name),
        None => true,
    };
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let size = value.as_str().map(|text| text.chars().count() as f64);
    let mut items = value.as_array().into_iter().flatten();
    let mut members = value.as_object().into_iter().flatten();
    typed
        && list("enum").is_none_or(|values| values.contains(value))
        && schema.get("const").is_none_or(|constant| constant == value)
        && ["anyOf", "oneOf"].iter().all(|key| {
            list(key).is_none_or(|branches| branches.iter().any(|one| holds(root, one, value)))
        })
        && bound("minimum").is_none_or(|min| value.as_f64().is_some_and(|value| value >= min))
        && bound("maxLength").is_none_or(|max| size.is_none_or(|size| size <= max))
        && items.all(|item| schema.get("items").is_none_or(|one| holds(root, one, item)))
        && members.all(|(key, member)| {
            let one = schema.get("properties").and_then(|known| known.get(key));
            one.is_none_or(|one| holds(root, one, member))
        })
        && (!value.is_object()
            || list("required").is_none_or(|required| {
                required.iter().filter_map(Value::as_str).all(|key| value.get(key).is_some())
            }))
}
