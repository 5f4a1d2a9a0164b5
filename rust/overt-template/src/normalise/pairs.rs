//! Which call a tool message answers.

use std::collections::{HashMap, VecDeque};

use serde_json::Value as Json;

/// A tool message and its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// Index of the tool message.
    pub(super) tool: usize,
    /// Index of the message that makes the call.
    pub(super) caller: usize,
    /// Index of the call in that message.
    pub(super) call: usize,
}

/// The calls of a message; a tool makes none.
pub(super) fn calls(message: &Json) -> &[Json] {
    let calls = message.get("tool_calls").filter(|_| !is_tool(message));
    calls.and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// The same, to be changed.
pub(super) fn calls_mut(message: &mut Json) -> &mut [Json] {
    let tool = is_tool(message);
    match message.get_mut("tool_calls") {
        Some(Json::Array(calls)) if !tool => calls,
        _ => &mut [],
    }
}

pub(super) fn is_tool(message: &Json) -> bool {
    message.get("role").and_then(Json::as_str) == Some("tool")
}

/// Every tool message whose call is known: by its id, or, without one, by the order of those not answered yet.
pub(super) fn answers(messages: &[Json]) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut last = Caller::default();
    let mut by_id: HashMap<&str, VecDeque<(usize, usize)>> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        let calls = calls(message);
        if !calls.is_empty() {
            last = Caller { index, answered: vec![false; calls.len()], next: 0 };
            for (at, id) in calls.iter().map(|call| call.get("id")).enumerate() {
                let Some(id) = id.and_then(Json::as_str) else { continue };
                let places = by_id.entry(id).or_default();
                // An id that an earlier message used is this one's now.
                if places.front().is_some_and(|(caller, _)| *caller != index) {
                    places.clear();
                }
                places.push_back((index, at));
            }
        }
        if !is_tool(message) {
            continue;
        }
        let found = match message.get("tool_call_id").filter(|id| !id.is_null()) {
            Some(id) => id
                .as_str()
                .and_then(|id| by_id.get_mut(id))
                .and_then(|places| last.first_open(places)),
            None => last.next_open(),
        };
        if let Some((caller, call)) = found {
            last.answer(caller, call);
            answers.push(Answer { tool: index, caller, call });
        }
    }
    answers
}

/// The latest message that made calls.
#[derive(Default)]
struct Caller {
    index: usize,
    answered: Vec<bool>,
    /// No call before it is open.
    next: usize,
}

impl Caller {
    fn is_answered(&self, (caller, call): (usize, usize)) -> bool {
        caller == self.index && self.answered.get(call).is_some_and(|answered| *answered)
    }

    /// The first of several calls with one id that has no answer yet, or else the last of them.
    fn first_open(&self, places: &mut VecDeque<(usize, usize)>) -> Option<(usize, usize)> {
        while places.len() > 1 && self.is_answered(places[0]) {
            places.pop_front();
        }
        places.front().copied()
    }

    fn next_open(&mut self) -> Option<(usize, usize)> {
        while self.answered.get(self.next).is_some_and(|answered| *answered) {
            self.next += 1;
        }
        (self.next < self.answered.len()).then_some((self.index, self.next))
    }

    fn answer(&mut self, caller: usize, call: usize) {
        if caller == self.index
            && let Some(answered) = self.answered.get_mut(call)
        {
            *answered = true;
        }
    }
}
