//! All integration tests in one binary: one is linked, not twenty.

#![allow(unreachable_pub, reason = "what the modules share is public to them")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panic")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test says what it skips")]

mod common;

mod answers;
mod braces;
mod channels;
mod channels_written;
mod corpus;
mod declared;
mod described;
mod elements;
mod every;
mod every_properties;
mod families;
mod json_cases;
mod json_heads;
mod json_lists;
mod json_objects;
mod json_signs;
mod names;
mod pairs;
mod pythonic;
mod sections;
mod spelled;
mod tags;
mod tags_corpus;
mod tags_families;
mod thinking;
mod typed_properties;
