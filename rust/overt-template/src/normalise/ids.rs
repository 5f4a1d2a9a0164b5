//! Ids of calls: as sent, unless a template refuses them or fails where there is none.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::kinds::{Change, Normalisation};
use super::pairs::{answers, calls, calls_mut, is_tool};
use super::probe::{Base, FUNCTION, RESULT, remove};
use super::wants::{Speaker, Wants};

/// Letters and digits of an id that strict templates take.
const LENGTH: usize = 9;

pub(super) fn probe_short(base: &Base<'_>) -> bool {
    with_ids(base, Some("call_ovid0000000000000001"), Some("call_ovid0000000000000001")).is_none()
}

pub(super) fn probe_needed(base: &Base<'_>) -> bool {
    use super::probe::SHORT_ID;
    let Some(whole) = base.rendered() else { return false };
    let loses = |text: Option<String>| {
        text.is_none_or(|text| {
            [RESULT, FUNCTION]
                .iter()
                .any(|word| text.matches(word).count() < whole.matches(word).count())
        })
    };
    [(None, None), (Some(SHORT_ID), None)]
        .into_iter()
        .any(|(call, answer)| loses(with_ids(base, call, answer)))
}

fn with_ids(base: &Base<'_>, call: Option<&str>, answer: Option<&str>) -> Option<String> {
    let (caller, tool) = (base.at(Speaker::Caller)?, base.at(Speaker::Tool));
    let put = |object: &mut Json, key: &str, id: Option<&str>| match id {
        Some(id) => object[key] = json!(id),
        None => remove(object, key),
    };
    base.with(|messages| {
        put(&mut messages[caller]["tool_calls"][0], "id", call);
        if let Some(tool) = tool {
            put(&mut messages[tool], "tool_call_id", answer);
        }
    })
}

/// Makes ids that are missing, and maps those that the template refuses.
pub(super) fn apply(messages: &mut [Json], wants: &Wants, changes: &mut Vec<Change>) {
    if !wants.needs_ids && !wants.short_ids {
        return;
    }
    let (mut missing, mut refused) = (false, false);
    let mut taken: HashSet<String> = HashSet::new();
    each_id(messages, |id| match id {
        None | Some(Json::Null) => missing = true,
        Some(id) if fits(id) => drop(id.as_str().map(|id| taken.insert(id.to_owned()))),
        Some(_) => refused = true,
    });
    if wants.short_ids && refused {
        map(messages, &mut taken, changes);
    }
    if wants.needs_ids && missing {
        make(messages, &mut taken, changes);
    }
}

fn map(messages: &mut [Json], taken: &mut HashSet<String>, changes: &mut Vec<Change>) {
    let mut mapped: HashMap<String, String> = HashMap::new();
    each_id_mut(messages, |path, id| {
        if id.is_null() || fits(id) {
            return;
        }
        let old = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let new = mapped.entry(old).or_insert_with_key(|old| fresh(old, taken));
        *id = Json::String(new.clone());
        changes.push(Change { normalisation: Normalisation::ToolCallIdMapped, path: path() });
    });
}

fn make(messages: &mut [Json], taken: &mut HashSet<String>, changes: &mut Vec<Change>) {
    let mut tell =
        |path| changes.push(Change { normalisation: Normalisation::ToolCallIdMade, path });
    // Found before the calls have ids: a message without one answers by order.
    let answers = answers(messages);
    for (index, message) in messages.iter_mut().enumerate() {
        for (at, call) in calls_mut(message).iter_mut().enumerate() {
            if let Json::Object(call) = call
                && call.get("id").is_none_or(Json::is_null)
            {
                let path = format!("messages[{index}].tool_calls[{at}].id");
                call.insert("id".to_owned(), Json::String(fresh(&path, taken)));
                tell(path);
            }
        }
    }
    for answer in answers {
        let id = calls(&messages[answer.caller])
            .get(answer.call)
            .and_then(|call| call.get("id"))
            .cloned();
        if let (Some(id @ Json::String(_)), Json::Object(tool)) = (id, &mut messages[answer.tool])
            && tool.get("tool_call_id").is_none_or(Json::is_null)
        {
            tool.insert("tool_call_id".to_owned(), id);
            tell(format!("messages[{}].tool_call_id", answer.tool));
        }
    }
}

fn fits(id: &Json) -> bool {
    id.as_str().is_some_and(|id| id.chars().count() == LENGTH)
}

/// An id of letters and digits that follows from `seed`, and that no other call has.
fn fresh(seed: &str, taken: &mut HashSet<String>) -> String {
    let mut round = 0u32;
    loop {
        let id = hashed(seed, round);
        if taken.insert(id.clone()) {
            return id;
        }
        round = round.wrapping_add(1);
    }
}

fn hashed(seed: &str, round: u32) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // FNV-1a, then a mix, since its low bits alone spread badly.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in seed.bytes().chain(round.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 29;
    let mut id = String::with_capacity(LENGTH);
    for _ in 0..LENGTH {
        id.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    id
}

fn each_id(messages: &[Json], mut see: impl FnMut(Option<&Json>)) {
    for message in messages {
        for call in calls(message) {
            see(call.get("id"));
        }
        if is_tool(message) {
            see(message.get("tool_call_id"));
        }
    }
}

fn each_id_mut(messages: &mut [Json], mut change: impl FnMut(&dyn Fn() -> String, &mut Json)) {
    for (index, message) in messages.iter_mut().enumerate() {
        for (at, call) in calls_mut(message).iter_mut().enumerate() {
            if let Some(id) = call.get_mut("id") {
                change(&|| format!("messages[{index}].tool_calls[{at}].id"), id);
            }
        }
        if is_tool(message)
            && let Some(id) = message.get_mut("tool_call_id")
        {
            change(&|| format!("messages[{index}].tool_call_id"), id);
        }
    }
}
