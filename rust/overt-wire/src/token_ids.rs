//! Token ids of prompts and answers (`return_token_ids`, vLLM's extension).

use std::sync::Arc;

use crate::{envelope, json};

/// Appends ids to a list without brackets, commas between all.
pub(crate) fn join(ids: &[u32], list: &mut Vec<u8>) {
    for id in ids {
        if !list.is_empty() {
            list.push(b',');
        }
        json::number(u64::from(*id), list);
    }
}

/// `[…]`.
pub(crate) fn array(ids: &[u32]) -> Vec<u8> {
    let mut list = Vec::new();
    join(ids, &mut list);
    list.insert(0, b'[');
    list.push(b']');
    list
}

/// `,"token_ids":[…]` of a joined list.
pub(crate) fn write(list: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"token_ids\":[");
    out.extend_from_slice(list);
    out.push(b']');
}

/// Ids of the tokens of a stream that no frame has carried yet, a joined list a choice; no lists where no one
/// asked.
pub(crate) struct Waiting(Vec<Vec<u8>>);

impl Waiting {
    pub(crate) fn new(asked: bool, choices: u32) -> Self {
        Self(if asked { vec![Vec::new(); choices as usize] } else { Vec::new() })
    }

    pub(crate) fn add(&mut self, choice: u32, ids: &[u32]) {
        if let Some(list) = self.0.get_mut(choice as usize) {
            join(ids, list);
        }
    }

    /// Into a frame; nothing where nothing waits.
    pub(crate) fn write(&mut self, choice: u32, out: &mut Vec<u8>) {
        let Some(list) = self.0.get_mut(choice as usize) else { return };
        if !list.is_empty() {
            write(list, out);
            list.clear();
        }
    }

    /// No frame will carry what waits.
    pub(crate) fn forget(&mut self, choice: u32) {
        if let Some(list) = self.0.get_mut(choice as usize) {
            list.clear();
        }
    }
}

/// The prompts that completion choices continue, each an array for all of its choices; no places where no one
/// asked.
pub(crate) struct Prompts {
    of_choices: Vec<Option<Arc<[u8]>>>,
    per_prompt: usize,
}

impl Prompts {
    /// `per_prompt`: choices that continue one prompt.
    pub(crate) fn new(asked: bool, choices: u32, per_prompt: u32) -> Self {
        let choices = if asked { choices as usize } else { 0 };
        Self { of_choices: vec![None; choices], per_prompt: per_prompt.max(1) as usize }
    }

    pub(crate) fn set(&mut self, prompt: u32, ids: &[u32]) {
        let first = (prompt as usize).saturating_mul(self.per_prompt);
        if first >= self.of_choices.len() {
            return;
        }
        let array: Arc<[u8]> = array(ids).into();
        for place in self.of_choices.iter_mut().skip(first).take(self.per_prompt) {
            *place = Some(Arc::clone(&array));
        }
    }

    /// `,"prompt_token_ids":[…]`, once for each choice.
    pub(crate) fn write(&mut self, choice: u32, out: &mut Vec<u8>) {
        if let Some(array) = self.of_choices.get_mut(choice as usize).and_then(Option::take) {
            envelope::member("prompt_token_ids", &array, out);
        }
    }
}
