//! Runs of lexemes, and the alternatives that free text needs.

use overt_rule::Rule;

use super::{Item, Key, Shape, Writer, address};

impl<'a> Writer<'a> {
    /// Writes the lexemes that `rest` (the last item comes first) begins with, and takes them from it. True when
    /// everything to the end of `rest` is written, because free text needed to know it.
    pub(super) fn lexemes(&mut self, rest: &mut Vec<Item<'a>>) -> Result<(String, bool), String> {
        let mut run: Vec<&'a Rule> = Vec::new();
        let mut free = false;
        while let Some(item) = rest.pop() {
            match item {
                Item::Rule(Rule::Seq(rules)) => rest.extend(rules.iter().rev().map(Item::Rule)),
                Item::Rule(Rule::Text(text)) if text.is_empty() => {}
                Item::Rule(rule) => match self.shape(rule)? {
                    Shape::Regular if free && !single(rule) => {
                        // Free text ends where the first piece of this occurs, whatever comes after that piece.
                        rest.push(item);
                        break;
                    }
                    Shape::Regular => {
                        run.push(rule);
                        if free && !matches!(rule, Rule::Pattern(_) | Rule::Both(..)) {
                            return Ok((self.lazy(&run)?, false));
                        }
                    }
                    Shape::Free => {
                        run.push(rule);
                        free = true;
                    }
                    Shape::Built => {
                        rest.push(item);
                        break;
                    }
                },
                Item::Again(..) => {
                    rest.push(item);
                    break;
                }
            }
        }
        if !free {
            return Ok((self.greedy(&run)?, false));
        }
        match rest.last() {
            // Special tokens are no text, so they end the lexeme by themselves; so does the end of the output.
            None => Ok((self.greedy(&run)?, true)),
            Some(Item::Rule(Rule::Marker(_))) => Ok((self.greedy(&run)?, false)),
            Some(_) => {
                let ahead: Vec<Item<'a>> = rest.drain(..).rev().collect();
                Ok((self.branches(&run, &ahead)?, true))
            }
        }
    }

    /// Writes `run` and all of `ahead`, whose first item is composite: one alternative for each way into it.
    pub(super) fn branches(
        &mut self,
        run: &[&'a Rule],
        ahead: &[Item<'a>],
    ) -> Result<String, String> {
        let key = key(run, ahead);
        if let Some(symbol) = self.done.get(&key) {
            return Ok(symbol.clone());
        }
        let symbol = self.symbol("r")?;
        self.done.insert(key, symbol.clone());
        let mut options = Vec::new();
        for way in self.ways(ahead)? {
            let mut items: Vec<Item<'a>> = run.iter().copied().map(Item::Rule).collect();
            items.extend(way);
            let written = self.list(&items)?;
            if !options.contains(&written) {
                options.push(written);
            }
        }
        self.lark.push_str(&format!("{symbol}: {}\n", options.join(" | ")));
        Ok(symbol)
    }

    /// What `ahead` can begin with, spelled out one level.
    fn ways(&mut self, ahead: &[Item<'a>]) -> Result<Vec<Vec<Item<'a>>>, String> {
        let Some((first, after)) = ahead.split_first() else { return Ok(vec![Vec::new()]) };
        let with = |first: Vec<Item<'a>>| {
            first.into_iter().chain(after.iter().cloned()).collect::<Vec<_>>()
        };
        Ok(match first {
            Item::Rule(Rule::Any(rules)) if rules.is_empty() => {
                return Err("a choice of no rules".to_owned());
            }
            Item::Rule(Rule::Any(rules)) => {
                rules.iter().map(|rule| with(vec![Item::Rule(rule)])).collect()
            }
            Item::Rule(Rule::Maybe(rule)) => vec![with(vec![Item::Rule(rule)]), with(Vec::new())],
            Item::Rule(Rule::Many { rule, min, max }) => self.again(rule, *min, *max, &with),
            Item::Again(rule, min, max) => self.again(rule, *min, *max, &with),
            Item::Rule(Rule::Seq(rules)) => vec![with(rules.iter().map(Item::Rule).collect())],
            Item::Rule(Rule::Named(name)) if !name.starts_with(super::PART) => {
                vec![with(vec![Item::Rule(self.body(name)?)])]
            }
            Item::Rule(rule) => {
                return Err(format!(
                    "free text must be followed by text, a marker or the end, and not by {}",
                    kind(rule)
                ));
            }
        })
    }

    fn again(
        &self,
        rule: &'a Rule,
        min: u32,
        max: Option<u32>,
        with: &dyn Fn(Vec<Item<'a>>) -> Vec<Item<'a>>,
    ) -> Vec<Vec<Item<'a>>> {
        let mut ways = Vec::new();
        if max != Some(0) {
            let fewer = max.map(|max| max - 1);
            ways.push(with(vec![
                Item::Rule(rule),
                Item::Again(rule, min.saturating_sub(1), fewer),
            ]));
        }
        if min == 0 {
            ways.push(with(Vec::new()));
        }
        ways
    }

    /// A run as one lexeme, as long as it can be.
    fn greedy(&mut self, run: &[&'a Rule]) -> Result<String, String> {
        let (parts, empty) = self.parts(run)?;
        if parts.is_empty() {
            return Ok(String::new());
        }
        let terminal = self.terminal(&parts.join(" "))?;
        Ok(if empty { format!("{terminal}?") } else { terminal })
    }

    /// A run as one lexeme that ends where it first can.
    fn lazy(&mut self, run: &[&'a Rule]) -> Result<String, String> {
        let (parts, _) = self.parts(run)?;
        let terminal = self.terminal(&parts.join(" "))?;
        let symbol = self.symbol("l")?;
        self.lark.push_str(&format!("{symbol}[lazy]: {terminal}\n"));
        Ok(symbol)
    }

    fn parts(&mut self, run: &[&'a Rule]) -> Result<(Vec<String>, bool), String> {
        let mut parts = Vec::with_capacity(run.len());
        let mut empty = true;
        for rule in run {
            let (part, part_empty) = self.regular(rule)?;
            parts.push(part);
            empty &= part_empty;
        }
        Ok((parts, empty))
    }
}

/// One piece of text, or a choice of such: nothing of it can be left for a later lexeme.
fn single(rule: &Rule) -> bool {
    match rule {
        Rule::Text(_) | Rule::Marker(_) | Rule::Pattern(_) | Rule::Both(..) => true,
        Rule::Any(rules) => rules
            .iter()
            .all(|rule| matches!(rule, Rule::Text(text) | Rule::Marker(text) if !text.is_empty())),
        _ => false,
    }
}

fn key(run: &[&Rule], ahead: &[Item<'_>]) -> Key {
    // Ids 0 and 1 are no addresses: the first parts run and rest, and the second tells a rule from its repetition.
    let run = run.iter().map(|rule| (address(rule), 0, None));
    let ahead = ahead.iter().map(|item| match item {
        Item::Rule(rule) => (address(rule), 0, None),
        Item::Again(rule, min, max) => (address(rule), min.saturating_add(1), *max),
    });
    run.chain([(0, 0, None)]).chain(ahead).collect()
}

fn kind(rule: &Rule) -> &'static str {
    match rule {
        Rule::Json(_) => "JSON",
        Rule::Named(_) => "a grammar",
        _ => "a rule",
    }
}
