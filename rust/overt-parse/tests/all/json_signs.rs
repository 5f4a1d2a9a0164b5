//! What tells from a chat template that a family writes its calls as JSON, tried on real templates where the checkout
//! has them beside it.

use std::path::Path;

use overt_parse::{detect, tool_format};

/// Formats and the beginnings of the names of templates that are theirs.
const TEMPLATES: &[(&str, &[&str])] = &[
    (
        "hermes",
        &[
            "lcpp-Qwen-Qwen3-0.6B",
            "cz-qwen2.5",
            "lcpp-Qwen-QwQ",
            "lcpp-ibm-granite-granite-4",
            "hct-smollm3",
            "axo-falcon_h1",
            "lcpp-Bielik",
            "lcpp-Reka",
            "hfjs-NousResearch",
        ],
    ),
    ("llama3_json", &["lcpp-meta-llama-Llama-3.1", "vllm-llama3.2_json", "vllm-llama4_json"]),
    (
        "mistral",
        &[
            "hfjs-mistralai-Mistral-Nemo",
            "lcpp-mistralai-Ministral",
            "lcpp-unsloth-mistral-Devstral",
            "mrs-mistral_small",
            "vllm-mistral",
        ],
    ),
    (
        "granite",
        &[
            "cz-granite-3.0",
            "hct-granite-3.1",
            "lcpp-ibm-granite-granite-3.3",
            "vllm-granite.jinja",
        ],
    ),
    ("granite-20b-fc", &["vllm-granite_20b_fc"]),
    ("jamba", &["axo-jamba", "hfjs-ai21labs", "lcpp-Apriel", "lcpp-MiniMax-M1"]),
    ("hunyuan_a13b", &["vllm-hunyuan_a13b"]),
    ("xlam", &["vllm-xlam_qwen"]),
    ("phi4_mini_json", &["vllm-phi4_mini", "lcpp-fireworks-ai"]),
    (
        "deepseek_v3",
        &[
            "hfjs-deepseek-ai-DeepSeek-R1",
            "vllm-deepseekv3.jinja",
            "trl-deepseekv3",
            "hct-deepseek-r1",
        ],
    ),
    ("deepseek_v31", &["vllm-deepseekv31"]),
    ("kimi_k2", &["lcpp-moonshotai-Kimi-K2", "hfjs-moonshotai", "lcpp-Kimi-K2", "smg-kimi"]),
    ("gigachat3", &["lcpp-GigaChat3"]),
];

#[test]
fn templates_tell_their_format_and_no_other_of_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/templates");
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("no templates beside the checkout: nothing to look at");
        return;
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in entries {
        let path = entry.expect("an entry").path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !file.ends_with(".jinja") {
            continue;
        }
        let template = std::fs::read_to_string(&path).expect("a template");
        let named = |names: &[&str]| names.iter().any(|name| file.starts_with(name));
        let Some((expected, _)) = TEMPLATES.iter().find(|(_, names)| named(names)) else {
            continue;
        };
        count += 1;
        let found = detect(&template, &|_| true).tool.map_or("", |(format, _)| format.name);
        let expected = tool_format(expected).expect("a format").name;
        if found != expected {
            wrong.push(format!("{file}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 30, "{count} templates");
}
