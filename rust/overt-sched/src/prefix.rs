//! Names of cached blocks: a chain of keyed 128-bit hashes over a block's tokens and all before them.

/// Hashes blocks with a secret. Each hash names a whole prefix and its salt, so equal hashes mean equal KV.
#[derive(Debug)]
pub(crate) struct Hasher {
    secret: [u8; 16],
    block_size: usize,
    bytes: Vec<u8>,
}

impl Hasher {
    /// `block_size` is at least 1.
    pub(crate) fn new(seed: u64, block_size: u32) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let secret = truncate(&blake3::keyed_hash(&key, b"prefix cache")).to_le_bytes();
        Self {
            secret,
            block_size: block_size as usize,
            bytes: Vec::with_capacity(block_size as usize * 4),
        }
    }

    /// What the first block of a sequence of this salt is chained to.
    pub(crate) fn root(&self, salt: u64) -> u128 {
        truncate(&blake3::keyed_hash(&self.key(0), &salt.to_le_bytes()))
    }

    /// Extends `hashes` (one a full block from the start of `tokens`) to `count` blocks, never redoing one. Stops
    /// early where `tokens` has no further full block.
    pub(crate) fn extend(
        &mut self,
        hashes: &mut Vec<u128>,
        root: u128,
        tokens: &[u32],
        count: usize,
    ) {
        let done = hashes.len();
        let blocks = tokens.chunks_exact(self.block_size).take(count).skip(done);
        let mut parent = hashes.last().copied().unwrap_or(root);
        for block in blocks {
            self.bytes.clear();
            self.bytes.extend(block.iter().flat_map(|token| token.to_le_bytes()));
            parent = truncate(&blake3::keyed_hash(&self.key(parent), &self.bytes));
            hashes.push(parent);
        }
    }

    /// The parent stands in the key, so that a block of 16 tokens fills one compression.
    fn key(&self, parent: u128) -> [u8; 32] {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&parent.to_le_bytes());
        key[16..].copy_from_slice(&self.secret);
        key
    }
}

fn truncate(hash: &blake3::Hash) -> u128 {
    hash.as_bytes()[..16].iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(seed: u64, salt: u64, tokens: &[u32]) -> Vec<u128> {
        let mut hasher = Hasher::new(seed, 2);
        let root = hasher.root(salt);
        let mut hashes = Vec::new();
        hasher.extend(&mut hashes, root, tokens, usize::MAX);
        hashes
    }

    #[test]
    fn only_full_blocks_are_named_and_the_last_of_equal_blocks_differs_by_what_came_before() {
        let hashes = chain(1, 0, &[5, 6, 5, 6, 9]);
        assert_eq!(hashes.len(), 2);
        assert_ne!(hashes[0], hashes[1]);
        assert_eq!(chain(1, 0, &[5, 6, 5, 7])[0], hashes[0]);
        assert_ne!(chain(1, 0, &[5, 6, 5, 7])[1], hashes[1]);
        assert_ne!(chain(1, 0, &[4, 6, 5, 6])[1], hashes[1]);
    }

    #[test]
    fn salt_and_seed_part_the_names() {
        let tokens = [5, 6];
        assert_ne!(chain(1, 0, &tokens), chain(1, 1, &tokens));
        assert_ne!(chain(1, 0, &tokens), chain(2, 0, &tokens));
    }

    #[test]
    fn extending_step_by_step_gives_the_whole_chain() {
        let tokens: Vec<u32> = (0..20).collect();
        let mut hasher = Hasher::new(1, 2);
        let root = hasher.root(3);
        let mut hashes = Vec::new();
        for count in [0, 3, 3, 7, 40] {
            hasher.extend(&mut hashes, root, &tokens, count);
            assert_eq!(hashes.len(), count.min(10));
        }
        assert_eq!(hashes, chain(1, 3, &tokens));
    }
}
