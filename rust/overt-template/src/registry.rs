//! Names that the environment knows, and the operators that this crate puts in place of the engine's.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, State};

use crate::error::invalid;
use crate::provenance::{marked, marks};
use crate::python::namespace::Namespace;
use crate::python::objects::{Own, unmarked};
use crate::python::{Dict, Kind, access, compare, items, list, math, refused, sealed, tuple};
use crate::{budget, filters, functions, jinja_tests, methods};

pub(crate) fn is_filter(name: &str) -> bool {
    filters::find(name).is_some()
}

pub(crate) fn is_test(name: &str) -> bool {
    jinja_tests::find(name).is_some()
}

/// Names that may be more than an item: see [`methods::is_attribute`].
pub(crate) fn is_attribute(name: &str) -> bool {
    methods::is_attribute(name)
}

/// Puts everything into an environment.
pub(crate) fn fill(env: &mut Environment<'static>) {
    for (name, filter) in filters::FILTERS {
        env.add_filter(
            format!("f_{name}"),
            move |state: &mut State, value: &Value, args: &[Value], kwargs: Kwargs| {
                budget::spend(0)?;
                marks::filter(name, filter, state, value, args, kwargs)
            },
        );
    }
    for (name, test) in jinja_tests::TESTS {
        env.add_test(
            format!("t_{name}"),
            move |state: &mut State, value: &Value, args: &[Value], kwargs: Kwargs| {
                marks::test(test, state, value, args, kwargs)
            },
        );
    }
    type Function = fn(&mut State, &[Value], Kwargs) -> Result<Value, Error>;
    let all: [(&'static str, Function); 8] = [
        ("raise_exception", functions::raise_exception),
        ("strftime_now", functions::strftime_now),
        ("range", functions::range),
        ("dict", functions::dict),
        ("namespace", functions::namespace),
        ("cycler", functions::cycler),
        ("joiner", functions::joiner),
        ("lipsum", functions::lipsum),
    ];
    for (name, function) in all {
        env.add_function(name, move |state: &mut State, args: &[Value], kwargs: Kwargs| {
            function(state, args, kwargs)
        });
    }
    operators(env);
    comparisons(env);
    accesses(env);
    scopes(env);
}

fn operators(env: &mut Environment<'static>) {
    env.add_filter("o_add", |state: &State, a: &Value, b: &Value| math::add(state, a, b));
    env.add_filter("o_sub", |a: &Value, b: &Value| math::sub(a, b));
    env.add_filter("o_mul", |state: &State, a: &Value, b: &Value| math::mul(state, a, b));
    env.add_filter("o_div", |a: &Value, b: &Value| math::div(a, b));
    env.add_filter("o_floordiv", |a: &Value, b: &Value| math::floordiv(a, b));
    env.add_filter("o_mod", |state: &State, a: &Value, b: &Value| math::modulo(state, a, b));
    env.add_filter("o_pow", |a: &Value, b: &Value| math::pow(a, b));
    env.add_filter("o_neg", |a: &Value| math::neg(a));
    env.add_filter("o_pos", |a: &Value| math::pos(a));
    env.add_filter("o_concat", |state: &State, first: &Value, rest: &[Value]| {
        math::concat(state, first, rest)
    });
    env.add_filter("o_infinite", |_: &Value| f64::INFINITY);
    env.add_filter("o_undefined", |_: &Value| Value::UNDEFINED);
    env.add_filter("o_sealed", |state: &State, value: Value| sealed(state, marks::sealed(value)));
}

fn comparisons(env: &mut Environment<'static>) {
    type Comparison = fn(&State, &Value, &Value) -> Result<bool, Error>;
    fn contained(state: &State, item: &Value, container: &Value) -> Result<bool, Error> {
        compare::contains(state, container, item)
    }
    fn absent(state: &State, item: &Value, container: &Value) -> Result<bool, Error> {
        compare::contains(state, container, item).map(|found| !found)
    }
    let all: [(&'static str, Comparison); 8] = [
        ("eq", jinja_tests::equal),
        ("ne", jinja_tests::unequal),
        ("lt", jinja_tests::less),
        ("le", jinja_tests::at_most),
        ("gt", jinja_tests::greater),
        ("ge", jinja_tests::at_least),
        ("in", contained),
        ("notin", absent),
    ];
    for (name, comparison) in all {
        env.add_test(format!("o_{name}"), move |state: &State, a: &Value, b: &Value| {
            comparison(state, a, b)
        });
    }
    env.add_filter("o_compare", move |state: &State, first: &Value, rest: &[Value]| {
        let mut left = first;
        for pair in rest.chunks_exact(2) {
            let name = pair[0].as_str().unwrap_or_default();
            let comparison = all.iter().find(|(other, _)| *other == name);
            let Some((_, comparison)) = comparison else {
                return Err(invalid("no such comparison"));
            };
            if !comparison(state, left, &pair[1])? {
                return Ok(false);
            }
            left = &pair[1];
        }
        Ok(true)
    });
}

fn accesses(env: &mut Environment<'static>) {
    env.add_filter("o_attr", |state: &State, value: &Value, name: &str| {
        budget::read(state, name.len())?;
        access::attribute(value, name)
    });
    env.add_filter("o_item", |state: &State, value: &Value, key: &Value| {
        access::item(state, value, key)
    });
    env.add_filter("o_key", |state: &State, key: Value| {
        compare::hashable(state, &key, 0).map(|()| key)
    });
    env.add_filter("o_slice", |state: &State, value: &Value, bounds: &[Value]| match bounds {
        [start, stop, step] => access::slice(state, value, [start, stop, step]),
        _ => Err(invalid("a slice has three bounds")),
    });
    env.add_filter(
        "o_call",
        |state: &mut State, value: &Value, name: &str, args: &[Value], kwargs: Kwargs| {
            budget::spend(0)?;
            access::call(state, value, name, args, kwargs)
        },
    );
    env.add_filter(
        "o_invoke",
        |state: &mut State, value: &Value, args: &[Value], kwargs: Kwargs| {
            budget::spend(0)?;
            access::invoke(state, value, args, kwargs)
        },
    );
    env.add_function(
        "overt_invoke",
        |state: &mut State, value: &Value, args: &[Value], kwargs: Kwargs| {
            access::invoke(state, value, args, kwargs)
        },
    );
    env.add_filter("o_arguments", |state: &State, value: &Value| {
        Ok::<_, Error>(list(items(state, value)?))
    });
    env.add_filter("o_keywords", |value: &Value| match Kind::of(value) {
        Kind::Dict(dict) if dict.keys().all(|key| key.as_str().is_some()) => {
            Ok(marked(value).map_or_else(|| value.clone(), |marked| marked.inner.clone()))
        }
        _ => Err(refused("arguments by name", value)),
    });
    env.add_filter("o_unknown_filter", |_: &Value, name: &str, _: &[Value], _: Kwargs| {
        Err::<Value, _>(invalid(format!("unknown filter {name}")))
    });
    env.add_filter("o_unknown_test", |_: &Value, name: &str, _: &[Value], _: Kwargs| {
        Err::<Value, _>(invalid(format!("unknown test {name}")))
    });
    env.add_filter("o_no_loader", |_: &Value| {
        Err::<Value, _>(invalid("a chat template cannot load another"))
    });
}

fn scopes(env: &mut Environment<'static>) {
    env.add_filter("o_iterate", |state: &State, value: Value| iterated(state, value));
    env.add_filter("o_iterate_unpacked", |state: &State, value: Value, shape: &Value| {
        let value = iterated(state, value)?;
        // Items that the engine cannot take apart become tuples.
        let flat = items(state, shape)?.iter().all(Value::is_none);
        let plain = |item: &Value| {
            flat && matches!(Kind::of(item), Kind::Tuple(_) | Kind::List(_))
                && item.downcast_object_ref::<Own>().is_none()
        };
        let all = items(state, &value)?;
        if all.iter().all(plain) {
            return Ok(list(all));
        }
        let unpacked: Result<Vec<Value>, Error> =
            all.iter().map(|item| unpacked(state, item, shape)).collect();
        Ok(list(unpacked?))
    });
    env.add_filter("o_unpacked", |state: &State, value: &Value, shape: &Value| {
        unpacked(state, value, shape)
    });
    env.add_filter("o_put", |state: &State, target: &Value, name: &str, value: Value| {
        let Some(namespace) = target.downcast_object_ref::<Namespace>() else {
            return Err(refused("set an attribute, which only a namespace takes", target));
        };
        budget::spend(size_of::<Value>())?;
        namespace.set(name, stored(state, value)?);
        Ok(false)
    });
    env.add_filter("o_printable", |value: Value| match value.as_str() {
        Some(_) => Ok(value),
        None => Err(refused("a filtered block must give a text", &value)),
    });
    env.add_filter("o_private", |_: &Value| {
        Err::<Value, _>(invalid("a namespace takes no names that begin with _"))
    });
    env.add_filter("o_begin", |state: &State, _: &Value| budget::begin(state).map(|()| false));
    env.add_filter("o_enter", |_: &Value| budget::spend(256).map(|()| false));
    env.add_filter("o_given", |value: Value| match value.kind() {
        ValueKind::Undefined => Value::from_object(Own::Given),
        _ => value,
    });
    env.add_filter("o_taken", unmarked);
    env.add_filter("o_missing", |_: &Value| Value::from_object(Own::Missing));
    env.add_test("o_missing", |value: &Value| {
        matches!(value.downcast_object_ref::<Own>(), Some(Own::Missing))
    });
    env.add_filter("o_flag", |_: &Value| {
        Namespace::value(Dict::from_iter([(Value::from("first"), Value::from(true))]))
    });
    env.add_filter(
        "o_variadic",
        |inner: Value, positional: bool, named: bool, caller: bool, names: Vec<String>| {
            Value::from_object(Own::Variadic { inner, names, positional, named, caller })
        },
    );
}

/// What a `for` goes through, as the engine can.
fn iterated(state: &State, value: Value) -> Result<Value, Error> {
    budget::spend(0)?;
    match value.kind() {
        ValueKind::Undefined => Ok(list(Vec::new())),
        ValueKind::Seq => Ok(value),
        ValueKind::Map if value.downcast_object_ref::<Dict>().is_some() => Ok(value),
        _ => Ok(list(items(state, &value)?)),
    }
}

/// A value that is taken apart as `shape` says: a list of the shapes of its items, none for a name.
fn unpacked(state: &State, value: &Value, shape: &Value) -> Result<Value, Error> {
    let Kind::List(shapes) = Kind::of(shape) else { return Ok(value.clone()) };
    if value.is_undefined() {
        return Err(refused("taking apart", value));
    }
    let items = items(state, value)?;
    if items.len() != shapes.len() {
        let (has, names) = (items.len(), shapes.len());
        return Err(invalid(format!("{has} items cannot be taken apart into {names} names")));
    }
    let parts = items.iter().zip(shapes).map(|(item, shape)| unpacked(state, item, shape));
    Ok(tuple(parts.collect::<Result<_, _>>()?))
}

/// A value on its way into a namespace; chains of loops are counted, for nothing measures them.
fn stored(state: &State, value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
            sealed(state, value)
        }
        _ => Ok(value),
    }
}
