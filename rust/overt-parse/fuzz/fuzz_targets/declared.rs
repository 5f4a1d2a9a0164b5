//! See [`overt_parse_fuzz::run`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| overt_parse_fuzz::run("declared", data));
