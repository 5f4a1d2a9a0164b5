//! Any text as a template: read or refused, with a line that it has, and the same line endings for all.

#![allow(clippy::unwrap_used)]

use overt_template::{RenderInput, Template, TemplateError};
use proptest::prelude::*;
use serde_json::json;

fn hello() -> RenderInput {
    RenderInput {
        messages: json!([{"role": "user", "content": "hello"}]),
        ..RenderInput::default()
    }
}

const PIECES: &str = "([{}%#'\"\\\\ \n.|,:=()\\[\\]~+*<>-]|for x in a|if x|endif|endfor|else|set x = 1|set x|endset|raw|endraw\
    |macro m\\(a, b=a\\)|endmacro|call m\\(1\\)|endcall|filter upper|endfilter|with x = 1|endwith|generation\
    |endgeneration|\\{% |%\\}|\\{\\{|\\}\\}|messages|loop|m\\(|\\|join|is|not|in|and|1|'a'|é|break){0,40}";

proptest! {
    #[test]
    fn any_text_is_read_or_refused(source in PIECES) {
        let lines = source.matches('\n').count() + 1;
        match Template::compile(&source) {
            Ok(template) => {
                let rendered = template.render(&hello());
                if let Err(TemplateError::Render { line, .. } | TemplateError::Limit { line, .. }) = &rendered {
                    prop_assert!(*line <= lines, "{:?}", rendered);
                }
                let windows = source.replace('\n', "\r\n");
                prop_assert_eq!(rendered, Template::compile(&windows).unwrap().render(&hello()));
            }
            Err(TemplateError::Syntax { line, .. }) => prop_assert!(line >= 1 && line <= lines),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn white_space_is_jinja2s() {
    for (source, expected) in [
        ("a\n  {% if true %}\n  b\n  {% endif %}\n c", "a\n  b\n c"),
        ("a  {%- if true -%}  b  {%- endif -%}  c", "abc"),
        ("a\n  {%+ if true +%}\n  b{% endif %}", "a\n  \n  b"),
        ("{{ 'a' }}\n{{- 'b' -}}\n{{ 'c' }}\n", "abc"),
        ("a\n  {# c #}\n  b {#- c -#} d {# c +#}\ne", "a\n  bd \ne"),
        ("{% raw %}\n{{ x }}{% endraw %}\n|", "\n{{ x }}|"),
        ("x {%- raw -%} \n y {%- endraw -%} z", "xyz"),
        ("a\r\nb\rc\n\n", "a\nb\nc\n"),
        ("{% set x = '}}' %}{{ x }}{{ {'a': {'b': '%}'}}.a.b }}", "}}%}"),
        ("{{{'a': 1}}}{", "{'a': 1}{"),
        ("{% for x in [1] %}{ {% endfor %}{", "{ {"),
        (
            "{{ '{% generation %}' }}{# {% generation %} #}{% generation %}g{% endgeneration %}",
            "{% generation %}g",
        ),
    ] {
        assert_eq!(
            Template::compile(source).unwrap().render(&hello()).as_deref(),
            Ok(expected),
            "{source}"
        );
    }
}
