//! Whether a grammar's output can end at all.

use std::collections::HashSet;

use overt_rule::{Grammar, Rule};

/// A rule that the output needs and that always needs another of itself.
pub(super) fn endless(grammar: &Grammar) -> Option<&str> {
    // A rule ends once all that it needs ends: repeat until nothing is gained.
    let mut ends: HashSet<&str> = HashSet::new();
    loop {
        let gained: Vec<&str> = grammar
            .rules
            .iter()
            .filter(|(name, rule)| !ends.contains(name.as_str()) && can_end(rule, &ends))
            .map(|(name, _)| name.as_str())
            .collect();
        if gained.is_empty() {
            break;
        }
        ends.extend(gained);
    }
    if can_end(&grammar.start, &ends) {
        return None;
    }
    let stuck = grammar.rules.iter().find(|(name, _)| !ends.contains(name.as_str()));
    stuck.map(|(name, _)| name.as_str())
}

fn can_end(rule: &Rule, ends: &HashSet<&str>) -> bool {
    match rule {
        Rule::Named(name) => name.starts_with(super::PART) || ends.contains(name.as_str()),
        Rule::Seq(rules) => rules.iter().all(|rule| can_end(rule, ends)),
        Rule::Any(rules) => rules.iter().any(|rule| can_end(rule, ends)),
        Rule::Many { rule, min, .. } => *min == 0 || can_end(rule, ends),
        Rule::Both(left, right) => can_end(left, ends) && can_end(right, ends),
        Rule::Maybe(_)
        | Rule::Text(_)
        | Rule::Marker(_)
        | Rule::Json(_)
        | Rule::Until(_)
        | Rule::Pattern(_) => true,
    }
}
