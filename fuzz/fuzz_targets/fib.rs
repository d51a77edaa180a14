//! Route changes of any kind against the golden table: `cargo +nightly fuzz run fib`.

#![no_main]

#[path = "../../crates/fib/tests/script/mod.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::run(bytes));
