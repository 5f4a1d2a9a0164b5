//! The chat templates of a model: which one renders a conversation, and what each wants of it.

use overt_template::{Template, Wants};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Name of the template for conversations with tools, where a model has one of its own for them.
const WITH_TOOLS: &str = "tool_use";
const DEFAULT: &str = "default";

/// A template as the model's files have it.
#[derive(Debug, Clone, Deserialize)]
pub struct NamedSource {
    /// `default`, `tool_use`, …
    pub name: String,
    /// Jinja.
    pub text: String,
    /// The file it stands in.
    #[serde(default)]
    pub source: String,
}

/// A compiled template and what it wants.
#[derive(Debug)]
pub struct NamedTemplate {
    /// `default`, `tool_use`, …
    pub name: String,
    /// Ready to render.
    pub template: Template,
    /// Found out by rendering probes.
    pub wants: Wants,
}

/// All templates of a model.
#[derive(Debug, Default)]
pub struct Templates(Vec<NamedTemplate>);

impl Templates {
    /// Compiles them and asks each what it wants.
    ///
    /// # Errors
    /// A message for the operator: a template that is no Jinja.
    pub fn compile(
        sources: Vec<NamedSource>,
        special_tokens: &Map<String, Value>,
    ) -> Result<Self, String> {
        let compiled = sources.into_iter().map(|source| {
            let template = Template::compile(&source.text).map_err(|error| {
                let place = if source.source.is_empty() { &source.name } else { &source.source };
                format!("the chat template ({place}) does not compile: {error}")
            })?;
            let wants = Wants::probe(&template, special_tokens);
            Ok(NamedTemplate { name: source.name, template, wants })
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }

    /// The template of a conversation with or without tools.
    #[must_use]
    pub fn of(&self, tools: bool) -> Option<&NamedTemplate> {
        let named = |name: &str| self.0.iter().find(|template| template.name == name);
        let own = if tools { named(WITH_TOOLS) } else { None };
        own.or_else(|| named(DEFAULT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(names: &[&str]) -> Templates {
        let source = |name: &&str| NamedSource {
            name: (*name).to_owned(),
            text: (*name).to_owned(),
            source: String::new(),
        };
        Templates::compile(names.iter().map(source).collect(), &Map::new()).unwrap()
    }

    #[test]
    fn tools_have_a_template_of_their_own_where_there_is_one() {
        let name =
            |names: &[&str], tools| templates(names).of(tools).map(|found| found.name.clone());
        let both = ["default", "rag", "tool_use"];
        assert_eq!(name(&both, true).as_deref(), Some("tool_use"));
        assert_eq!(name(&both, false).as_deref(), Some("default"));
        assert_eq!(name(&["default"], true).as_deref(), Some("default"));
        assert_eq!(name(&["rag", "tool_use"], true).as_deref(), Some("tool_use"));
        assert_eq!(name(&["rag", "tool_use"], false), None);
        assert_eq!(name(&[], false), None);
    }

    #[test]
    fn a_broken_one_is_named() {
        let broken = NamedSource {
            name: "tool_use".to_owned(),
            text: "\n{% if %}".to_owned(),
            source: "additional_chat_templates/tool_use.jinja".to_owned(),
        };
        let message = Templates::compile(vec![broken], &Map::new()).unwrap_err();
        assert!(message.contains("additional_chat_templates/tool_use.jinja"), "{message}");
        assert!(message.contains("line 2"), "{message}");
    }
}
