//! Tools wrapped as OpenAI has them, or bare; what OpenAI lets a tool leave out.

use std::cmp::Ordering;

use serde_json::{Value as Json, json};

use super::kinds::{Change, Normalisation};
use super::probe::{Base, FUNCTION, function, remove, wrapped};

/// What a template wants of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ToolWants {
    pub(super) form: Form,
    /// Fails on a tool without `description`.
    pub(super) description: bool,
    /// Fails on a tool without `parameters`.
    pub(super) parameters: bool,
}

/// How a template reads tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// It reads both, or none.
    #[default]
    AsSent,
    /// `{"type": "function", "function": {…}}`.
    Wrapped,
    /// `{"name": …, "parameters": …}`.
    Bare,
}

pub(super) fn probe(base: &Base<'_>) -> ToolWants {
    let form = probe_form(base);
    let of = |function: Json| match form {
        Form::Bare => json!([function]),
        Form::AsSent | Form::Wrapped => json!([wrapped(function)]),
    };
    let needs = |key: &str, filler: Json| {
        let mut function = function();
        remove(&mut function, key);
        let without = of(function.clone());
        function[key] = filler;
        base.with_tools(without).is_none() && base.with_tools(of(function)).is_some()
    };
    let (description, parameters) =
        (needs("description", no_description()), needs("parameters", no_parameters()));
    ToolWants { form, description, parameters }
}

fn probe_form(base: &Base<'_>) -> Form {
    let shown = |tool: Json| {
        base.with_tools(json!([tool])).map_or(0, |text| {
            let words = [FUNCTION, "ovdescription", "ovparameter", "ovmeaning"];
            words.iter().filter(|word| text.contains(**word)).count()
        })
    };
    match shown(wrapped(function())).cmp(&shown(function())) {
        Ordering::Greater => Form::Wrapped,
        Ordering::Less => Form::Bare,
        Ordering::Equal => Form::AsSent,
    }
}

fn no_description() -> Json {
    json!("")
}

/// What OpenAI takes a tool without `parameters` for.
fn no_parameters() -> Json {
    json!({"type": "object", "properties": {}})
}

/// Gives each tool the form that the template reads.
pub(super) fn apply(tools: Option<&mut Json>, wants: ToolWants, changes: &mut Vec<Change>) {
    if wants == ToolWants::default() {
        return;
    }
    let Some(Json::Array(tools)) = tools else { return };
    for (index, tool) in tools.iter_mut().enumerate() {
        reshape(index, tool, wants.form, changes);
        let inner = tool.get("function").is_some_and(Json::is_object);
        let (path, function) = match tool {
            Json::Object(tool) if !inner => (format!("tools[{index}]"), tool),
            _ => match tool.get_mut("function") {
                Some(Json::Object(function)) => (format!("tools[{index}].function"), function),
                _ => continue,
            },
        };
        let mut fill = |wanted: bool, key: &str, filler: fn() -> Json, normalisation| {
            if wanted && function.get(key).is_none_or(Json::is_null) {
                function.insert(key.to_owned(), filler());
                changes.push(Change { normalisation, path: format!("{path}.{key}") });
            }
        };
        fill(
            wants.description,
            "description",
            no_description,
            Normalisation::ToolDescriptionFilled,
        );
        fill(wants.parameters, "parameters", no_parameters, Normalisation::ToolParametersFilled);
    }
}

fn reshape(index: usize, tool: &mut Json, form: Form, changes: &mut Vec<Change>) {
    let Json::Object(object) = tool else { return };
    let named = object.contains_key("name");
    let inner_named = object.get("function").is_some_and(|function| function.get("name").is_some());
    let normalisation = match form {
        Form::Wrapped if named && !inner_named => {
            *tool = wrapped(tool.take());
            Normalisation::ToolWrapped
        }
        Form::Bare if !named && inner_named => {
            *tool = object.get_mut("function").map(Json::take).unwrap_or_default();
            Normalisation::ToolUnwrapped
        }
        _ => return,
    };
    changes.push(Change { normalisation, path: format!("tools[{index}]") });
}
