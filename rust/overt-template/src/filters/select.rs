//! Filters that apply filters and tests to each item.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::Call;
use super::attributes::Path;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::objects::generator;
use crate::python::{self, expect_text, items};
use crate::{filters, jinja_tests};

/// An iterator over what `each` makes of the items; an error waits until it is read.
fn each(
    state: &mut State,
    name: &'static str,
    value: &Value,
    each: impl Fn(&mut State, Value) -> Result<Option<Value>, Error>,
) -> Value {
    // An empty value is not looked at any further, whatever its type.
    if !value.is_true() {
        return generator(name, Vec::new(), None);
    }
    let mut done = Vec::new();
    let mut failed = None;
    match items(state, value) {
        Ok(items) => {
            for item in items {
                match state.consume_fuel(1).and_then(|()| each(state, item)) {
                    Ok(item) => done.extend(item),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
        }
        Err(error) => failed = Some(error),
    }
    generator(name, done, failed)
}

fn copied(kwargs: &Kwargs) -> Result<Kwargs, Error> {
    kwargs.args().map(|name| Ok((name.to_owned(), kwargs.get::<Value>(name)?))).collect()
}

/// `x|map('filter', …)` or `x|map(attribute='path', default=…)`.
pub(super) fn map(call: Call) -> Result<Value, Error> {
    let Call { state, value, args, kwargs } = call;
    if args.is_empty() && kwargs.has("attribute") {
        let path = Path::of(&kwargs.get::<Value>("attribute").unwrap_or_default());
        let default =
            kwargs.has("default").then(|| kwargs.get::<Value>("default").unwrap_or_default());
        let default = default.filter(|default| !python::is_none(default));
        let unknown = kwargs.assert_all_used().is_err();
        return Ok(each(state, "sync_do_map", value, |state, item| {
            if unknown {
                return Err(invalid("map: it takes attribute and default"));
            }
            path.read(state, &item, default.as_ref()).map(Some)
        }));
    }
    let filter = match args.first() {
        Some(name) => expect_text("map: the filter", name).and_then(|name| {
            let filter = filters::find(name).map(|filter| (name, filter));
            filter.ok_or_else(|| invalid(format!("map: unknown filter {name}")))
        }),
        None => Err(invalid("map: the name of a filter or an attribute is missing")),
    };
    Ok(each(state, "sync_do_map", value, |state, item| {
        let (name, filter) = match &filter {
            Ok(found) => *found,
            Err(error) => return Err(invalid(error.detail().unwrap_or_default())),
        };
        let rest = args.get(1..).unwrap_or_default();
        marks::filter(name, filter, state, &item, rest, copied(&kwargs)?).map(Some)
    }))
}

/// Keeps the items for which a test says `wanted`; the test reads `path` of each.
fn chosen(call: Call, by_attribute: bool, wanted: bool) -> Result<Value, Error> {
    let Call { state, value, args, kwargs } = call;
    let offset = usize::from(by_attribute);
    let missing = args.len() < offset;
    let path = Path::of(args.first().filter(|_| by_attribute).unwrap_or(&Value::from(())));
    let test = args.get(offset).map(|name| {
        expect_text("the test", name).and_then(|name| {
            jinja_tests::find(name).ok_or_else(|| invalid(format!("unknown test {name}")))
        })
    });
    let rest = args.get(offset + 1..).unwrap_or_default();
    Ok(each(state, "select_or_reject", value, |state, item| {
        if missing {
            return Err(invalid("the name of an attribute is missing"));
        }
        let tested = path.read(state, &item, None)?;
        let passes = match &test {
            None => tested.is_true(),
            Some(Ok(test)) => marks::test(*test, state, &tested, rest, copied(&kwargs)?)?,
            Some(Err(error)) => return Err(invalid(error.detail().unwrap_or_default())),
        };
        Ok((passes == wanted).then_some(item))
    }))
}

pub(super) fn select(call: Call) -> Result<Value, Error> {
    chosen(call, false, true)
}

pub(super) fn reject(call: Call) -> Result<Value, Error> {
    chosen(call, false, false)
}

pub(super) fn selectattr(call: Call) -> Result<Value, Error> {
    chosen(call, true, true)
}

pub(super) fn rejectattr(call: Call) -> Result<Value, Error> {
    chosen(call, true, false)
}
