//! Live sequences and where they stand.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use crate::config::SeqId;
use crate::queue::Entry;
use crate::share::Payer;

/// Output tokens for which a running sequence's memory is taken ahead, so that steps need none.
const OUTPUT_AHEAD: usize = 4096;

/// Where a sequence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: the place may be taken by another sequence.
    Gone,
    /// Without slot and blocks, and not in the queue: held, or rows of it are still out.
    Aside,
    /// In the waiting queue.
    Queued,
    /// In a slot.
    Running,
}

/// A sequence. Lengths count tokens from the start of the prompt.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) id: SeqId,
    pub(crate) place: Place,
    /// Prompt and known output.
    pub(crate) tokens: Vec<u32>,
    pub(crate) prompt_len: u32,
    /// Sampled tokens that the host does not know yet.
    pub(crate) pending: u32,
    /// Length at which it certainly ends.
    pub(crate) limit: u32,
    /// KV written by plans that were made, in the blocks it has now.
    pub(crate) computed: u32,
    /// Blocks of its table that are indexed, or were refused by the index.
    pub(crate) indexed: usize,
    /// Rows of it that are out.
    pub(crate) inflight: u32,
    pub(crate) blocks: Vec<u32>,
    /// Names of its full blocks, as far as they were needed.
    pub(crate) hashes: Vec<u128>,
    /// What the first hash is chained to.
    pub(crate) root: u128,
    pub(crate) slot: u32,
    pub(crate) cached: u32,
    /// Length up to which its payer was charged.
    pub(crate) charged: u32,
    pub(crate) since: u64,
    pub(crate) arrival: u64,
    pub(crate) priority: i32,
    pub(crate) payer: Payer,
    pub(crate) read_prefix: bool,
    pub(crate) probe: bool,
    pub(crate) held: bool,
    pub(crate) resumed: bool,
    /// It was admitted because it starved: it is the last to lose its blocks.
    pub(crate) boosted: bool,
}

impl Sequence {
    /// Length with the tokens that are not known yet.
    pub(crate) fn len(&self) -> u32 {
        self.tokens.len() as u32 + self.pending
    }

    /// Takes the memory that it will need while it runs.
    pub(crate) fn reserve(&mut self, block_size: u32) {
        let most = (self.limit as usize).min(self.tokens.len() + OUTPUT_AHEAD);
        let blocks = most.div_ceil(block_size as usize);
        self.tokens.reserve(most - self.tokens.len());
        self.blocks.reserve(blocks);
        self.hashes.reserve(blocks.saturating_sub(self.hashes.len()));
    }

    /// How the waiting queue sees it.
    pub(crate) fn entry(&self, index: u32) -> Entry {
        Entry {
            index,
            since: self.since,
            arrival: self.arrival,
            priority: self.priority,
            payer: self.payer,
            resumed: self.resumed,
        }
    }
}

/// Sequences by place, so that a row finds its own without a search, and by name for calls from outside.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    places: Vec<Sequence>,
    vacant: Vec<u32>,
    names: FxHashMap<SeqId, u32>,
}

impl Sequences {
    pub(crate) fn insert(&mut self, sequence: Sequence) -> u32 {
        let index = self.vacant.pop().unwrap_or(self.places.len() as u32);
        self.names.insert(sequence.id, index);
        match self.places.get_mut(index as usize) {
            Some(place) => *place = sequence,
            None => self.places.push(sequence),
        }
        index
    }

    /// Vacates a place.
    pub(crate) fn remove(&mut self, index: u32) {
        let sequence = &mut self.places[index as usize];
        sequence.place = Place::Gone;
        sequence.tokens = Vec::new();
        sequence.hashes = Vec::new();
        sequence.blocks = Vec::new();
        self.names.remove(&sequence.id);
        self.vacant.push(index);
    }

    pub(crate) fn find(&self, id: SeqId) -> Option<u32> {
        self.names.get(&id).copied()
    }

    /// The sequence at a place if it still is the one of that name.
    pub(crate) fn get(&self, index: u32, id: SeqId) -> Option<&Sequence> {
        self.places.get(index as usize).filter(|it| it.id == id && it.place != Place::Gone)
    }

    /// Live sequences.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Places of all live sequences, in arrival order.
    pub(crate) fn live(&self) -> Vec<u32> {
        let mut live: Vec<u32> = self.names.values().copied().collect();
        live.sort_unstable_by_key(|&index| self[index].arrival);
        live
    }
}

impl Index<u32> for Sequences {
    type Output = Sequence;

    fn index(&self, index: u32) -> &Sequence {
        &self.places[index as usize]
    }
}

impl IndexMut<u32> for Sequences {
    fn index_mut(&mut self, index: u32) -> &mut Sequence {
        &mut self.places[index as usize]
    }
}
