//! The words of a family, each with what it means.

use crate::core::input::Input;

/// What a word means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// A wrapper of calls opens.
    Open,
    /// It closes.
    Close,
    /// A call's opening tag, up to its name.
    Invoke,
    InvokeEnd,
    /// A parameter's opening tag, up to its name.
    Parameter,
    ParameterEnd,
    /// Nothing, within a call.
    Noise,
    /// `<![CDATA[`.
    Cdata,
    /// `]]>`.
    CdataEnd,
    /// Nothing, in text.
    Hidden,
}

/// Words and their meanings, in one order.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) texts: Vec<&'static str>,
    kinds: Vec<Word>,
}

impl Words {
    /// Adds `texts`; empty ones and those that are there already are left out.
    pub(crate) fn add(&mut self, kind: Word, texts: &[&'static str]) {
        for text in texts {
            if !text.is_empty() && !self.texts.contains(text) {
                self.texts.push(text);
                self.kinds.push(kind);
            }
        }
    }

    /// The output has ended with the beginning of a word, which was cut off.
    pub(crate) fn is_cut(&self, input: &Input) -> bool {
        let rest = input.rest();
        let begins = |word: &&str| word.len() > rest.len() && word.starts_with(rest);
        input.has_ended() && !rest.is_empty() && self.texts.iter().any(begins)
    }

    /// The meaning and the length of word `index`.
    pub(crate) fn get(&self, index: usize) -> (Word, usize) {
        (self.kinds[index], self.texts[index].len())
    }
}
