//! Over the public chat templates, where they are at hand.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{check, claim, detect, names, renders_tools};
use crate::{Format, formats, reasoning_format, tool_format};

/// Which parsers some templates need: file, tool calls, reasoning. Empty: none.
const EXPECTED: &[(&str, &str, &str)] = &[
    ("axo-command_a", "cohere_command3", "cohere_command3"),
    ("axo-falcon_h1", "hermes", ""),
    ("axo-gemma4", "gemma4", "gemma4"),
    ("axo-jamba", "jamba", ""),
    ("axo-llama3_2_vision", "llama3_json", ""),
    ("axo-mistral_v3_tekken", "mistral", ""),
    ("axo-phi_35", "", ""),
    ("axo-qwen3", "hermes", "qwen3"),
    ("axo-qwen3_5", "hermes", "qwen3"),
    ("cz-alpaca", "", ""),
    ("cz-chatml", "", ""),
    ("cz-granite-3.0-instruct", "granite", ""),
    ("cz-qwen2.5-instruct", "hermes", ""),
    ("hct-deepseek-r1-distill-qwen-7b", "deepseek_v3", "deepseek_r1"),
    ("hct-granite-3.1-8b-instruct", "granite", ""),
    ("hct-mistral-7b-instruct-v0.3", "mistral", ""),
    ("hct-qwq-32b", "hermes", "qwen3"),
    ("hct-smollm3-3b", "hermes", "qwen3"),
    ("hct-zephyr-7b-beta", "", ""),
    ("hfjs-ai21labs-AI21-Jamba-Large-1.6", "jamba", ""),
    ("hfjs-CohereLabs-command-a-reasoning-08-2025", "cohere_command4", "cohere_command4"),
    ("hfjs-deepseek-ai-DeepSeek-R1", "deepseek_v3", "deepseek_r1"),
    ("hfjs-LiquidAI-LFM2.5-VL-450M", "lfm2", "qwen3"),
    ("hfjs-meta-llama-Llama-3.2-11B-Vision-Instruct", "llama3_json", ""),
    ("hfjs-moonshotai-Kimi-K2-Thinking", "kimi_k2", "kimi_k2"),
    ("hfjs-NousResearch-Hermes-2-Pro-Llama-3-8B-JSON-Schema", "hermes", ""),
    ("hfjs-openbmb-MiniCPM3-4B", "", ""),
    ("hfjs-Qwen-Qwen3.5-4B", "qwen3_coder", "qwen3"),
    ("hfjs-zai-org-GLM-5.1", "glm47", "glm47"),
    ("ik-deepseek-ai-DeepSeek-V4", "deepseek_v4", "deepseek_v4"),
    ("ik-GLM-5.2", "glm47", "glm47"),
    ("ik-MiroThinker", "hermes", "qwen3"),
    ("lcpp-Bielik-11B-v3.0-Instruct", "hermes", "qwen3"),
    ("lcpp-ByteDance-Seed-OSS", "seed_oss", "seed_oss"),
    ("lcpp-Cohere2MoE", "cohere_command4", "cohere_command4"),
    ("lcpp-CohereForAI-c4ai-command-r-plus-tool_use", "", ""),
    ("lcpp-deepseek-ai-DeepSeek-V3.2", "deepseek_v32", "deepseek_v32"),
    ("lcpp-deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek_v4", "deepseek_v4"),
    ("lcpp-GigaChat3-10B-A1.8B", "gigachat3", ""),
    ("lcpp-GigaChat3.1-10B-A1.8B", "gigachat3", ""),
    ("lcpp-GLM-4.6", "glm45", "glm45"),
    ("lcpp-google-gemma-2-2b-it", "", ""),
    ("lcpp-google-gemma-4-31B-it", "gemma4", "gemma4"),
    ("lcpp-ibm-granite-granite-3.3-2B-Instruct", "granite", "granite_thinking_parser"),
    ("lcpp-ibm-granite-granite-4.0", "granite4", ""),
    ("lcpp-inclusionai-ling-3.0-flash", "ling3", "ling3"),
    ("lcpp-Kimi-K2-Thinking", "kimi_k2", "kimi_k2"),
    ("lcpp-Kimi-K3", "kimi_k3", "kimi_k3"),
    ("lcpp-LFM2-8B-A1B", "lfm2", ""),
    ("lcpp-LFM2.5-8B-A1B", "lfm2", "qwen3"),
    ("lcpp-meta-llama-Llama-3.1-8B-Instruct", "llama3_json", ""),
    ("lcpp-MiMo-VL", "hermes", ""),
    ("lcpp-MiniMax-M2", "minimax_m2", "minimax_m2"),
    ("lcpp-MiniMax-M3", "minimax_m3", "minimax_m3"),
    ("lcpp-mistralai-Ministral-3-14B-Reasoning-2512", "mistral", "mistral"),
    ("lcpp-mistralai-Mistral-Nemo-Instruct-2407", "mistral", ""),
    ("lcpp-moonshotai-Kimi-K2", "kimi_k2", ""),
    ("lcpp-NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3_coder", "nemotron_v3"),
    ("lcpp-openai-gpt-oss-120b", "openai", "openai_gptoss"),
    ("lcpp-openbmb-MiniCPM5-1B", "minicpm5", "qwen3"),
    ("lcpp-poolside-Laguna-XS.2", "poolside_v1", "poolside_v1"),
    ("lcpp-Qwen-Qwen2.5-7B-Instruct", "hermes", ""),
    ("lcpp-Qwen-Qwen3-0.6B", "hermes", "qwen3"),
    ("lcpp-Qwen3.5-4B", "qwen3_coder", "qwen3"),
    ("lcpp-Reka-Edge", "hermes", "qwen3"),
    ("lcpp-Spark2.5", "spark25", "qwen3"),
    ("lcpp-unsloth-mistral-Devstral-Small-2507", "mistral", ""),
    ("lcpp-upstage-Solar-Open-100B", "", ""),
    ("mrs-smollm3", "hermes", "qwen3"),
    ("smg-kimi_k25", "kimi_k2", "kimi_k2"),
    ("trl-deepseekv3", "deepseek_v3", "deepseek_r1"),
    ("trl-gptoss_training", "openai", "openai_gptoss"),
    ("trl-glm4moe", "glm45", "glm45"),
    ("trl-lfm2", "lfm2", ""),
    ("trl-nemotron_3_super", "qwen3_coder", "nemotron_v3"),
    ("trl-qwen3_instruct_2507", "hermes", ""),
    ("trl-tiny_aya_chat_template", "qwen3_coder", ""),
    ("vllm-chatml", "", ""),
    ("vllm-deepseekv3", "deepseek_v3", ""),
    ("vllm-deepseekv31", "deepseek_v31", "qwen3"),
    ("vllm-gemma4", "gemma4", "gemma4"),
    ("vllm-glm4", "glm45", ""),
    ("vllm-granite", "granite", ""),
    ("vllm-granite_20b_fc", "granite-20b-fc", ""),
    ("vllm-hunyuan_a13b", "hunyuan_a13b", "hunyuan_a13b"),
    ("vllm-llama3.2_pythonic", "pythonic", ""),
    ("vllm-llama4_json", "llama3_json", ""),
    ("vllm-llama4_pythonic", "llama4_pythonic", ""),
    ("vllm-minicpmv45", "hermes", "qwen3"),
    ("vllm-mistral_parallel", "mistral", ""),
    ("vllm-muse_glimmer", "muse_glimmer", "muse_glimmer"),
    ("vllm-phi4_mini", "phi4_mini_json", ""),
    ("vllm-xlam_qwen", "xlam", ""),
];

/// The public templates; none where they are not at hand.
fn templates() -> Option<BTreeMap<String, String>> {
    let folder: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/corpus/templates"].iter().collect();
    let Ok(files) = std::fs::read_dir(&folder) else {
        return None;
    };
    let mut found = BTreeMap::new();
    for file in files.flatten().map(|file| file.path()) {
        if file.extension().is_some_and(|end| end == "jinja") {
            let name = file.file_stem()?.to_string_lossy().into_owned();
            found.insert(name, std::fs::read_to_string(&file).ok()?);
        }
    }
    Some(found)
}

/// The rows whose signs a template has.
fn claims(template: &str) -> Vec<&str> {
    let rows = formats().into_iter().filter(|format| format.calls.is_some());
    rows.filter(|format| claim(template, format.signs).is_some())
        .map(|format| format.name)
        .collect()
}

/// The row of a parser's name; none of an empty one.
fn row(found: Option<&'static Format>, name: &str) -> Vec<&'static str> {
    assert!(found.is_some() || name.is_empty(), "{name}");
    found.map(|format| format.name).into_iter().collect()
}

#[test]
fn templates_are_told_apart() {
    let Some(templates) = templates() else {
        return; // The public templates are not at hand.
    };
    let mut wrong = Vec::new();
    for (file, tool, reasoning) in EXPECTED {
        let template = &templates[*file];
        let (tool, reasoning) =
            (row(tool_format(tool), tool), row(reasoning_format(reasoning), reasoning));
        if claims(template) != tool {
            wrong.push(format!("{file}: {:?}, not {tool:?}", claims(template)));
        }
        let found = detect(template, &|_| true);
        let name = |found: &Option<(&'static Format, String)>| -> Vec<&str> {
            found.iter().map(|(format, _)| format.name).collect()
        };
        if name(&found.tool) != tool || name(&found.reasoning) != reasoning {
            let (calls, thinking) = (name(&found.tool), name(&found.reasoning));
            wrong.push(format!("{file}: {calls:?} {thinking:?}, not {tool:?} {reasoning:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // No template at all is claimed by two families.
    let several: Vec<_> = templates
        .iter()
        .map(|(file, template)| (file, claims(template)))
        .filter(|(_, claims)| claims.len() > 1)
        .collect();
    assert!(several.is_empty(), "{several:?}");
    assert!(EXPECTED.len() >= 60);
}

#[test]
fn the_variable_tools_is_found_in_code_only() {
    for (template, expected) in [
        ("{% if tools %}x{% endif %}", true),
        ("{{ tools | tojson }}", true),
        ("{%- for t in tools[1:] -%}", true),
        ("tools {{ 'tools' }}", false),
        ("{# tools #}{% set x = message.tools %}", false),
        ("{% if tools_in_user_message or mytools %}", false),
        ("{{ \"it's\" + tools }}", true),
        ("{{ 'a\\' tools' }}", false),
        ("{ tools }", false),
        ("{{ tools", true),
    ] {
        assert_eq!(renders_tools(template), expected, "{template}");
    }
    assert!(names("tools", "tools") && !names("toolset", "tools"));
}

#[test]
fn a_vocabulary_without_the_markers_refuses_the_parser() {
    let format = tool_format("kimi_k3").expect("a format");
    assert_eq!(check(format, &|_| true), Ok(()));
    let error = check(format, &|token| token == "<|sep|>").expect_err("refused");
    assert!(error.contains("\"kimi_k3\"") && error.contains("<|open|> <|close|>"), "{error}");
    let template = "<|open|>x<|sep|>y<|close|>";
    assert!(detect(template, &|_| true).tool.is_some());
    assert!(detect(template, &|_| false).tool.is_none());
    let (found, why) = detect(template, &|_| true).reasoning.expect("a format");
    assert!(found.name == "kimi_k3" && why.contains("kimi_k3"));
}

#[test]
fn signs_may_say_what_a_template_lacks() {
    let signs: &[&[&str]] = &[&["a", "!b"], &["abc", "d"]];
    assert_eq!(claim("xa", signs).map(|found| found.0), Some(1));
    assert_eq!(claim("abcd", signs).map(|found| found.0), Some(4));
    assert!(claim("ab", signs).is_none() && claim("", &[]).is_none());
    let all: Vec<&Format> =
        formats().into_iter().filter(|f| claim("", f.signs).is_some()).collect();
    assert!(all.is_empty(), "signs of nothing: {all:?}");
}
