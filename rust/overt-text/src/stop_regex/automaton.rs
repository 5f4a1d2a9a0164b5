//! A deterministic automaton over classes of characters.
//!
//! Over characters, not bytes: a class such as `\w` is then one step and one symbol instead of hundreds of
//! states, and a bounded pattern has few states. The automaton reads one match from its first character
//! on; whoever searches runs it from every place where a match may begin.

use std::collections::HashMap;

use super::StopRegexError;
use super::syntax::{Node, Set};

/// No match comes of this.
pub(super) const DEAD: u16 = 0;

/// A match has ended here. Nothing follows: the first end is what counts.
pub(super) const ACCEPT: u16 = 1;

/// Nothing is read yet.
pub(super) const START: u16 = 2;

/// Steps of the nondeterministic automaton.
const MAX_STEPS: usize = 4096;

/// Entries of the transition table (2 bytes each).
const MAX_TABLE: usize = 1 << 17;

/// Elementary operations of building: a few milliseconds.
const MAX_WORK: usize = 1 << 18;

pub(super) struct Automaton {
    /// Classes of the ASCII characters.
    ascii: [u16; 128],
    /// The first character of each run of one class, in order from U+0000 on, and the class.
    runs: Vec<(u32, u16)>,
    classes: usize,
    /// The next state by state and class.
    table: Vec<u16>,
}

impl Automaton {
    /// Compiles a pattern that matches no empty text.
    pub(super) fn new(node: &Node, sets: &[Set]) -> Result<Self, StopRegexError> {
        let mut work = Work(MAX_WORK);
        let alphabet = Alphabet::new(sets, &mut work)?;
        let mut steps = Steps { list: vec![Step::End] };
        let first = steps.add_node(node, 0)?;
        let table = determinize(&steps.list, first, &alphabet, &mut work)?;
        let Alphabet { runs, classes, .. } = alphabet;
        let mut automaton = Self { ascii: [0; 128], runs, classes, table };
        for character in '\0'..='\x7f' {
            automaton.ascii[character as usize] = automaton.search(character);
        }
        Ok(automaton)
    }

    /// The class of a character.
    pub(super) fn class(&self, character: char) -> u16 {
        match self.ascii.get(character as usize) {
            Some(class) => *class,
            None => self.search(character),
        }
    }

    /// The state after `state` (not `ACCEPT`) and a character of `class`.
    pub(super) fn next(&self, state: u16, class: u16) -> u16 {
        self.table[usize::from(state) * self.classes + usize::from(class)]
    }

    fn search(&self, character: char) -> u16 {
        let after = self.runs.partition_point(|run| run.0 <= u32::from(character));
        self.runs[after - 1].1
    }
}

/// What is left of the effort that a pattern may cost.
struct Work(usize);

impl Work {
    fn spend(&mut self, amount: usize) -> Result<(), StopRegexError> {
        self.0 = self.0.checked_sub(amount).ok_or(StopRegexError::TooLarge)?;
        Ok(())
    }
}

/// Characters that no set tells apart, as classes.
struct Alphabet {
    runs: Vec<(u32, u16)>,
    classes: usize,
    /// By set and class: whether the set has the class.
    has: Vec<bool>,
}

impl Alphabet {
    fn new(sets: &[Set], work: &mut Work) -> Result<Self, StopRegexError> {
        let ranges =
            || sets.iter().flatten().map(|(first, last)| (u32::from(*first), u32::from(*last)));
        work.spend(ranges().count())?;
        // Where one class may end and another begin.
        let mut starts = vec![0];
        starts.extend(ranges().flat_map(|(first, last)| [first, last + 1]));
        starts.sort_unstable();
        starts.dedup();
        // Told apart by one set after the other: what a set has gets new numbers, one for each old one.
        let mut numbers = vec![0u32; starts.len()];
        let mut fresh = 0;
        for set in sets {
            let mut renamed = HashMap::new();
            for (first, last) in set {
                let from = starts.partition_point(|start| *start < u32::from(*first));
                let to = starts.partition_point(|start| *start <= u32::from(*last));
                work.spend(1 + to - from)?;
                for number in &mut numbers[from..to] {
                    *number = *renamed.entry(*number).or_insert_with(|| {
                        fresh += 1;
                        fresh
                    });
                }
            }
        }
        let mut classes = HashMap::new();
        let mut examples = Vec::new();
        let mut runs: Vec<(u32, u16)> = Vec::new();
        for (start, number) in starts.iter().zip(numbers) {
            let next = u16::try_from(classes.len()).map_err(|_| StopRegexError::TooLarge)?;
            let class = *classes.entry(number).or_insert_with(|| {
                examples.push(*start);
                next
            });
            if runs.last().is_none_or(|run| run.1 != class) {
                runs.push((*start, class));
            }
        }
        work.spend(sets.len().saturating_mul(examples.len()))?;
        let has = sets
            .iter()
            .flat_map(|set| examples.iter().map(|example| contains(set, *example)))
            .collect();
        Ok(Self { runs, classes: examples.len(), has })
    }
}

fn contains(set: &Set, character: u32) -> bool {
    let after = set.partition_point(|(first, _)| u32::from(*first) <= character);
    after > 0 && character <= u32::from(set[after - 1].1)
}

/// A step of the nondeterministic automaton. It leads to steps made before it.
enum Step {
    /// The match is complete.
    End,
    /// A character of a set, then another step.
    One(usize, usize),
    /// Either of two steps.
    Either(usize, usize),
}

struct Steps {
    list: Vec<Step>,
}

impl Steps {
    fn add(&mut self, step: Step) -> Result<usize, StopRegexError> {
        if self.list.len() == MAX_STEPS {
            return Err(StopRegexError::TooLarge);
        }
        self.list.push(step);
        Ok(self.list.len() - 1)
    }

    /// The step from which `node` is read and `next` follows.
    fn add_node(&mut self, node: &Node, next: usize) -> Result<usize, StopRegexError> {
        match node {
            Node::Empty => Ok(next),
            Node::One(set) => self.add(Step::One(*set, next)),
            Node::Concat(parts) => {
                parts.iter().rev().try_fold(next, |next, part| self.add_node(part, next))
            }
            Node::Either(parts) => {
                let mut any = None;
                for part in parts.iter().rev() {
                    let one = self.add_node(part, next)?;
                    any = Some(match any {
                        Some(others) => self.add(Step::Either(one, others))?,
                        None => one,
                    });
                }
                Ok(any.unwrap_or(next))
            }
            Node::Repeat(part, least, most) => {
                let mut first = next;
                for _ in *least..*most {
                    let one = self.add_node(part, first)?;
                    first = self.add(Step::Either(one, next))?;
                }
                for _ in 0..*least {
                    first = self.add_node(part, first)?;
                }
                Ok(first)
            }
        }
    }
}

/// The transition table, by the subset construction: a state is the set of steps that may come next.
fn determinize(
    steps: &[Step],
    first: usize,
    alphabet: &Alphabet,
    work: &mut Work,
) -> Result<Vec<u16>, StopRegexError> {
    let classes = alphabet.classes;
    let mut numbers: HashMap<Vec<usize>, u16> = HashMap::new();
    let mut reach = Reach { steps, seen: vec![0; steps.len()], round: 0 };
    // The steps of each state; those of the first two lead nowhere.
    let mut states =
        vec![Vec::new(), Vec::new(), reach.from(vec![first], work)?.unwrap_or_default()];
    let mut table = vec![DEAD; 2 * classes];
    let mut at = usize::from(START);
    while let Some(state) = states.get(at) {
        let state = state.clone();
        at += 1;
        if table.len() + classes > MAX_TABLE {
            return Err(StopRegexError::TooLarge);
        }
        for class in 0..classes {
            work.spend(1 + state.len())?;
            let next = state.iter().filter_map(|step| match steps[*step] {
                Step::One(set, next) if alphabet.has[set * classes + class] => Some(next),
                _ => None,
            });
            let Some(next) = reach.from(next.collect(), work)? else {
                table.push(ACCEPT);
                continue;
            };
            if next.is_empty() {
                table.push(DEAD);
                continue;
            }
            let fresh = u16::try_from(states.len()).map_err(|_| StopRegexError::TooLarge)?;
            let number = *numbers.entry(next).or_insert_with_key(|next| {
                states.push(next.clone());
                fresh
            });
            table.push(number);
        }
    }
    Ok(table)
}

/// Finds the steps that read a character from others.
struct Reach<'a> {
    steps: &'a [Step],
    /// The round in which each step was last seen.
    seen: Vec<usize>,
    round: usize,
}

impl Reach<'_> {
    /// The reading steps among `stack` and what it leads to without a character, in order; `None` if the
    /// match may be complete.
    fn from(
        &mut self,
        mut stack: Vec<usize>,
        work: &mut Work,
    ) -> Result<Option<Vec<usize>>, StopRegexError> {
        self.round += 1;
        let mut reading = Vec::new();
        while let Some(step) = stack.pop() {
            work.spend(1)?;
            if std::mem::replace(&mut self.seen[step], self.round) == self.round {
                continue;
            }
            match self.steps[step] {
                Step::End => return Ok(None),
                Step::One(..) => reading.push(step),
                Step::Either(one, other) => stack.extend([one, other]),
            }
        }
        reading.sort_unstable();
        Ok(Some(reading))
    }
}
