//! Fill-in-the-middle: prompts with a gap, for models whose vocabulary has tokens for it.

use overt_text::Tokenizer;

/// How a family marks what stands before the gap, behind it, and where the answer begins.
struct Form {
    before: &'static str,
    after: &'static str,
    answer: &'static str,
    /// A space between the first mark and the text, as SentencePiece's own training data has it.
    spaced: bool,
}

/// Qwen2.5-Coder (and Granite code), StarCoder, DeepSeek-Coder, CodeLlama.
const FORMS: [Form; 4] = [
    Form {
        before: "<|fim_prefix|>",
        after: "<|fim_suffix|>",
        answer: "<|fim_middle|>",
        spaced: false,
    },
    Form { before: "<fim_prefix>", after: "<fim_suffix>", answer: "<fim_middle>", spaced: false },
    Form {
        before: "<｜fim▁begin｜>",
        after: "<｜fim▁hole｜>",
        answer: "<｜fim▁end｜>",
        spaced: false,
    },
    Form { before: "▁<PRE>", after: "▁<SUF>", answer: "▁<MID>", spaced: true },
];

/// A model's own tokens for a prompt with a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fim {
    before: u32,
    after: u32,
    answer: u32,
    spaced: bool,
}

impl Fim {
    /// The tokens of the first form that the vocabulary has whole.
    pub(crate) fn find(tokenizer: &Tokenizer) -> Option<Self> {
        FORMS.iter().find_map(|form| {
            Some(Self {
                before: tokenizer.token_to_id(form.before)?,
                after: tokenizer.token_to_id(form.after)?,
                answer: tokenizer.token_to_id(form.answer)?,
                spaced: form.spaced,
            })
        })
    }

    /// The token that the answer follows.
    #[must_use]
    pub fn answer(&self) -> u32 {
        self.answer
    }

    /// The prompt's text as it is tokenised between its marks.
    pub(crate) fn head(&self, prompt: &str) -> String {
        if self.spaced { format!(" {prompt}") } else { prompt.to_owned() }
    }

    /// A prompt from the tokens around the gap; `first` stands before everything (a token that begins texts).
    pub(crate) fn prompt(&self, first: &[u32], before: &[u32], after: &[u32]) -> Vec<u32> {
        [first, &[self.before], before, &[self.after], after, &[self.answer]].concat()
    }
}
