//! Formats of strings, as patterns. Each accepts a part of its format that every validator agrees on: no leap seconds,
//! no names at the edge of their length. Names are written as runs of letters and digits, which the masks' slices
//! (see `factory`) cover without a walk over the vocabulary.

/// Formats that describe and do not constrain.
pub(super) const NOTES: [&str; 6] = ["password", "binary", "textarea", "color", "markdown", "html"];

macro_rules! date {
    () => {
        concat!(
            "(?:(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-",
            "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|",
            "02-(?:0[1-9]|1[0-9]|2[0-8]))|",
            "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
        )
    };
}

macro_rules! time {
    () => {
        "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,6})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])"
    };
}

macro_rules! label {
    () => {
        "[a-zA-Z0-9]{1,30}(?:-[a-zA-Z0-9]{1,15}){0,2}"
    };
}

macro_rules! octet {
    () => {
        "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    };
}

macro_rules! local {
    () => {
        "[a-zA-Z0-9]{1,30}(?:[._+-][a-zA-Z0-9]{1,15}){0,2}"
    };
}

macro_rules! path_char {
    () => {
        "(?:[a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2})"
    };
}

const FORMATS: [(&str, &str); 12] = [
    ("date-time", concat!("^", date!(), "T", time!(), "$")),
    ("date", concat!("^", date!(), "$")),
    ("time", concat!("^", time!(), "$")),
    (
        "duration",
        concat!(
            "^P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)",
            "(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|",
            "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))$"
        ),
    ),
    ("email", concat!("^", local!(), "@", label!(), "(?:\\.", label!(), "){1,4}$")),
    ("hostname", concat!("^", label!(), "(?:\\.", label!(), "){0,6}$")),
    ("ipv4", concat!("^(?:", octet!(), "\\.){3}", octet!(), "$")),
    (
        "ipv6",
        concat!(
            "^(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|::(?:[0-9a-fA-F]{1,4}:){0,6}[0-9a-fA-F]{1,4}|",
            "[0-9a-fA-F]{1,4}::(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{1,4}|",
            "(?:[0-9a-fA-F]{1,4}:){2}:(?:[0-9a-fA-F]{1,4}:){0,4}[0-9a-fA-F]{1,4}|",
            "(?:[0-9a-fA-F]{1,4}:){3}:(?:[0-9a-fA-F]{1,4}:){0,3}[0-9a-fA-F]{1,4}|",
            "(?:[0-9a-fA-F]{1,4}:){4}:(?:[0-9a-fA-F]{1,4}:){0,2}[0-9a-fA-F]{1,4}|",
            "(?:[0-9a-fA-F]{1,4}:){5}:(?:[0-9a-fA-F]{1,4}:)?[0-9a-fA-F]{1,4}|",
            "(?:[0-9a-fA-F]{1,4}:){6}:[0-9a-fA-F]{1,4}|::|(?:[0-9a-fA-F]{1,4}:){1,7}:)$"
        ),
    ),
    ("uuid", "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"),
    (
        "uri",
        concat!(
            "^[a-zA-Z][a-zA-Z0-9+.-]{0,15}:(?://",
            label!(),
            "(?:\\.",
            label!(),
            "){0,6}(?::[1-9][0-9]{0,3})?",
            "(?:/",
            path_char!(),
            "*)*|",
            path_char!(),
            "+(?:/",
            path_char!(),
            "*)*)",
            "(?:\\?(?:",
            path_char!(),
            "|[/?])*)?(?:#(?:",
            path_char!(),
            "|[/?])*)?$"
        ),
    ),
    ("json-pointer", "^(?:/(?:[^~/\\x00-\\x1f\\x7f]|~[01])*)*$"),
    ("byte", "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"),
];

/// The pattern of a format.
pub(super) fn pattern(name: &str) -> Option<&'static str> {
    FORMATS.iter().find(|(format, _)| *format == name).map(|(_, pattern)| *pattern)
}

/// The formats that have one, for a message.
pub(super) fn names() -> String {
    FORMATS.map(|(name, _)| name).join(", ")
}
