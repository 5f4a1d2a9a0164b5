//! The arguments of filters, tests, functions and methods.

use minijinja::Error;
use minijinja::value::{Kwargs, Value};

use crate::error::invalid;

/// Arguments given by position or by name, in the order of `names`, the first `required` of which must be given;
/// an empty name can only be given by position. A given None is kept.
pub(crate) fn take<const N: usize>(
    positional: &[Value],
    kwargs: &Kwargs,
    names: [&str; N],
    required: usize,
) -> Result<[Option<Value>; N], Error> {
    if positional.len() > N {
        return Err(invalid(format!("too many arguments: at most {N}{}", listed(&names))));
    }
    let mut values = [const { None }; N];
    for (index, (name, value)) in names.iter().zip(&mut values).enumerate() {
        *value = positional.get(index).cloned();
        if !name.is_empty() && kwargs.has(name) {
            if value.is_some() {
                return Err(invalid(format!("the argument {name} is given twice")));
            }
            // An undefined value counts as absent to the engine, and is one in Python.
            *value = Some(kwargs.get::<Value>(name).unwrap_or_default());
        }
        if index < required && value.is_none() {
            return Err(invalid(match *name {
                "" => format!("too few arguments: at least {required}"),
                name => format!("the argument {name} is missing"),
            }));
        }
    }
    match kwargs.assert_all_used() {
        Ok(()) => Ok(values),
        Err(_) => {
            Err(invalid(format!("an argument has a name that is not known{}", listed(&names))))
        }
    }
}

/// Names that arguments may have, in brackets.
fn listed(names: &[&str]) -> String {
    let named: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}
