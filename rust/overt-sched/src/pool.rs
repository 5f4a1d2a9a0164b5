//! The KV block pool: free blocks, blocks in use with their reference counts, and computed blocks kept for reuse.

use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Block {
    /// What an indexed block holds.
    hash: Option<u128>,
    refs: u32,
    /// Neighbours in the order of reuse, while nobody holds the block.
    older: u32,
    newer: u32,
}

const EMPTY: Block = Block { hash: None, refs: 0, older: NONE, newer: NONE };

/// Blocks `1..=total`. Each is free, used (someone holds it) or cached (indexed and held by nobody).
#[derive(Debug)]
pub(crate) struct Pool {
    blocks: Vec<Block>,
    free: Vec<u32>,
    index: FxHashMap<u128, u32>,
    oldest: u32,
    newest: u32,
    cached: u32,
    total: u32,
    releases: u64,
}

impl Pool {
    pub(crate) fn new(total: u32) -> Self {
        let mut pool = Self {
            blocks: vec![EMPTY; total as usize + 1],
            free: Vec::with_capacity(total as usize),
            index: FxHashMap::default(),
            oldest: NONE,
            newest: NONE,
            cached: 0,
            total,
            releases: 0,
        };
        pool.clear();
        pool
    }

    /// Forgets everything: all blocks are free and nothing is indexed.
    pub(crate) fn clear(&mut self) {
        self.blocks.fill(EMPTY);
        self.free.clear();
        // Popped from the end: low numbers first.
        self.free.extend((1..=self.total).rev());
        self.index.clear();
        (self.oldest, self.newest, self.cached) = (NONE, NONE, 0);
        self.releases += 1;
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn cached(&self) -> u32 {
        self.cached
    }

    pub(crate) fn used(&self) -> u32 {
        self.total - self.available()
    }

    /// Blocks that can be allocated, cached ones included.
    pub(crate) fn available(&self) -> u32 {
        self.free.len() as u32 + self.cached
    }

    /// Grows whenever a block became available.
    pub(crate) fn releases(&self) -> u64 {
        self.releases
    }

    /// Takes a block nobody holds, the cached one that was unused longest when none is free.
    pub(crate) fn alloc(&mut self) -> Option<u32> {
        let block = if let Some(block) = self.free.pop() {
            block
        } else {
            let block = self.oldest;
            if block == NONE {
                return None;
            }
            self.unlink(block);
            if let Some(hash) = self.blocks[block as usize].hash.take() {
                self.index.remove(&hash);
            }
            block
        };
        self.blocks[block as usize].refs = 1;
        Some(block)
    }

    /// The block that holds what `hash` names.
    pub(crate) fn find(&self, hash: u128) -> Option<u32> {
        self.index.get(&hash).copied()
    }

    /// Whether nobody holds the block.
    pub(crate) fn is_idle(&self, block: u32) -> bool {
        self.blocks[block as usize].refs == 0
    }

    /// Holds a block found by its hash.
    pub(crate) fn share(&mut self, block: u32) {
        if self.is_idle(block) {
            self.unlink(block);
        }
        self.blocks[block as usize].refs += 1;
    }

    /// Gives a held block back.
    pub(crate) fn release(&mut self, block: u32) {
        let entry = &mut self.blocks[block as usize];
        entry.refs -= 1;
        if entry.refs > 0 {
            return;
        }
        self.releases += 1;
        if entry.hash.is_some() {
            self.link(block);
        } else {
            self.free.push(block);
        }
    }

    /// Indexes a full, computed block. Of two that hold the same, the first stays the indexed one.
    pub(crate) fn publish(&mut self, block: u32, hash: u128) {
        if self.blocks[block as usize].hash.is_none() && !self.index.contains_key(&hash) {
            self.index.insert(hash, block);
            self.blocks[block as usize].hash = Some(hash);
        }
    }

    fn link(&mut self, block: u32) {
        let before = self.newest;
        let entry = &mut self.blocks[block as usize];
        (entry.older, entry.newer) = (before, NONE);
        match before {
            NONE => self.oldest = block,
            _ => self.blocks[before as usize].newer = block,
        }
        self.newest = block;
        self.cached += 1;
    }

    fn unlink(&mut self, block: u32) {
        let Block { older, newer, .. } = self.blocks[block as usize];
        match older {
            NONE => self.oldest = newer,
            _ => self.blocks[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.blocks[newer as usize].older = older,
        }
        self.cached -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pool: &Pool) -> (u32, u32, u32) {
        (pool.free.len() as u32, pool.used(), pool.cached())
    }

    #[test]
    fn a_pool_hands_out_each_block_once() {
        let mut pool = Pool::new(3);
        let mut got: Vec<u32> = std::iter::from_fn(|| pool.alloc()).collect();
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3]);
        assert_eq!(counts(&pool), (0, 3, 0));
        assert_eq!(pool.alloc(), None);
    }

    #[test]
    fn indexed_blocks_stay_until_they_are_needed_and_the_oldest_goes_first() {
        let mut pool = Pool::new(3);
        for hash in [10, 20, 30] {
            let block = pool.alloc().unwrap();
            pool.publish(block, hash);
        }
        for block in [2, 1, 3] {
            pool.release(block);
        }
        assert_eq!(counts(&pool), (0, 0, 3));
        // Reading a block makes it the newest again.
        pool.share(2);
        pool.release(2);
        assert_eq!([pool.alloc(), pool.alloc(), pool.alloc()], [Some(1), Some(3), Some(2)]);
        assert_eq!([pool.find(10), pool.find(20), pool.find(30)], [None, None, None]);
    }

    #[test]
    fn a_shared_block_is_used_once_and_freed_by_its_last_holder() {
        let mut pool = Pool::new(2);
        let block = pool.alloc().unwrap();
        pool.publish(block, 7);
        pool.share(pool.find(7).unwrap());
        assert_eq!(counts(&pool), (1, 1, 0));
        pool.release(block);
        assert_eq!(counts(&pool), (1, 1, 0));
        pool.release(block);
        assert_eq!(counts(&pool), (1, 0, 1));
    }

    #[test]
    fn of_two_equal_blocks_one_is_indexed() {
        let mut pool = Pool::new(2);
        let (first, second) = (pool.alloc().unwrap(), pool.alloc().unwrap());
        pool.publish(first, 7);
        pool.publish(second, 7);
        assert_eq!(pool.find(7), Some(first));
        pool.release(second);
        assert_eq!(counts(&pool), (1, 1, 0));
    }

    #[test]
    fn clear_frees_all() {
        let mut pool = Pool::new(2);
        let block = pool.alloc().unwrap();
        pool.publish(block, 7);
        pool.clear();
        assert_eq!((counts(&pool), pool.find(7)), ((2, 0, 0), None));
    }
}
