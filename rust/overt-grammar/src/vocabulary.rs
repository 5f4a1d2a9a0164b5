//! The model's vocabulary as the bytes each token stands for, in the shape that masks are computed from.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

/// Longest token, in bytes, that a grammar may use; longer ones (runs of spaces, as a rule) are never allowed.
const LONGEST_TOKEN: usize = 1000;
/// Token ids are stored in 24 bits.
const MOST_TOKENS: usize = (1 << 24) - 2;

/// Why a vocabulary cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyError {
    /// It has no token, or more than can be told apart.
    #[error("the vocabulary has {0} tokens; 1 to {MOST_TOKENS} are supported")]
    Size(usize),
    /// No token ends the output, so a grammar could never end.
    #[error("the vocabulary names no token that ends the output")]
    NoEnd,
    /// A token that ends the output is not in the vocabulary.
    #[error("token {0}, which ends the output, is not among the {1} tokens of the vocabulary")]
    EndOutOfRange(u32, usize),
}

/// Which bytes each token stands for, which tokens are special, and which end the output.
pub struct Vocabulary {
    pub(crate) env: TokEnv,
    /// Tokens whose bytes another token has as well, and that other token's id.
    pub(crate) twins: FxHashMap<u32, u32>,
    pub(crate) ends: Vec<u32>,
    /// The tree of all tokens' bytes, each node before those below it.
    pub(crate) nodes: Vec<Node>,
    size: usize,
}

/// A byte at the end of a path from the root, which has no node.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) byte: u8,
    /// Bytes on the path to it, itself included.
    pub(crate) depth: u16,
    /// Nodes from it to the last below it.
    pub(crate) size: u32,
    parent: u32,
    token: u32,
}

impl Node {
    const NONE: u32 = u32::MAX;

    /// The token whose bytes are the path to here.
    pub(crate) fn token(&self) -> Option<u32> {
        (self.token != Self::NONE).then_some(self.token)
    }

    /// The node above, if it is not the root.
    pub(crate) fn parent(&self) -> Option<u32> {
        (self.parent != Self::NONE).then_some(self.parent)
    }
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Vocabulary")
            .field("size", &self.size)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// Takes the tokens in order of their ids: the bytes a token adds to the text, and for a special token its
    /// spelling. Special tokens stand for no text: only a rule that names one allows it. A token with neither bytes
    /// nor spelling (a gap in the ids) is never allowed. `ends` are the ids that end the output.
    ///
    /// # Errors
    /// [`VocabularyError`] when there are no tokens, too many, or no usable id in `ends`.
    pub fn new(
        tokens: impl Iterator<Item = (Vec<u8>, Option<String>)>,
        ends: &[u32],
    ) -> Result<Self, VocabularyError> {
        let mut words = Vec::new();
        let mut seen = FxHashMap::default();
        let mut twins = FxHashMap::default();
        for (id, (bytes, special)) in (0_u32..).zip(tokens) {
            let ends_output = ends.contains(&id);
            let word = match special {
                Some(spelling) => marked(spelling.as_bytes()),
                None if ends_output => marked(&bytes),
                // Text never holds the byte that marks special tokens: it occurs in no UTF-8.
                None if bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER)
                    || bytes.len() > LONGEST_TOKEN =>
                {
                    Vec::new()
                }
                None => bytes,
            };
            if !word.is_empty() {
                if let Some(&first) = seen.get(&word) {
                    twins.insert(id, first);
                    words.push(Vec::new());
                    continue;
                }
                seen.insert(word.clone(), id);
            }
            words.push(word);
        }
        let size = words.len();
        if size == 0 || size > MOST_TOKENS {
            return Err(VocabularyError::Size(size));
        }
        let Some(&first) = ends.first() else { return Err(VocabularyError::NoEnd) };
        if let Some(&id) = ends.iter().find(|id| **id as usize >= size) {
            return Err(VocabularyError::EndOutOfRange(id, size));
        }
        // Checked above to fit.
        let info = TokRxInfo::new(u32::try_from(size).unwrap_or(u32::MAX), first);
        let nodes = tree(&words);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(ends);
        // Forced text is left to the model to cut into tokens, so greedy cuts are good enough here.
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        Ok(Self { env, twins, ends: ends.to_vec(), nodes, size })
    }

    /// How many ids there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes that a token adds to the text; nothing for special tokens and ids out of range.
    #[must_use]
    pub fn bytes(&self, token: u32) -> &[u8] {
        let token = self.twins.get(&token).copied().unwrap_or(token);
        if token as usize >= self.size {
            return &[];
        }
        match self.env.tok_trie().token(token) {
            [TokTrie::SPECIAL_TOKEN_MARKER, ..] => &[],
            bytes => bytes,
        }
    }
}

fn tree(words: &[Vec<u8>]) -> Vec<Node> {
    let mut sorted: Vec<(u32, &[u8])> = (0..).zip(words.iter().map(Vec::as_slice)).collect();
    sorted.sort_unstable_by_key(|(_, word)| *word);
    let mut nodes: Vec<Node> = Vec::new();
    // The nodes along the path of the word before.
    let mut path: Vec<u32> = Vec::new();
    let mut before: &[u8] = &[];
    for (token, word) in sorted {
        let shared = before.iter().zip(word).take_while(|(one, other)| one == other).count();
        path.truncate(shared);
        for (depth, byte) in (1..).zip(word).skip(shared) {
            let parent = path.last().copied().unwrap_or(Node::NONE);
            path.push(u32::try_from(nodes.len()).unwrap_or(Node::NONE));
            nodes.push(Node { byte: *byte, depth, size: 1, parent, token: Node::NONE });
        }
        if let Some(last) = path.last().and_then(|last| nodes.get_mut(*last as usize)) {
            last.token = token;
        }
        before = word;
    }
    for at in (0..nodes.len()).rev() {
        let Node { size, parent, .. } = nodes[at];
        if let Some(above) = nodes.get_mut(parent as usize) {
            above.size += size;
        }
    }
    nodes
}

fn marked(spelling: &[u8]) -> Vec<u8> {
    let mut word = vec![TokTrie::SPECIAL_TOKEN_MARKER];
    word.extend_from_slice(&spelling[..spelling.len().min(LONGEST_TOKEN)]);
    word
}

/// How many 32-bit words a mask over `vocab_size` tokens takes.
#[must_use]
pub const fn words(vocab_size: usize) -> usize {
    vocab_size.div_ceil(32)
}
