//! The environment that transformers gives a chat template.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, escape_formatter};

use crate::error::invalid;
use crate::{budget, registry, repr};

/// Name that the one template of an environment has.
pub(crate) const NAME: &str = "chat_template";

/// Nested calls, blocks and loops: what a render may use of the stack.
const MAX_RECURSION: usize = 256;

/// An environment without templates.
pub(crate) fn environment() -> Environment<'static> {
    let mut env = Environment::empty();
    // White space is dealt with before the engine sees the source.
    let mut syntax = env.syntax().to_builder();
    syntax.keep_trailing_newline(true);
    if let Ok(syntax) = syntax.build() {
        env.set_syntax(syntax);
    }
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_recursion_limit(MAX_RECURSION);
    env.set_formatter(|out, state, value| {
        if let Some(text) = value.as_str() {
            budget::spend(text.len())?;
            return out.write_str(text).map_err(|_| invalid("the output cannot be written"));
        }
        if repr::needs_own(value) {
            let text = repr::text(state, value)?;
            return out.write_str(&text).map_err(|_| invalid("the output cannot be written"));
        }
        budget::spend(8)?;
        escape_formatter(out, state, value)
    });
    registry::fill(&mut env);
    env
}
