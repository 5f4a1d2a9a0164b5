//! The newer form: one function a type of format.

use overt_rule::Rule;
use serde_json::Value;

use super::{Reader, begins, text, texts, triggered};
use crate::limits::Limits;
use crate::source::Refused;
use crate::{ebnf, pattern};

const TYPES: &str = "const_string, json_schema, any_text, regex, grammar, tag, triggered_tags, tags_with_separator, \
                     sequence, or, optional, star, plus, repeat";

impl Reader<'_> {
    /// One format. `ends` are the texts of which one follows it, for free text to end at.
    pub(super) fn format(
        &mut self,
        format: &Value,
        path: &str,
        ends: &[String],
    ) -> Result<Rule, Refused> {
        self.depth += 1;
        if self.depth > Limits::TAG_DEPTH {
            return Err(Refused::new(
                path,
                format!("nested more than {} levels deep", Limits::TAG_DEPTH),
            ));
        }
        let kind = text(format, "type", path)?;
        let rule = match kind {
            "const_string" => self.spelled(text(format, "value", path)?),
            "json_schema" => {
                let schema = format.get("json_schema").unwrap_or(&Value::Null);
                self.json(schema, &format!("{path}.json_schema"))?
            }
            "any_text" => {
                let mut stops = match format.get("excludes") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(excludes)) if excludes.is_empty() => Vec::new(),
                    Some(excludes) => texts(excludes, &format!("{path}.excludes"))?,
                };
                stops.extend(ends.iter().filter(|end| !end.is_empty()).cloned());
                Rule::Until(stops)
            }
            "regex" => {
                let regex = text(format, "pattern", path)?;
                pattern::whole(regex, self.options.limits.regex_bytes)
                    .map_err(|error| Refused::new(format!("{path}.pattern"), error))?;
                Rule::pattern(regex)
            }
            "grammar" => {
                self.grammar(text(format, "grammar", path)?, &format!("{path}.grammar"))?
            }
            "tag" => self.tag(format, path)?,
            "triggered_tags" => self.triggered_tags(format, path)?,
            "tags_with_separator" => self.separated_tags(format, path)?,
            "sequence" => Rule::Seq(self.elements(format, path, ends)?),
            "or" => Rule::Any(self.elements(format, path, ends)?),
            "optional" | "star" | "plus" | "repeat" => {
                let content = format.get("content").unwrap_or(&Value::Null);
                let content = self.format(content, &format!("{path}.content"), ends)?;
                match kind {
                    "optional" => content.maybe(),
                    "star" => content.many(0, None),
                    "plus" => content.many(1, None),
                    _ => content.many(
                        count(format, "min", path)?.unwrap_or(0),
                        count(format, "max", path)?,
                    ),
                }
            }
            _ => {
                return Err(Refused::new(
                    format!("{path}.type"),
                    format!("{kind} is not supported; these are: {TYPES}"),
                ));
            }
        };
        self.depth -= 1;
        Ok(rule)
    }

    fn elements(
        &mut self,
        format: &Value,
        path: &str,
        ends: &[String],
    ) -> Result<Vec<Rule>, Refused> {
        let path = format!("{path}.elements");
        let Some(elements) =
            format.get("elements").and_then(Value::as_array).filter(|list| !list.is_empty())
        else {
            return Err(Refused::new(path, "must be a list of one format or more"));
        };
        elements
            .iter()
            .enumerate()
            .map(|(at, element)| self.format(element, &format!("{path}.{at}"), ends))
            .collect()
    }

    fn tag(&mut self, tag: &Value, path: &str) -> Result<Rule, Refused> {
        let begin = text(tag, "begin", path)?;
        let ends = match tag.get("end") {
            Some(Value::String(end)) => vec![end.clone()],
            Some(Value::Array(_)) => texts(&tag["end"], &format!("{path}.end"))?,
            _ => {
                return Err(Refused::new(
                    format!("{path}.end"),
                    "must be a text, or a list of such",
                ));
            }
        };
        let content = tag.get("content").unwrap_or(&Value::Null);
        let content = self.format(content, &format!("{path}.content"), &ends)?;
        let end = match &ends[..] {
            [end] => self.spelled(end),
            ends => Rule::Any(ends.iter().map(|end| self.spelled(end)).collect()),
        };
        Ok(Rule::Seq(vec![self.spelled(begin), content, end]))
    }

    fn tags(&mut self, format: &Value, path: &str) -> Result<Vec<(String, Rule)>, Refused> {
        let path = format!("{path}.tags");
        let Some(tags) =
            format.get("tags").and_then(Value::as_array).filter(|tags| !tags.is_empty())
        else {
            return Err(Refused::new(path, "must be a list of one tag or more"));
        };
        let read = |(at, tag): (usize, &Value)| {
            let here = format!("{path}.{at}");
            Ok((text(tag, "begin", &here)?.to_owned(), self.tag(tag, &here)?))
        };
        tags.iter().enumerate().map(read).collect()
    }

    fn triggered_tags(&mut self, format: &Value, path: &str) -> Result<Rule, Refused> {
        let mut triggers =
            texts(format.get("triggers").unwrap_or(&Value::Null), &format!("{path}.triggers"))?;
        let tags = self.tags(format, path)?;
        for (at, (begin, _)) in tags.iter().enumerate() {
            begins(begin, &triggers, &format!("{path}.tags.{at}"))?;
        }
        if let Some(excludes) = format.get("excludes").filter(|excludes| !excludes.is_null()) {
            triggers.extend(texts(excludes, &format!("{path}.excludes"))?);
        }
        let tags: Vec<Rule> = tags.into_iter().map(|(_, tag)| tag).collect();
        let first = u32::from(flag(format, "at_least_one", path)?);
        Ok(if flag(format, "stop_after_first", path)? {
            let free = || Rule::Until(triggers.clone());
            let one = Rule::Seq(vec![free(), Rule::Any(tags)]);
            if first == 1 { one } else { Rule::Any(vec![one, free()]) }
        } else {
            triggered(&triggers, tags, first, None)
        })
    }

    fn separated_tags(&mut self, format: &Value, path: &str) -> Result<Rule, Refused> {
        let separator = self.spelled(text(format, "separator", path)?);
        let tags = Rule::Any(self.tags(format, path)?.into_iter().map(|(_, tag)| tag).collect());
        let all = if flag(format, "stop_after_first", path)? {
            tags
        } else {
            Rule::Seq(vec![tags.clone(), Rule::Seq(vec![separator, tags]).many(0, None)])
        };
        Ok(if flag(format, "at_least_one", path)? { all } else { all.maybe() })
    }

    /// A grammar in EBNF, its rules renamed so that several can stand side by side.
    fn grammar(&mut self, grammar: &str, path: &str) -> Result<Rule, Refused> {
        let most = self.options.limits.grammar_bytes;
        if grammar.len() > most {
            return Err(Refused::new(
                path,
                format!("the grammar has {} bytes; at most {most} are allowed", grammar.len()),
            ));
        }
        let read = ebnf::read(grammar, self.options.limits.rules)
            .map_err(|error| Refused::new(path, error))?;
        let prefix = format!("{}.", self.rules.len());
        self.rules.extend(
            read.rules
                .into_iter()
                .map(|(name, rule)| (format!("{prefix}{name}"), renamed(rule, &prefix))),
        );
        Ok(renamed(read.start, &prefix))
    }
}

fn renamed(rule: Rule, prefix: &str) -> Rule {
    let all = |rules: Vec<Rule>| rules.into_iter().map(|rule| renamed(rule, prefix)).collect();
    match rule {
        Rule::Named(name) => Rule::Named(format!("{prefix}{name}")),
        Rule::Seq(rules) => Rule::Seq(all(rules)),
        Rule::Any(rules) => Rule::Any(all(rules)),
        Rule::Maybe(rule) => renamed(*rule, prefix).maybe(),
        Rule::Many { rule, min, max } => renamed(*rule, prefix).many(min, max),
        Rule::Both(left, right) => renamed(*left, prefix).both(renamed(*right, prefix)),
        other => other,
    }
}

fn flag(format: &Value, name: &str, path: &str) -> Result<bool, Refused> {
    match format.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Refused::new(format!("{path}.{name}"), "must be true or false")),
    }
}

fn count(format: &Value, name: &str, path: &str) -> Result<Option<u32>, Refused> {
    match format.get(name) {
        None | Some(Value::Null) => Ok(None),
        // Some clients say -1 for no bound.
        Some(value) if value.as_i64() == Some(-1) => Ok(None),
        Some(value) => match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) => Ok(Some(count)),
            None => {
                Err(Refused::new(format!("{path}.{name}"), "must be a whole number, 0 or more"))
            }
        },
    }
}
