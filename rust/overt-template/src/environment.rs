//! The environment that transformers gives a chat template.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, escape_formatter};

use crate::error::invalid;
use crate::{filters, json, methods, repr, source};

/// Name that the one template of an environment has.
pub(crate) const NAME: &str = "chat_template";

/// Nested calls, blocks and loops: what a render may use of the stack.
const MAX_RECURSION: usize = 256;

/// An environment without templates.
pub(crate) fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    let mut syntax = env.syntax().to_builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    if let Ok(syntax) = syntax.build() {
        env.set_syntax(syntax);
    }
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_recursion_limit(MAX_RECURSION);
    env.set_unknown_method_callback(methods::unknown_method);
    env.set_formatter(|out, state, value| {
        if repr::needs_own(value) {
            repr::write_str(value, out).map_err(|_| invalid("the output cannot be written"))
        } else {
            escape_formatter(out, state, value)
        }
    });
    env.add_filter("tojson", json::tojson);
    env.add_filter("indent", filters::indent);
    env.add_filter("string", filters::string);
    env.add_filter(source::ITERATE, filters::iterate);
    env.add_test("iterable", filters::is_iterable);
    env.add_test("sequence", filters::is_sequence);
    env.add_function("raise_exception", filters::raise_exception);
    env.add_function("strftime_now", filters::strftime_now);
    // It would print the whole context.
    env.remove_global("debug");
    env
}
