//! The formats by name. Adding one: a file in `formats/` that holds its row, and a line here.

use std::sync::{PoisonError, RwLock};

use crate::Format;
use crate::formats as f;

static FORMATS: &[&Format] = &[
    &f::apertus::FORMAT,
    &f::cohere::FORMAT,
    &f::deepseek_r1::FORMAT,
    &f::deepseek_v31::FORMAT,
    &f::deepseek_v32::FORMAT,
    &f::deepseek_v3::FORMAT,
    &f::deepseek_v41::FORMAT,
    &f::deepseek_v4::FORMAT,
    &f::dots::FORMAT,
    &f::ernie45::FORMAT,
    &f::functiongemma::FORMAT,
    &f::gemma4::FORMAT,
    &f::gigachat35::FORMAT,
    &f::gigachat3::FORMAT,
    &f::glm45::FORMAT,
    &f::glm47::FORMAT,
    &f::granite::FORMAT,
    &f::granite_20b_fc::FORMAT,
    &f::granite_thinking::FORMAT,
    &f::hermes::FORMAT,
    &f::holo2::FORMAT,
    &f::hunyuan_a13b::FORMAT,
    &f::hy_v3::FORMAT,
    &f::hy_v4::FORMAT,
    &f::inkling::FORMAT,
    &f::internlm::FORMAT,
    &f::iquest_q1::FORMAT,
    &f::jamba::FORMAT,
    &f::k2_horizon::FORMAT,
    &f::kimi::FORMAT,
    &f::kimi_k2::FORMAT,
    &f::kimi_k3::FORMAT,
    &f::lfm2::FORMAT,
    &f::ling3::FORMAT,
    &f::llama3_json::FORMAT,
    &f::longcat::FORMAT,
    &f::mimo::FORMAT,
    &f::minicpm5::FORMAT,
    &f::minicpmv::FORMAT,
    &f::minimax_m2::FORMAT,
    &f::minimax_m2_append_think::FORMAT,
    &f::minimax_m3::FORMAT,
    &f::mistral::FORMAT,
    &f::muse_glimmer::FORMAT,
    &f::nanbeige::FORMAT,
    &f::nemotron_v3::FORMAT,
    &f::olmo3::FORMAT,
    &f::openai::FORMAT,
    &f::phi4_mini_json::FORMAT,
    &f::plamo3::FORMAT,
    &f::poolside_v1::FORMAT,
    &f::pythonic::FORMAT,
    &f::qwen3::FORMAT,
    &f::qwen3_coder::FORMAT,
    &f::qwen3_thinking::FORMAT,
    &f::seed_oss::FORMAT,
    &f::spark25::FORMAT,
    &f::step3::FORMAT,
    &f::step3p5::FORMAT,
    &f::xlam::FORMAT,
];

/// Formats that were described when the process started.
static DESCRIBED: RwLock<Vec<&'static Format>> = RwLock::new(Vec::new());

/// Every format: those that are built in, then those that were [registered](register).
#[must_use]
pub fn formats() -> Vec<&'static Format> {
    let described = DESCRIBED.read().unwrap_or_else(PoisonError::into_inner);
    FORMATS.iter().chain(described.iter()).copied().collect()
}

/// Makes a format that was [described](crate::described) known by its names, for the life of the process.
pub fn register(format: &'static Format) {
    DESCRIBED.write().unwrap_or_else(PoisonError::into_inner).push(format);
}

/// The format that a tool-call parser of this name reads.
#[must_use]
pub fn tool_format(name: &str) -> Option<&'static Format> {
    formats().into_iter().find(|format| format.tool_names.contains(&name))
}

/// The format that a reasoning parser of this name reads.
#[must_use]
pub fn reasoning_format(name: &str) -> Option<&'static Format> {
    formats().into_iter().find(|format| format.reasoning_names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::formats;

    #[test]
    fn names_are_unique() {
        for names in [|f: &crate::Format| f.tool_names, |f: &crate::Format| f.reasoning_names] {
            let mut all: Vec<&str> =
                formats().iter().flat_map(|format| names(format)).copied().collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
