//! Strings: length, pattern, format.

use serde_json::{Value, json};

use super::{Object, Place, Walker, formats};
use crate::pattern;
use crate::source::Refused;

impl Walker<'_> {
    pub(super) fn strings(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
        also: &mut Vec<Value>,
    ) -> Result<(), Refused> {
        let shortest = self.count(map, "minLength", place, out)?.unwrap_or(0);
        if let Some(longest) = self.count(map, "maxLength", place, out)?
            && longest < shortest
        {
            return place
                .at("maxLength")
                .refuse(format!("{longest} is below minLength, which is {shortest}"));
        }
        if let Some(value) = map.get("pattern") {
            let here = place.at("pattern");
            let Some(regex) = value.as_str() else { return here.refuse("must be a text") };
            pattern::whole(regex, self.limits.regex_bytes).or_else(|error| here.refuse(error))?;
            out.insert("pattern".to_owned(), value.clone());
        }
        if let Some(value) = map.get("format") {
            let here = place.at("format");
            let Some(name) = value.as_str() else { return here.refuse("must be a text") };
            match formats::pattern(name) {
                Some(regex) => super::keywords::put(out, also, "pattern", json!(regex)),
                None if formats::NOTES.contains(&name) || !may_be_text(map) => {}
                None => {
                    return here.refuse(format!(
                        "format {name} cannot be enforced; these can: {}; or say it with a pattern",
                        formats::names()
                    ));
                }
            }
        }
        Ok(())
    }

    /// A keyword that counts something; it is copied.
    pub(super) fn count(
        &mut self,
        map: &Object,
        keyword: &str,
        place: &Place,
        out: &mut Object,
    ) -> Result<Option<u64>, Refused> {
        let Some(value) = map.get(keyword) else { return Ok(None) };
        let here = place.at(keyword);
        let whole = value.as_f64().filter(|value| value.fract() == 0.0 && *value >= 0.0);
        let count = match value.as_u64().or(whole.map(|value| value as u64)) {
            Some(count) => count,
            None => return here.refuse("must be a whole number, 0 or more"),
        };
        if count > self.limits.repeats {
            // A maximum that no output reaches need not be enforced; a minimum must.
            if keyword.starts_with("max") {
                return Ok(None);
            }
            return here.refuse(format!("{count}; at most {} is allowed", self.limits.repeats));
        }
        out.insert(keyword.to_owned(), json!(count));
        Ok(Some(count))
    }
}

fn may_be_text(map: &Object) -> bool {
    match map.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "string"),
        Some(name) => name == "string",
        None => true,
    }
}
