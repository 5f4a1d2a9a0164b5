//! Every parser name of both servers is known, and names one format.

use std::path::PathBuf;

use overt_parse::{DECLARED, reasoning_format, tool_format};
use serde_json::Value;

fn list() -> Option<Value> {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/reference/parser_names.json"]
        .iter()
        .collect();
    let text = std::fs::read_to_string(file).ok()?;
    Some(serde_json::from_str(&text).expect("a list of names"))
}

#[test]
fn every_name_of_both_servers_is_known() {
    let Some(list) = list() else {
        return; // The list of names is not at hand.
    };
    let mut unknown = Vec::new();
    for (server, kinds) in list.as_object().expect("servers") {
        for kind in ["tool", "reasoning"] {
            for name in kinds[kind].as_array().expect("names").iter().filter_map(Value::as_str) {
                let found = match kind {
                    "tool" => tool_format(name).is_some(),
                    _ => reasoning_format(name).is_some(),
                };
                // The checkpoint itself declares these.
                if !found && !DECLARED.contains(&name) {
                    unknown.push(format!("{server} {kind} {name}"));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "unknown: {unknown:?}");
}
