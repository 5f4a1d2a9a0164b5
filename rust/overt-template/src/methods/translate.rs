//! Texts translated character by character.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Args;
use crate::budget;
use crate::error::invalid;
use crate::python::{Dict, Kind, expect_text, int, refused};

pub(super) fn expanded(state: &State, content: &str, size: i128) -> Result<String, Error> {
    let size = usize::try_from(size.max(0)).unwrap_or(usize::MAX);
    budget::make(state, content.len())?;
    let mut out = String::new();
    let mut column = 0usize;
    for c in content.chars() {
        match c {
            '\t' if size > 0 => {
                let spaces = size - column % size;
                budget::make(state, spaces)?;
                out.push_str(&" ".repeat(spaces));
                column = column.saturating_add(spaces);
            }
            '\t' => {}
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(out)
}

pub(super) fn translation(state: &State, args: &Args) -> Result<Value, Error> {
    let [from, to, gone] = args.take(["", "", ""], 1)?;
    let from = from.unwrap_or_default();
    let mut table = Dict::new();
    let code = |c: char| int(i128::from(c as u32));
    match to {
        None => {
            let Kind::Dict(dict) = Kind::of(&from) else { return Err(refused("maketrans", &from)) };
            budget::make(state, dict.len() * 64)?;
            for (key, value) in dict {
                let key = match key.as_str().map(|key| key.chars().collect::<Vec<_>>()).as_deref() {
                    Some([c]) => code(*c),
                    Some(_) => return Err(invalid("maketrans: keys must be single characters")),
                    None => key.clone(),
                };
                table.insert(key, value.clone());
            }
        }
        Some(to) => {
            let (from, to) = (expect_text("maketrans", &from)?, expect_text("maketrans", &to)?);
            budget::make(state, (from.len() + to.len()) * 32)?;
            if from.chars().count() != to.chars().count() {
                return Err(invalid("maketrans: the two texts must be of one length"));
            }
            table.extend(from.chars().zip(to.chars()).map(|(from, to)| (code(from), code(to))));
            if let Some(gone) = gone {
                let gone = expect_text("maketrans", &gone)?;
                budget::make(state, gone.len() * 64)?;
                table.extend(gone.chars().map(|c| (code(c), Value::from(()))));
            }
        }
    }
    Ok(Value::from_object(table))
}

pub(super) fn translated(state: &State, content: &str, table: &Value) -> Result<String, Error> {
    let Kind::Dict(dict) = Kind::of(table) else { return Err(refused("translate", table)) };
    budget::make(state, content.len() * 2)?;
    let mut out = String::new();
    for c in content.chars() {
        match dict.get(&int(i128::from(c as u32))) {
            None => out.push(c),
            Some(new) => match Kind::of(new) {
                Kind::None => {}
                Kind::Str(new) => {
                    budget::make(state, new.len())?;
                    out.push_str(new);
                }
                Kind::Int(code) => match u32::try_from(code).ok().and_then(char::from_u32) {
                    Some(c) => out.push(c),
                    None => return Err(invalid(format!("translate: {code} is no character"))),
                },
                _ => return Err(refused("translate", new)),
            },
        }
    }
    Ok(out)
}
