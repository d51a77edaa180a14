//! Answers about rules, hooks and disciplines, as the guard reads them: `cargo +nightly fuzz run
//! treatments`.

#![no_main]

#[path = "../../crates/router/tests/inputs/shape.rs"]
mod shape;
#[path = "../../crates/router/tests/inputs/treatments.rs"]
mod treatments;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| treatments::run(bytes));
