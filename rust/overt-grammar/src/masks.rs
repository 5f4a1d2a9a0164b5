//! Masks by the state of a grammar's lexer.
//!
//! Most tokens of a vocabulary stay within the lexeme that is being read, and whether they may come depends on the
//! lexer's state alone; only those that go beyond the lexeme's end depend on the grammar around it. Walking the whole
//! vocabulary costs milliseconds, so for each state where that was needed, the first kind is kept as a mask, and the
//! second as the places in the vocabulary's tree where they begin: a few hundred, walked each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llguidance::derivre::StateID;
use llguidance::earley::{BiasComputer, ParserRecognizer};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::time::{ClockId, clock_gettime};
use toktrie::{Recognizer, SimpleVob, TokTrie};

use crate::vocabulary::Vocabulary;

/// Steps through the vocabulary's tree for one mask, from which on the state is worth learning.
const MANY_STEPS: usize = 3000;
/// Time of the processor that learning a state may take at once; the next mask in that state goes on with it.
const PATIENCE: Duration = Duration::from_micros(1500);

/// Computes the masks of one grammar.
pub(crate) struct Masks {
    plain: Arc<dyn BiasComputer>,
    vocabulary: Arc<Vocabulary>,
    states: Mutex<FxHashMap<StateID, Seen>>,
    /// Bytes that all grammars of a factory keep, and how many they may.
    spent: Arc<AtomicUsize>,
    most_bytes: usize,
    own: AtomicUsize,
}

/// Time that this thread has run.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

enum Seen {
    /// Its mask took many steps; it is learnt when it comes again.
    Costly(Progress),
    Learnt(Arc<Learnt>),
}

struct Learnt {
    /// Tokens that stay within the lexeme.
    within: SimpleVob,
    /// Nodes of the vocabulary's tree with which tokens leave it.
    leaving: Vec<u32>,
}

/// How far a state is learnt.
#[derive(Default)]
struct Progress {
    /// The next node of the vocabulary's tree.
    at: usize,
    /// The lexer's states along the path to it.
    path: Vec<StateID>,
    within: SimpleVob,
    leaving: Vec<u32>,
}

impl Masks {
    pub(crate) fn new(
        plain: Arc<dyn BiasComputer>,
        vocabulary: Arc<Vocabulary>,
        spent: Arc<AtomicUsize>,
        most_bytes: usize,
    ) -> Self {
        Self {
            plain,
            vocabulary,
            states: Mutex::default(),
            spent,
            most_bytes,
            own: AtomicUsize::new(0),
        }
    }

    /// Learns more of a state; what was not finished in time is kept for the next mask.
    fn learn(
        &self,
        recognizer: &mut ParserRecognizer<'_>,
        state: StateID,
        mut so_far: Progress,
    ) -> Option<Arc<Learnt>> {
        let started = now();
        let nodes = &self.vocabulary.nodes;
        if so_far.path.is_empty() {
            so_far.within = self.trie().alloc_token_set();
            so_far.path.push(state);
        }
        let lexer = recognizer.lexer_mut();
        let mut steps = 0_u32;
        while let Some(node) = nodes.get(so_far.at) {
            steps += 1;
            if steps.is_multiple_of(512) && now().saturating_sub(started) > PATIENCE {
                self.states.lock().insert(state, Seen::Costly(so_far));
                return None;
            }
            so_far.path.truncate(node.depth as usize);
            let Some(&before) = so_far.path.last() else { break };
            let after = lexer.transition_start_state(before, Some(node.byte), &None);
            let leaves = after.has_lowest_match()
                || (after.is_dead() && !lexer.try_lexeme_end(before).is_error());
            if leaves {
                so_far.leaving.push(u32::try_from(so_far.at).unwrap_or(u32::MAX));
            }
            if leaves || after.is_dead() {
                so_far.at += node.size as usize;
                continue;
            }
            if let Some(token) = node.token() {
                so_far.within.allow_token(token);
            }
            so_far.path.push(after);
            so_far.at += 1;
        }
        let learnt = Arc::new(Learnt { within: so_far.within, leaving: so_far.leaving });
        let bytes = (learnt.within.as_slice().len() + learnt.leaving.len()) * 4;
        if self.spent.load(Ordering::Relaxed) + bytes <= self.most_bytes {
            self.spent.fetch_add(bytes, Ordering::Relaxed);
            self.own.fetch_add(bytes, Ordering::Relaxed);
            self.states.lock().insert(state, Seen::Learnt(Arc::clone(&learnt)));
        }
        Some(learnt)
    }

    /// The mask of a state, from what was learnt of it and from the tokens that leave the lexeme here.
    fn complete(&self, recognizer: &mut ParserRecognizer<'_>, learnt: &Learnt) -> SimpleVob {
        let nodes = &self.vocabulary.nodes;
        let mut mask = learnt.within.clone();
        recognizer.trie_started("masks");
        // Nodes whose bytes the recognizer has taken, from the root on.
        let mut taken: Vec<u32> = Vec::new();
        let mut way: Vec<u32> = Vec::new();
        for &start in &learnt.leaving {
            way.clear();
            let mut node = start;
            while let Some(parent) = nodes.get(node as usize).and_then(|node| node.parent()) {
                way.push(parent);
                node = parent;
            }
            way.reverse();
            let shared = taken.iter().zip(&way).take_while(|(one, other)| one == other).count();
            recognizer.pop_bytes(taken.len() - shared);
            taken.truncate(shared);
            for &step in &way[shared..] {
                if !recognizer.try_push_byte(nodes[step as usize].byte) {
                    break;
                }
                taken.push(step);
            }
            if taken.len() == way.len() {
                self.below(recognizer, start as usize, &mut mask);
            }
        }
        recognizer.pop_bytes(taken.len());
        recognizer.trie_finished();
        mask
    }

    /// Allows the tokens at and below a node that the grammar takes; the recognizer is left as it was.
    fn below(&self, recognizer: &mut ParserRecognizer<'_>, start: usize, mask: &mut SimpleVob) {
        let nodes = &self.vocabulary.nodes;
        let base = nodes[start].depth;
        let end = start + nodes[start].size as usize;
        let mut taken = 0;
        let mut at = start;
        while at < end {
            let node = &nodes[at];
            let above = (node.depth - base) as usize;
            recognizer.pop_bytes(taken - above);
            taken = above;
            if recognizer.try_push_byte(node.byte) {
                taken += 1;
                if let Some(token) = node.token() {
                    mask.allow_token(token);
                }
                at += 1;
            } else {
                at += node.size as usize;
            }
        }
        recognizer.pop_bytes(taken);
    }
}

impl BiasComputer for Masks {
    fn compute_bias(&self, recognizer: &mut ParserRecognizer<'_>, start: &[u8]) -> SimpleVob {
        if !start.is_empty() {
            return self.plain.compute_bias(recognizer, start);
        }
        let state = recognizer.lexer_state();
        let seen = {
            let mut states = self.states.lock();
            match states.get(&state) {
                Some(Seen::Learnt(learnt)) => Some(Seen::Learnt(Arc::clone(learnt))),
                // Taken out, so that two outputs do not learn it side by side.
                Some(Seen::Costly(_)) => states.remove(&state),
                None => None,
            }
        };
        let learnt = match seen {
            Some(Seen::Learnt(learnt)) => Some(learnt),
            Some(Seen::Costly(so_far)) => self.learn(recognizer, state, so_far),
            None => {
                let before = recognizer.stats_mut().trie_nodes_walked;
                let mask = self.plain.compute_bias(recognizer, start);
                let steps = recognizer.stats_mut().trie_nodes_walked.saturating_sub(before);
                if steps > MANY_STEPS && self.spent.load(Ordering::Relaxed) < self.most_bytes {
                    self.states
                        .lock()
                        .entry(state)
                        .or_insert_with(|| Seen::Costly(Progress::default()));
                }
                return mask;
            }
        };
        match learnt {
            Some(learnt) => self.complete(recognizer, &learnt),
            None => self.plain.compute_bias(recognizer, start),
        }
    }

    fn trie(&self) -> &TokTrie {
        self.plain.trie()
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        self.spent.fetch_sub(self.own.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
