//! Provenance of a prompt: which of its characters came from which part of the request.
//!
//! The conversation is rendered once more with every character of it replaced by a code point that stands for
//! the character and its origin ([`taint`]). Text that is concatenated, sliced and printed carries these along;
//! whatever decides or computes sees the text without marks ([`marks`]), so the template takes the same path as
//! before; what filters and methods make of a text gets its marks back ([`operations`]). Taking the marks off the outcome must give the prompt again: if it does not, fewer parts of the
//! input are marked at a time, and those that cannot be followed are looked up in the prompt and said to be
//! derived.

mod input;
pub(crate) mod marks;
mod operations;
mod search;
mod span;
mod taint;
mod value;

use std::sync::Arc;
use std::time::{Duration, Instant};

use minijinja::Environment;
use minijinja::value::Value;

use crate::budget::Limits;
use crate::environment::{NAME, environment};
use crate::error::{self, TemplateError};
use crate::render::{Prepared, RenderInput, Template, context, run};
use crate::{functions, source};

use input::{Context, Unit};
use marks::Marking;
pub use span::{Origin, Part, Span, Traced};
pub(crate) use taint::{Tag, Taint};
pub(crate) use value::{Marked, marked, marked_keys};

/// Marked renders that one trace may take.
const MAX_PASSES: u64 = 32;
/// Steps that these may take together, but for the first two.
const MAX_STEPS: u64 = 50_000_000;
/// A marked render may take so many times the steps and bytes of a plain one: its text is up to four times as
/// long, and text is looked into twice.
const FACTOR: u32 = 8;

impl Template {
    /// The prompt with the origin of each of its characters. `strftime_now` reads the local clock.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn trace(&self, input: &RenderInput) -> Result<Traced, TemplateError> {
        // The clock must not tick between the renders.
        self.trace_at(input, functions::local_seconds())
    }

    /// As [`trace`](Self::trace), with the clock at `seconds` since 1970 as the local wall clock shows them.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn trace_at(&self, input: &RenderInput, seconds: i64) -> Result<Traced, TemplateError> {
        let prepared = self.prepare(input)?;
        let variables = context(&prepared.messages, input, Some(seconds));
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let plain = Context::new(owned);
        let (rendered, steps) =
            run(self.env(), Value::from_dyn_object(plain.clone()), prepared.fuel, self.limits())?;
        let text = prepared.finish(rendered.clone())?;
        let limits = marked_limits(self.limits(), prepared.fuel);
        let mut env = environment();
        env.set_fuel(Some(limits.fuel_most));
        env.add_template_owned(NAME, source::traced(self.source())?)
            .map_err(|error| error::syntax(&error))?;
        let trace = Trace {
            env,
            end: Instant::now().checked_add(limits.deadline),
            limits,
            source: self.source(),
            prepared: &prepared,
            input,
            variables,
            rendered: &rendered,
            max_passes: (MAX_STEPS / steps.max(1)).clamp(2, MAX_PASSES),
        };
        let origins = trace.origins();
        let spans = span::join(&text, &origins);
        let mut used = plain.used();
        used.retain(|name| input.kwargs.contains_key(name));
        Ok(Traced {
            exact: spans.iter().all(|span| !span.derived),
            spans,
            text,
            used: used.into_iter().collect(),
        })
    }
}

/// What the marked renders of a trace may use, of which the plain one may take `fuel` steps.
fn marked_limits(limits: &Limits, fuel: u64) -> Limits {
    let more = |bytes: usize| bytes.saturating_mul(FACTOR as usize);
    Limits {
        fuel_most: fuel.saturating_mul(FACTOR.into()),
        deadline: limits.deadline.saturating_mul(FACTOR),
        output: more(limits.output),
        memory: more(limits.memory),
        ..*limits
    }
}

/// What the marked renders of one trace have in common.
struct Trace<'a> {
    /// With the template written so that it asks of marks.
    env: Environment<'static>,
    limits: Limits,
    /// When the marked renders must have ended.
    end: Option<Instant>,
    /// The template's text.
    source: &'a str,
    prepared: &'a Prepared,
    input: &'a RenderInput,
    variables: Vec<(&'a str, Value)>,
    /// The render without marks, before it is cut.
    rendered: &'a str,
    max_passes: u64,
}

/// The origin of a character and whether it is derived, once it is known.
type Found = Option<(Origin, bool)>;

impl Trace<'_> {
    /// The origin of each character of the render, and whether it is derived.
    fn origins(&self) -> Vec<(Origin, bool)> {
        let messages = &self.prepared.messages;
        let mut found: Vec<Found> = vec![None; self.rendered.chars().count()];
        let mut lost = Vec::new();
        let mut open = vec![input::units(messages, self.input)];
        let mut passes = 0;
        while let Some(units) = open.pop() {
            if units.is_empty() {
                continue;
            }
            passes += 1;
            let marks = if passes > self.max_passes { None } else { self.pass(&units) };
            match marks {
                Some(marks) => {
                    for (place, mark) in found.iter_mut().zip(marks) {
                        *place = place.take().or(mark);
                    }
                }
                None if units.len() == 1 || passes > self.max_passes => lost.extend(units),
                None => {
                    let (first, second) = units.split_at(units.len() / 2);
                    open.extend([second.to_vec(), first.to_vec()]);
                }
            }
        }
        search::fill(&mut found, self.rendered, &lost, messages, self.input);
        let rest = (Origin::Template, !lost.is_empty());
        found.into_iter().map(|place| place.unwrap_or_else(|| rest.clone())).collect()
    }

    /// A render with `units` marked: the origin of each character, or nothing if it is another prompt then.
    fn pass(&self, units: &[Unit]) -> Option<Vec<Found>> {
        let (messages, input) = (&self.prepared.messages, self.input);
        let strings = search::texts(messages, input);
        let texts = strings.into_iter().chain([self.rendered, self.source]);
        let taint = Arc::new(Taint::new(texts));
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        let limits = Limits { deadline: left.unwrap_or(Duration::MAX), ..self.limits };
        let variables = input::mark(&taint, units, messages, input, &self.variables);
        let context = Value::from_dyn_object(Context::new(variables.into_iter()));
        let marking = Marking::start(taint.clone());
        let marked = run(&self.env, context, limits.fuel_most, &limits).ok()?.0;
        drop(marking);
        if taint.is_full() || taint.plain(&marked) != self.rendered {
            return None;
        }
        let glyphs = taint.glyphs(&marked);
        Some(
            glyphs
                .iter()
                .map(|glyph| glyph.tag.map(|tag| (taint.origin(tag), tag.derived)))
                .collect(),
        )
    }
}
