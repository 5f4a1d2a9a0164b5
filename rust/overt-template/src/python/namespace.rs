//! `namespace(…)`: the one object that a template can change.
//!
//! A namespace may come to hold itself, and chains of them may be of any length: all of a render are kept until it
//! ends and are emptied then, so that none is lost in a circle and none takes another down with it.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{DynObject, Object, ObjectRepr, Value};

use super::Dict;

/// Values by name, in the order in which they were first set.
pub(crate) struct Namespace(Mutex<Dict>);

impl Namespace {
    /// A namespace that lives until the render ends.
    pub(crate) fn value(values: Dict) -> Value {
        let namespace = Arc::new(Self(Mutex::new(values)));
        KEPT.with_borrow_mut(|kept| kept.push(namespace.clone()));
        Value::from_dyn_object(namespace)
    }

    /// The names and their values at this time.
    pub(crate) fn values(&self) -> Dict {
        self.with(|values| values.clone())
    }

    /// Sets a name.
    pub(crate) fn set(&self, name: &str, value: Value) {
        let old = self.with(|values| values.insert(Value::from(name), value));
        // Outside of the lock.
        drop(old);
    }

    fn with<T>(&self, use_: impl FnOnce(&mut Dict) -> T) -> T {
        use_(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// It may hold itself: what it holds is not shown.
impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Namespace>")
    }
}

impl Object for Namespace {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str()?;
        self.with(|values| values.get(key).cloned())
    }

    /// Equal to itself alone, whatever it holds.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(std::ptr::from_ref(&**self).cmp(&std::ptr::from_ref(other)))
    }
}

thread_local! {
    static KEPT: RefCell<Vec<Arc<Namespace>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the namespaces that this thread makes, until it is dropped.
pub(crate) struct Keeping(Vec<Arc<Namespace>>);

impl Keeping {
    pub(crate) fn start() -> Self {
        Self(KEPT.take())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        let kept = KEPT.replace(std::mem::take(&mut self.0));
        // All are emptied before the first goes.
        let values: Vec<Dict> = kept.iter().map(|one| one.with(std::mem::take)).collect();
        drop(values);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use minijinja::value::Value;

    use super::{Keeping, Namespace};
    use crate::python::Dict;

    #[test]
    fn circles_end_with_the_render() {
        let keeping = Keeping::start();
        let held = Arc::new(());
        let circle = Namespace::value(Dict::new());
        let namespace = circle.downcast_object_ref::<Namespace>().unwrap();
        namespace.set("itself", circle.clone());
        namespace.set("list", Value::from(vec![circle.clone()]));
        let weak = Arc::downgrade(&held);
        namespace.set("held", Value::from_function(move || held.as_ref() == &()));
        drop(circle);
        assert!(weak.upgrade().is_some());
        drop(keeping);
        assert!(weak.upgrade().is_none());
    }
}
