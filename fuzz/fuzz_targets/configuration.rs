//! Configuration files: `cargo +nightly fuzz run configuration`.

#![no_main]

#[path = "../../crates/router/tests/inputs/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configuration::run(bytes));
