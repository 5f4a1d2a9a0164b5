//! Encoding by segments: the pieces of a text between the added tokens of its raw text.
//!
//! Why a segment's ids depend on nothing but its own text. The `tokenizers` crate encodes in five steps:
//! 1. It finds the added tokens that are not normalised in the raw text and cuts the text there. [`Added`]
//!    finds them where it does.
//! 2. It normalises every piece by itself. A normaliser sees the piece alone; `Prepend` prepends to each.
//! 3. It finds the added tokens that are normalised in each piece.
//! 4. The pre-tokenizer cuts each piece by itself. Of all kinds only `Metaspace` with the scheme `first`
//!    looks at where in the text a piece stands, and only whether it stands first.
//! 5. The model makes ids of each cut by itself.
//!
//! [`Run::encode`] does steps 2 to 5 for one piece that step 1 made, by the crate's own parts, so the flags
//! of added tokens (single word, spaces taken away) need no exception. What is left is the post-processor, which
//! may add tokens only when asked, and models that draw lots. [`Segments::new`] looks for the latter, and encodes
//! samples both ways for whatever else could differ.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tokenizers::normalizer::Range as Of;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{
    AddedToken, Model as _, ModelWrapper, NormalizedString, Normalizer as _, OffsetReferential,
    OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper, Token,
};

use crate::added::{Added, Known};
use crate::cache::{EncodeCache, KeyRef};
use crate::error::TextError;
use crate::plain::Plain;
use crate::tokenizer::Tokenizer;

/// Added tokens that the samples are made of, at most.
const SAMPLED: usize = 24;

/// What encoding by segments needs to know of a tokenizer.
#[derive(Debug)]
pub(crate) struct Segments {
    raw: Added,
    normalized: Added,
    /// By id, up to the last special token.
    special: Vec<bool>,
    /// Distinguishes tokenizers that share a cache.
    owner: u64,
    /// True when the first segment is encoded otherwise than the others.
    first_differs: bool,
    /// True when the segments' ids joined are the text's.
    exact: bool,
}

impl Segments {
    pub(crate) fn new(inner: &tokenizers::Tokenizer) -> Result<Self, TextError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (mut raw, mut normalized, mut special) = (Vec::new(), Vec::new(), Vec::new());
        for (id, token) in inner.get_added_tokens_decoder() {
            if token.special {
                let index = id as usize;
                special.resize(special.len().max(index + 1), false);
                special[index] = true;
            }
            if token.normalized {
                normalized.push((id, normalized_spelling(inner, &token), token));
            } else {
                raw.push((id, token.content.clone(), token));
            }
        }
        let mut segments = Self {
            raw: Added::new(raw)?,
            normalized: Added::new(normalized)?,
            special,
            owner: NEXT.fetch_add(1, Ordering::Relaxed),
            first_differs: inner.get_pre_tokenizer().is_some_and(first_differs),
            exact: true,
        };
        segments.exact = !draws_lots(inner.get_model()) && segments.probe(inner);
        Ok(segments)
    }

    fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    /// Encodes samples whole and by segments.
    fn probe(&self, inner: &tokenizers::Tokenizer) -> bool {
        samples(inner).iter().all(|text| {
            let run = Run { of: self, inner, text, plain: &Plain::default(), cache: None };
            match (run.ids(), inner.encode_fast(text.as_str(), false)) {
                (Ok(ids), Ok(whole)) => whole.get_ids() == ids,
                (Err(_), Err(_)) => true,
                _ => false,
            }
        })
    }
}

/// The encoding of one text.
struct Run<'a> {
    of: &'a Segments,
    inner: &'a tokenizers::Tokenizer,
    text: &'a str,
    /// Where no special token is recognised.
    plain: &'a Plain,
    cache: Option<&'a EncodeCache>,
}

impl Run<'_> {
    /// Step 1, and the segments' ids.
    fn ids(&self) -> tokenizers::Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(self.text.len() / 4 + 1);
        let mut at = 0;
        let allowed = |token: &Known, range| !(token.special && self.plain.overlaps(&range));
        for found in self.of.raw.find(self.text, allowed) {
            self.segment(at..found.range.start, &mut ids)?;
            ids.push(found.id);
            at = found.range.end;
        }
        self.segment(at..self.text.len(), &mut ids)?;
        Ok(ids)
    }

    /// Appends the ids of a segment.
    fn segment(&self, range: Range<usize>, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let before = ids.len();
        self.cached(range.clone(), ids)?;
        // Without a special token among them, there is none to leave out.
        if self.plain.overlaps(&range) && ids[before..].iter().any(|id| self.of.is_special(*id)) {
            ids.truncate(before);
            self.encode(range, self.plain, ids)?;
        }
        Ok(())
    }

    /// Appends the ids of a segment, wherever special tokens come from.
    fn cached(&self, range: Range<usize>, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        let nowhere = Plain::default();
        let Some(cache) = self.cache else { return self.encode(range, &nowhere, ids) };
        let key = KeyRef {
            owner: self.of.owner,
            first: range.start == 0 && self.of.first_differs,
            text: &self.text[range.clone()],
        };
        if let Some(known) = cache.get(key) {
            ids.extend_from_slice(&known);
            return Ok(());
        }
        let before = ids.len();
        self.encode(range, &nowhere, ids)?;
        cache.insert(key, &ids[before..]);
        Ok(())
    }

    /// Steps 2 to 5 for one segment: appends its ids, without special tokens that overlap `plain`.
    fn encode(
        &self,
        range: Range<usize>,
        plain: &Plain,
        ids: &mut Vec<u32>,
    ) -> tokenizers::Result<()> {
        let text = &self.text[range.clone()];
        // Something stands before it, and is cut off again: so the crate tells the first from the others.
        let shift = usize::from(self.of.first_differs && range.start > 0);
        let mut pieces = if shift == 0 {
            PreTokenizedString::from(text)
        } else {
            PreTokenizedString::from(format!(" {text}"))
        };
        // Whether these bytes of a piece or cut, once normalised, are the text's at `plain`.
        let is_plain = |part: &NormalizedString, bytes: Range<usize>| {
            let start = range.start + part.offsets_original().0 - shift;
            part.convert_offsets(Of::Normalized(bytes))
                .is_some_and(|bytes| plain.overlaps(&(start + bytes.start..start + bytes.end)))
        };
        pieces.split(|_, whole| {
            let mut piece = if shift == 0 { whole } else { slice(&whole, shift..whole.len())? };
            if let Some(normalizer) = self.inner.get_normalizer() {
                // The crate goes on with what there is, too.
                let _ = normalizer.normalize(&mut piece);
            }
            self.cut(&piece, &is_plain)
        })?;
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces)?;
        }
        pieces.tokenize(|cut| self.tokens(cut, &is_plain))?;
        for (_, _, tokens) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            ids.extend(tokens.iter().flatten().map(|token| token.id));
        }
        Ok(())
    }

    /// Step 3: cuts a normalised piece at the added tokens that are normalised.
    fn cut(&self, piece: &NormalizedString, is_plain: IsPlain<'_>) -> tokenizers::Result<Vec<Cut>> {
        let text = piece.get();
        let found = self
            .of
            .normalized
            .find(text, |token, range| !(token.special && is_plain(piece, range)));
        let mut cuts = Vec::with_capacity(2 * found.len() + 1);
        let mut at = 0;
        for found in found {
            if at < found.range.start {
                cuts.push((slice(piece, at..found.range.start)?, None));
            }
            at = found.range.end;
            let token = slice(piece, found.range)?;
            let tokens = vec![Token::new(found.id, token.get().to_owned(), (0, token.len()))];
            cuts.push((token, Some(tokens)));
        }
        // A whole piece is sliced, too: the slice begins at the first character that the normaliser left.
        if at < text.len() {
            cuts.push((slice(piece, at..text.len())?, None));
        }
        Ok(cuts)
    }

    /// Step 5: the tokens of a cut. Some models make special tokens of text that spells them; where it is plain
    /// they get it in two parts.
    fn tokens(
        &self,
        cut: &NormalizedString,
        is_plain: IsPlain<'_>,
    ) -> tokenizers::Result<Vec<Token>> {
        let made = self.inner.get_model().tokenize(cut.get())?;
        if self.middles(cut, &made, is_plain).is_empty() {
            return Ok(made);
        }
        let mut tokens = Vec::new();
        // What is left to do, the last part first.
        let mut parts = vec![cut.clone()];
        while let Some(part) = parts.pop() {
            let made = self.inner.get_model().tokenize(part.get())?;
            let middles = self.middles(&part, &made, is_plain);
            if middles.is_empty() {
                tokens.extend(made);
                continue;
            }
            let mut end = part.len();
            for middle in middles.into_iter().rev() {
                parts.push(slice(&part, middle..end)?);
                end = middle;
            }
            parts.push(slice(&part, 0..end)?);
        }
        Ok(tokens)
    }

    /// Where to part `cut` so that the model makes no special token of plain text, rising.
    fn middles(&self, cut: &NormalizedString, made: &[Token], is_plain: IsPlain<'_>) -> Vec<usize> {
        let special = made.iter().filter(|token| self.of.is_special(token.id));
        special
            .filter_map(|token| {
                let (start, end) = token.offsets;
                let spelt = cut.get().get(start..end)?;
                // Not where it stands for what the vocabulary does not know.
                let spells = self.inner.get_model().id_to_token(token.id)? == spelt;
                let middle = start + spelt.chars().next()?.len_utf8();
                (spells && middle < end && is_plain(cut, start..end)).then_some(middle)
            })
            .collect()
    }
}

/// Whether bytes of a normalised string come from where no special token is recognised.
type IsPlain<'a> = &'a dyn Fn(&NormalizedString, Range<usize>) -> bool;

/// A part of a piece, with its token where it is one.
type Cut = (NormalizedString, Option<Vec<Token>>);

impl Tokenizer {
    /// Token ids of `text`, as [`encode(text, false)`](Self::encode) gives them for every text. Pieces of it
    /// between added tokens that `cache` knows cost no more than the look-up, so the next turn of a
    /// conversation costs what is new in it.
    ///
    /// # Errors
    /// [`TextError::Encode`] when the vocabulary cannot express the text.
    pub fn encode_cached(&self, text: &str, cache: &EncodeCache) -> Result<Vec<u32>, TextError> {
        self.encode_plain(text, &[], Some(cache))
    }

    /// Token ids of `text`, as [`encode(text, false)`](Self::encode) gives them, but without any special token
    /// a character of whose spelling is in one of the byte ranges `plain`: there the spelling is text as any
    /// other. Special tokens elsewhere, and added tokens that are not special, are recognised as ever. Ranges
    /// may come in any order, overlap and pass the end. With a `cache`, known pieces cost no more than a
    /// look-up.
    ///
    /// Where `plain` is every range that came from clients (the spans of the prompt that the template did not
    /// write), no special token is recognised that a client wrote any character of, be it by joining its text to
    /// the template's or to another client's, or in a spelling that only the normaliser makes one.
    ///
    /// A special token that takes away the spaces beside it takes them away in `plain`, too. A special token of
    /// one character that is also an ordinary token has one id for both.
    ///
    /// # Errors
    /// [`TextError::Encode`] when the vocabulary cannot express the text.
    pub fn encode_plain(
        &self,
        text: &str,
        plain: &[Range<usize>],
        cache: Option<&EncodeCache>,
    ) -> Result<Vec<u32>, TextError> {
        let plain = Plain::new(plain);
        let segments = self.segments();
        if !segments.exact && !plain.overlaps(&(0..text.len())) {
            return self.encode(text, false);
        }
        let cache = cache.filter(|_| segments.exact);
        Run { of: segments, inner: self.inner(), text, plain: &plain, cache }
            .ids()
            .map_err(|error| TextError::Encode(error.to_string()))
    }

    /// True when texts are encoded by segments, so that a cache helps; false where the tokenizer draws lots,
    /// or its samples came out otherwise by segments.
    #[must_use]
    pub fn segmented(&self) -> bool {
        self.segments().exact
    }
}

fn slice(piece: &NormalizedString, range: Range<usize>) -> tokenizers::Result<NormalizedString> {
    piece.slice(Of::Normalized(range)).ok_or_else(|| "an added token cannot be cut out".into())
}

/// What an added token is looked for as in normalised text.
fn normalized_spelling(inner: &tokenizers::Tokenizer, token: &AddedToken) -> String {
    let mut spelling = NormalizedString::from(token.content.as_str());
    if let Some(normalizer) = inner.get_normalizer()
        && normalizer.normalize(&mut spelling).is_err()
    {
        return token.content.clone();
    }
    spelling.get().to_owned()
}

/// True when the pre-tokenizer cuts the first piece of a text otherwise than the others. The kinds are told one
/// by one: a kind that is new has to be looked at.
fn first_differs(pre_tokenizer: &PreTokenizerWrapper) -> bool {
    match pre_tokenizer {
        PreTokenizerWrapper::Metaspace(metaspace) => {
            metaspace.get_prepend_scheme() == PrependScheme::First
        }
        PreTokenizerWrapper::Sequence(steps) => steps.as_ref().iter().any(first_differs),
        PreTokenizerWrapper::BertPreTokenizer(_)
        | PreTokenizerWrapper::ByteLevel(_)
        | PreTokenizerWrapper::Delimiter(_)
        | PreTokenizerWrapper::Whitespace(_)
        | PreTokenizerWrapper::Split(_)
        | PreTokenizerWrapper::Punctuation(_)
        | PreTokenizerWrapper::WhitespaceSplit(_)
        | PreTokenizerWrapper::Digits(_)
        | PreTokenizerWrapper::UnicodeScripts(_)
        | PreTokenizerWrapper::FixedLength(_) => false,
    }
}

/// True when a text's ids are not the same every time.
fn draws_lots(model: &ModelWrapper) -> bool {
    match model {
        ModelWrapper::BPE(bpe) => bpe.dropout.is_some_and(|part| part > 0.0),
        ModelWrapper::Unigram(unigram) => unigram.alpha.is_some_and(|alpha| alpha != 0.0),
        ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) => false,
    }
}

/// Texts with added tokens first, last, alone, side by side and between words.
fn samples(inner: &tokenizers::Tokenizer) -> Vec<String> {
    let added = inner.get_added_tokens_decoder();
    let mut spellings: Vec<&str> = added.values().map(|token| token.content.as_str()).collect();
    spellings.sort_unstable();
    let step = spellings.len() / SAMPLED + 1;
    let parts = ["a", " Word one", "  two\n\n", "é 日本 😀", "\t3.14 ", "don't", " ", ""];
    let mut texts = vec![String::new(), parts.concat()];
    for (index, spelling) in spellings.iter().step_by(step).enumerate() {
        let [before, after] = [index, index + 1].map(|at| parts[at % parts.len()]);
        texts.push(format!("{before}{spelling}{after}{spelling}{spelling}"));
    }
    let all = texts.concat();
    texts.push(all);
    texts
}
