//! The file of renderings by transformers, beside the checkout.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use overt_template::RenderInput;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// 2025-03-09 08:05:07, the clock that the renderings were made with.
pub(crate) const CLOCK: i64 = 1_741_507_507;

/// One rendering.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) template: String,
    pub(crate) scenario: String,
    pub(crate) inputs: Inputs,
    /// None: it was refused.
    pub(crate) expected: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Inputs {
    messages: Value,
    tools: Option<Value>,
    documents: Option<Value>,
    #[serde(default)]
    kwargs: Map<String, Value>,
    #[serde(default)]
    add_generation_prompt: bool,
    #[serde(default)]
    continue_final_message: bool,
}

impl From<Inputs> for RenderInput {
    fn from(inputs: Inputs) -> Self {
        let special_tokens = json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"});
        Self {
            messages: inputs.messages,
            tools: inputs.tools,
            documents: inputs.documents,
            add_generation_prompt: inputs.add_generation_prompt,
            continue_final_message: inputs.continue_final_message,
            kwargs: inputs.kwargs,
            special_tokens: special_tokens.as_object().unwrap().clone(),
        }
    }
}

/// The folder of the file and the templates; says so where it is absent.
pub(crate) fn corpus() -> Option<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if corpus.join("template_golden.jsonl.gz").exists() {
        return Some(corpus);
    }
    println!("no corpus of renderings beside the checkout: nothing to compare with");
    None
}

/// Every rendering, in the file's order.
pub(crate) fn cases(corpus: &Path) -> impl Iterator<Item = Case> {
    let file = std::fs::File::open(corpus.join("template_golden.jsonl.gz")).unwrap();
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// A template's source.
pub(crate) fn source(corpus: &Path, template: &str) -> String {
    std::fs::read_to_string(corpus.join("templates").join(template)).unwrap()
}
