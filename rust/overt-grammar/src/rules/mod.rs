//! Rule trees into llguidance's Lark.
//!
//! llguidance reads text as lexemes: each as long as it can be, none taken back. Text that a rule tree cuts in two
//! may be one lexeme to the lexer, and free text would swallow the marker that ends it. So pieces that stand beside
//! each other and are regular become one lexeme (`terminal`), and free text becomes one lexeme with whatever text
//! ends it, matched at its first occurrence (`free`). Rules that can end in free text are written together with what
//! follows them, one alternative for each way to go on.

mod ending;
mod free;
mod terminal;

use std::collections::HashMap;
use std::fmt::Write;

use overt_rule::{Grammar, Rule};
use serde_json::Value;

use crate::text::quoted;

/// Names of rules that stand for a grammar of the source's parts begin so; no client can spell it.
pub(crate) const PART: char = '\0';

/// Symbols a source may have; a tree that needs more is refused.
const MOST_SYMBOLS: usize = 200_000;
/// How often a rule may have to repeat.
const MOST_REPEATS: u32 = 10_000;
/// Levels of rules inside rules.
const DEEPEST: usize = 400;

/// How a stretch of text reads, which decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Regular, with a definite end.
    Regular,
    /// Free text, alone or with a pattern: it ends where what follows begins.
    Free,
    /// Needs rules of its own.
    Built,
}

/// One stretch to come, in a list of them that ends with the output or the enclosing rule.
#[derive(Clone, Debug)]
enum Item<'a> {
    Rule(&'a Rule),
    /// `rule`, between `min` and `max` more times.
    Again(&'a Rule, u32, Option<u32>),
}

type Key = Vec<(usize, u32, Option<u32>)>;

pub(crate) struct Writer<'a> {
    named: HashMap<&'a str, &'a Rule>,
    markers: &'a (dyn Fn(&str) -> Option<u32> + Sync),
    json: &'a mut dyn FnMut(&Value) -> Result<Value, String>,
    most_regex_bytes: usize,
    lark: String,
    symbols: usize,
    depth: usize,
    /// Rules already written, by what they are written for.
    done: HashMap<Key, String>,
    /// Terminals already written: of named rules by name, of free text by its expression.
    terminals: HashMap<String, (String, bool)>,
    shapes: HashMap<usize, Shape>,
    open: HashMap<usize, bool>,
    /// Recursive rules: their names, before their text is written.
    begun: HashMap<usize, String>,
}

/// Writes a grammar. `json` prepares a schema for `%json`.
///
/// # Errors
/// What is wrong with the tree, as a sentence.
pub(crate) fn write<'a>(
    grammar: &'a Grammar,
    markers: &'a (dyn Fn(&str) -> Option<u32> + Sync),
    json: &'a mut dyn FnMut(&Value) -> Result<Value, String>,
    most_regex_bytes: usize,
) -> Result<String, String> {
    let mut named = HashMap::new();
    for (name, rule) in &grammar.rules {
        if named.insert(name.as_str(), rule).is_some() {
            return Err(format!("rule {name} is defined twice"));
        }
    }
    let mut writer = Writer {
        named,
        markers,
        json,
        most_regex_bytes,
        lark: String::new(),
        symbols: 0,
        depth: 0,
        done: HashMap::new(),
        terminals: HashMap::new(),
        shapes: HashMap::new(),
        open: HashMap::new(),
        begun: HashMap::new(),
    };
    let start = writer.list(&[Item::Rule(&grammar.start)])?;
    // Last, so that a rule that is missing is called missing.
    if let Some(name) = ending::endless(grammar) {
        return Err(format!("rule {name} can never end: it always needs another of itself"));
    }
    let mut lark = format!("start: {start}\n");
    lark.push_str(&writer.lark);
    Ok(lark)
}

fn address(rule: &Rule) -> usize {
    std::ptr::from_ref(rule).addr()
}

impl<'a> Writer<'a> {
    /// The text that stands for these stretches, one after the other.
    fn list(&mut self, items: &[Item<'a>]) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("its rules are nested too deeply".to_owned());
        }
        let written = self.sequence(items);
        self.depth -= 1;
        written
    }

    fn sequence(&mut self, items: &[Item<'a>]) -> Result<String, String> {
        let mut out = Vec::new();
        let mut rest: Vec<Item<'a>> = items.iter().rev().cloned().collect();
        while let Some(item) = rest.pop() {
            match item {
                Item::Rule(Rule::Seq(rules)) => rest.extend(rules.iter().rev().map(Item::Rule)),
                Item::Rule(rule @ Rule::Text(_)) => out.push(self.text(rule)?),
                Item::Rule(Rule::Marker(spelling)) => out.push(self.marker(spelling)),
                Item::Rule(rule) => {
                    let shape = self.shape(rule)?;
                    if shape != Shape::Built {
                        rest.push(item);
                        let (written, ended) = self.lexemes(&mut rest)?;
                        out.push(written);
                        if ended {
                            break;
                        }
                    } else if self.is_open(rule)? {
                        rest.push(item);
                        let ahead: Vec<Item<'a>> = rest.into_iter().rev().collect();
                        out.push(self.branches(&[], &ahead)?);
                        break;
                    } else {
                        out.push(self.built(rule)?);
                    }
                }
                Item::Again(..) => {
                    rest.push(item);
                    let ahead: Vec<Item<'a>> = rest.into_iter().rev().collect();
                    out.push(self.branches(&[], &ahead)?);
                    break;
                }
            }
        }
        out.retain(|text| !text.is_empty());
        Ok(if out.is_empty() { "\"\"".to_owned() } else { out.join(" ") })
    }

    /// A rule that needs rules of its own and has a definite end; the same text wherever it stands.
    fn built(&mut self, rule: &'a Rule) -> Result<String, String> {
        let key = vec![(address(rule), u32::MAX, None)];
        if let Some(written) = self.done.get(&key) {
            return Ok(written.clone());
        }
        let written = self.built_anew(rule)?;
        self.done.insert(key, written.clone());
        Ok(written)
    }

    fn built_anew(&mut self, rule: &'a Rule) -> Result<String, String> {
        match rule {
            Rule::Json(schema) => {
                let schema = (self.json)(schema)?;
                self.define("j", &format!("%json {schema}"))
            }
            Rule::Any(rules) if rules.is_empty() => Err("a choice of no rules".to_owned()),
            Rule::Any(rules) => {
                let mut options = Vec::with_capacity(rules.len());
                for rule in rules {
                    options.push(self.list(&[Item::Rule(rule)])?);
                }
                self.define("r", &options.join(" | "))
            }
            Rule::Maybe(inner) => {
                let inner = self.list(&[Item::Rule(inner)])?;
                self.define("r", &format!("{inner} | \"\""))
            }
            Rule::Many { rule, min, max } => {
                let times = times(*min, *max)?;
                if times.is_empty() {
                    return Ok(String::new());
                }
                let inner = self.list(&[Item::Rule(rule)])?;
                let inner = self.define("r", &inner)?;
                Ok(format!("{inner}{times}"))
            }
            Rule::Named(name) => self.reference(name),
            Rule::Seq(_) => self.list(&[Item::Rule(rule)]),
            Rule::Both(..) => Err("only text, patterns and free text can be combined".to_owned()),
            Rule::Text(_) | Rule::Marker(_) | Rule::Until(_) | Rule::Pattern(_) => {
                self.sequence(&[Item::Rule(rule)])
            }
        }
    }

    fn reference(&mut self, name: &str) -> Result<String, String> {
        if let Some(part) = name.strip_prefix(PART) {
            return Ok(format!("@{part}"));
        }
        let rule = self.body(name)?;
        if let Some(symbol) = self.begun.get(&address(rule)) {
            return Ok(symbol.clone());
        }
        let symbol = self.symbol("n")?;
        self.begun.insert(address(rule), symbol.clone());
        let written = self.list(&[Item::Rule(rule)])?;
        let _ = writeln!(self.lark, "{symbol}: {written}");
        Ok(symbol)
    }

    fn body(&self, name: &str) -> Result<&'a Rule, String> {
        self.named.get(name).copied().ok_or_else(|| format!("there is no rule {name}"))
    }

    fn text(&mut self, rule: &'a Rule) -> Result<String, String> {
        match rule {
            Rule::Text(text) if text.is_empty() => Ok(String::new()),
            Rule::Text(text) => Ok(quoted(text)),
            _ => self.built(rule),
        }
    }

    fn marker(&self, spelling: &str) -> String {
        match (self.markers)(spelling) {
            Some(id) => format!("<[{id}]>"),
            None if spelling.is_empty() => String::new(),
            None => quoted(spelling),
        }
    }

    /// A fresh symbol for this text.
    fn define(&mut self, kind: &str, text: &str) -> Result<String, String> {
        let symbol = self.symbol(kind)?;
        let _ = writeln!(self.lark, "{symbol}: {text}");
        Ok(symbol)
    }

    fn symbol(&mut self, kind: &str) -> Result<String, String> {
        self.symbols += 1;
        if self.symbols > MOST_SYMBOLS {
            return Err(format!("it needs more than {MOST_SYMBOLS} symbols"));
        }
        Ok(format!("{kind}{}", self.symbols))
    }

    fn shape(&mut self, rule: &'a Rule) -> Result<Shape, String> {
        if let Some(shape) = self.shapes.get(&address(rule)) {
            return Ok(*shape);
        }
        // What is recursive, and so meets itself here, is not regular.
        self.shapes.insert(address(rule), Shape::Built);
        let shape = match rule {
            Rule::Text(_) | Rule::Pattern(_) => Shape::Regular,
            Rule::Marker(spelling) if (self.markers)(spelling).is_none() => Shape::Regular,
            Rule::Until(_) => Shape::Free,
            Rule::Both(left, right) => match (self.shape(left)?, self.shape(right)?) {
                (Shape::Built, _) | (_, Shape::Built) => {
                    return Err("only text, patterns and free text can be combined".to_owned());
                }
                (Shape::Regular, Shape::Regular) => Shape::Regular,
                _ => Shape::Free,
            },
            Rule::Seq(rules) | Rule::Any(rules) => {
                let mut shape = Shape::Regular;
                for rule in rules {
                    if self.shape(rule)? != Shape::Regular {
                        shape = Shape::Built;
                    }
                }
                if rules.is_empty() && matches!(rule, Rule::Any(_)) { Shape::Built } else { shape }
            }
            Rule::Maybe(rule) | Rule::Many { rule, .. } => match self.shape(rule)? {
                Shape::Regular => Shape::Regular,
                _ => Shape::Built,
            },
            Rule::Named(name) if name.starts_with(PART) => Shape::Built,
            Rule::Named(name) => match self.body(name).map(|rule| self.shape(rule))?? {
                Shape::Regular => Shape::Regular,
                _ => Shape::Built,
            },
            Rule::Json(_) | Rule::Marker(_) => Shape::Built,
        };
        self.shapes.insert(address(rule), shape);
        Ok(shape)
    }

    /// Whether a rule may end in free text, so that what follows must be known.
    fn is_open(&mut self, rule: &'a Rule) -> Result<bool, String> {
        if let Some(open) = self.open.get(&address(rule)) {
            return Ok(*open);
        }
        self.open.insert(address(rule), false);
        let open = match rule {
            Rule::Text(_) | Rule::Marker(_) | Rule::Json(_) | Rule::Pattern(_) => false,
            Rule::Until(_) => true,
            Rule::Both(..) => self.shape(rule)? == Shape::Free,
            Rule::Seq(rules) => {
                // Free text may also stand before a last rule that can be empty.
                let mut open = false;
                for rule in rules.iter().rev() {
                    open = open || self.is_open(rule)?;
                    if open || !self.can_be_empty(rule) {
                        break;
                    }
                }
                open
            }
            Rule::Any(rules) => {
                let mut open = false;
                for rule in rules {
                    open = self.is_open(rule)? || open;
                }
                open
            }
            Rule::Maybe(rule) | Rule::Many { rule, .. } => self.is_open(rule)?,
            Rule::Named(name) if name.starts_with(PART) => false,
            Rule::Named(name) => {
                let body = self.body(name)?;
                self.is_open(body)?
            }
        };
        self.open.insert(address(rule), open);
        Ok(open)
    }

    fn can_be_empty(&self, rule: &Rule) -> bool {
        match rule {
            Rule::Text(text) | Rule::Marker(text) => text.is_empty(),
            Rule::Json(_) => false,
            Rule::Until(_) | Rule::Maybe(_) => true,
            // Only whether text before it may be the last is asked here: yes is the careful answer.
            Rule::Pattern(_) | Rule::Named(_) | Rule::Both(..) => true,
            Rule::Seq(rules) => rules.iter().all(|rule| self.can_be_empty(rule)),
            Rule::Any(rules) => rules.iter().any(|rule| self.can_be_empty(rule)),
            Rule::Many { rule, min, .. } => *min == 0 || self.can_be_empty(rule),
        }
    }
}

/// How often, as Lark writes it; nothing where it is never.
fn times(min: u32, max: Option<u32>) -> Result<String, String> {
    let most = max.unwrap_or(min);
    if most < min {
        return Err(format!("a rule repeats at least {min} and at most {most} times"));
    }
    if most > MOST_REPEATS {
        return Err(format!("a rule repeats {most} times; at most {MOST_REPEATS} are allowed"));
    }
    Ok(match (min, max) {
        (_, Some(0)) => String::new(),
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    })
}
