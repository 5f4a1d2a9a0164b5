//! Compiles grammar sources, and keeps what it compiled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use llguidance::api::{GrammarWithLexer, ParserLimits, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{ParserFactory, TokenParser};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::limits::Limits;
use crate::masks::Masks;
use crate::matcher::{MatchError, Matcher, first_line, guarded};
use crate::source::Source;
use crate::vocabulary::{Vocabulary, words};

/// Bytes of the stack that compiling has.
const COMPILE_STACK: usize = 512 << 20;

/// Tokens that are allowed or not as one, where names are written: most of a vocabulary.
const NAMES: &str = "[a-zA-Z0-9]{1,12}";

/// A grammar source that the engine cannot use: too large, or contradictory in a way that only compiling shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct CompileError {
    /// The field of the request that the source came from.
    pub param: String,
    /// What is wrong with it.
    pub message: String,
}

/// Compiles sources for one vocabulary. Share it between threads in an [`Arc`].
pub struct Factory {
    parsers: ParserFactory,
    vocabulary: Arc<Vocabulary>,
    limits: Limits,
    kept: Mutex<Kept>,
    /// Bytes of masks that compiled grammars keep.
    spent: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Factory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Factory")
            .field("vocabulary", &self.vocabulary)
            .finish_non_exhaustive()
    }
}

/// A compiled grammar at the start of an output.
#[derive(Clone)]
struct Compiled {
    parser: TokenParser,
    /// With the first mask computed, which every output under the grammar begins with.
    start: Matcher,
}

/// Compiled grammars, the one used last at the back. Clones of a kept parser share its lexer, so that what one output
/// computed need not be computed by the next.
#[derive(Default)]
struct Kept {
    parsers: FxHashMap<Arc<Source>, Compiled>,
    order: VecDeque<Arc<Source>>,
}

impl Factory {
    /// # Errors
    /// [`CompileError`] when the vocabulary cannot be prepared; it is a fault of the model's files.
    pub fn new(vocabulary: Arc<Vocabulary>, limits: Limits) -> Result<Self, CompileError> {
        let mut slices = SlicedBiasComputer::general_slices();
        slices.push(NAMES.to_owned());
        let parsers = guarded(|| {
            ParserFactory::new(&vocabulary.env, InferenceCapabilities::default(), &slices)
        });
        let mut parsers = parsers.map_err(|error| failed("model", &reason(error)))?;
        parsers.quiet();
        *parsers.limits_mut() = parser_limits(&limits);
        Ok(Self { parsers, vocabulary, limits, kept: Mutex::default(), spent: Arc::default() })
    }

    /// Compiles a source, or finds it compiled, and gives the state of an output that has not begun. It may take
    /// tens of milliseconds: call it on a worker thread.
    ///
    /// # Errors
    /// [`CompileError`] names the field and what is wrong; the request is at fault.
    pub fn compile(&self, source: &Source) -> Result<Matcher, CompileError> {
        let found = self.kept.lock().find(source, &self.limits);
        if let Some(compiled) = found {
            return Ok(compiled.start);
        }
        let mut parser = self.parse(source)?;
        if self.limits.mask_bytes > 0 {
            let (plain, spent) = (Arc::clone(&parser.bias_computer), Arc::clone(&self.spent));
            let masks =
                Masks::new(plain, Arc::clone(&self.vocabulary), spent, self.limits.mask_bytes);
            parser.bias_computer = Arc::new(masks);
        }
        let started =
            Matcher::new(parser.clone(), Arc::clone(&self.vocabulary)).and_then(|mut start| {
                start.fill(&mut vec![0; words(self.vocabulary.size())])?;
                Ok(start)
            });
        let start = started.map_err(|error| {
            let why = reason(error);
            failed(
                &source.field,
                &format!("no text satisfies the grammar, or it is too large ({why})"),
            )
        })?;
        let compiled = Compiled { parser, start: start.clone() };
        self.kept.lock().keep(Arc::new(source.clone()), compiled, &self.limits);
        Ok(start)
    }

    /// How many compiled grammars are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.lock().parsers.len()
    }

    fn parse(&self, source: &Source) -> Result<TokenParser, CompileError> {
        let mut grammars = vec![GrammarWithLexer::from_lark(source.lark.clone())];
        grammars.extend(source.parts.iter().map(|(name, lark)| GrammarWithLexer {
            name: Some(name.clone()),
            lark_grammar: Some(lark.clone()),
            json_schema: None,
        }));
        let grammar = TopLevelGrammar { grammars, max_tokens: None };
        // Compiling recurses as deep as a grammar's rules refer to each other: a stack of its own, which takes memory
        // only as far as it is used, cannot overflow within the limits on a source's size.
        let built = std::thread::scope(|scope| {
            let builder =
                std::thread::Builder::new().name("grammar".to_owned()).stack_size(COMPILE_STACK);
            match builder.spawn_scoped(scope, || guarded(|| self.parsers.create_parser(grammar))) {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Err(MatchError::Stuck("it panicked".to_owned()))),
                Err(error) => Err(MatchError::Stuck(format!("no thread to compile on: {error}"))),
            }
        });
        built.map_err(|error| failed(&source.field, &reason(error)))
    }
}

fn reason(error: MatchError) -> String {
    match error {
        MatchError::Stuck(reason) => reason,
        other => other.to_string(),
    }
}

fn failed(param: &str, message: &str) -> CompileError {
    CompileError { param: param.to_owned(), message: first_line(message) }
}

fn parser_limits(limits: &Limits) -> ParserLimits {
    ParserLimits {
        max_items_in_row: limits.items_in_row,
        initial_lexer_fuel: limits.compile_fuel,
        step_lexer_fuel: limits.step_fuel,
        step_max_items: limits.step_items,
        max_lexer_states: limits.lexer_states,
        max_grammar_size: limits.grammar_size,
        precompute_large_lexemes: true,
        // An error names the fault; a dump of the parser is for nobody who reads it.
        verbose_errors: false,
    }
}

impl Kept {
    /// A clone of the parser kept for this source. One whose lexer failed or grew large is let go.
    fn find(&mut self, source: &Source, limits: &Limits) -> Option<Compiled> {
        let compiled = self.parsers.get(source)?;
        let at = self.order.iter().position(|other| **other == *source)?;
        if bytes(compiled).is_none_or(|bytes| bytes > limits.kept_bytes / 8) {
            self.parsers.remove(source);
            self.order.remove(at);
            return None;
        }
        let compiled = compiled.clone();
        let name = self.order.remove(at)?;
        self.order.push_back(name);
        Some(compiled)
    }

    fn keep(&mut self, source: Arc<Source>, compiled: Compiled, limits: &Limits) {
        if self.parsers.insert(Arc::clone(&source), compiled).is_none() {
            self.order.push_back(source);
        }
        let mut total: usize = self.parsers.values().filter_map(bytes).sum();
        while self.order.len() > limits.kept_grammars
            || (total > limits.kept_bytes && self.order.len() > 1)
        {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(compiled) = self.parsers.remove(&oldest) {
                total = total.saturating_sub(bytes(&compiled).unwrap_or_default());
            }
        }
    }
}

/// Bytes of a parser's lexer, which grows with use; none when it failed.
fn bytes(compiled: &Compiled) -> Option<usize> {
    let stats = guarded(|| Ok::<_, String>(compiled.parser.parser.lexer_stats())).ok()?;
    (!stats.error).then_some(stats.num_bytes)
}
