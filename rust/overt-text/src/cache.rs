//! Ids of text that was encoded before.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};

/// Bytes of a cache that says nothing else.
const DEFAULT_BYTES: u64 = 64 << 20;

/// What an entry costs beside its text and ids, about.
const ENTRY_BYTES: u64 = 128;

/// Each has its lock and its share of the bytes, which bounds the entries it takes.
const SHARDS: usize = 8;

/// Ids of pieces of text, for [`Tokenizer::encode_cached`](crate::Tokenizer::encode_cached). Threads and
/// tokenizers may share one. It is bounded in bytes; what was not asked for again goes first.
pub struct EncodeCache {
    entries: Cache<Key, Arc<[u32]>, Bytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What an [`EncodeCache`] did and holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeCacheStats {
    /// Pieces of text whose ids were there.
    pub hits: u64,
    /// Pieces of text that had to be encoded.
    pub misses: u64,
    /// Bytes that the entries take, about.
    pub bytes: u64,
    /// Number of entries.
    pub entries: usize,
}

/// Whose ids, and of what: compared in full.
#[derive(Hash, PartialEq, Eq)]
pub(crate) struct Key {
    owner: u64,
    first: bool,
    text: Box<str>,
}

/// A [`Key`] to look up. Hashes as it does: the same fields in the same order.
#[derive(Hash, Clone, Copy)]
pub(crate) struct KeyRef<'a> {
    /// The tokenizer.
    pub(crate) owner: u64,
    /// True where that the text stands first makes a difference.
    pub(crate) first: bool,
    pub(crate) text: &'a str,
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        (self.owner, self.first, self.text) == (key.owner, key.first, &*key.text)
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<[u32]>> for Bytes {
    fn weight(&self, key: &Key, ids: &Arc<[u32]>) -> u64 {
        ENTRY_BYTES + key.text.len() as u64 + size_of_val::<[u32]>(ids) as u64
    }
}

impl EncodeCache {
    /// A cache of at most about `bytes`; an entry may take an eighth of them. With 0 nothing is kept.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let entries = usize::try_from(bytes / 1024).unwrap_or(usize::MAX).clamp(SHARDS, 1 << 20);
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .weight_capacity(bytes)
            .estimated_items_capacity(entries)
            .build();
        let entries = match options {
            Ok(options) => Cache::with_options(
                options,
                Bytes,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            // Only where one of the two capacities is not given.
            Err(_) => Cache::with_weighter(entries, bytes, Bytes),
        };
        Self { entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// What it did since it was made, and holds now.
    #[must_use]
    pub fn stats(&self) -> EncodeCacheStats {
        EncodeCacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.entries.weight(),
            entries: self.entries.len(),
        }
    }

    pub(crate) fn get(&self, key: KeyRef<'_>) -> Option<Arc<[u32]>> {
        let ids = self.entries.get(&key);
        let counter = if ids.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        ids
    }

    pub(crate) fn insert(&self, key: KeyRef<'_>, ids: &[u32]) {
        let KeyRef { owner, first, text } = key;
        self.entries.insert(Key { owner, first, text: text.into() }, ids.into());
    }
}

impl Default for EncodeCache {
    /// Of 64 MiB.
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl std::fmt::Debug for EncodeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodeCache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
