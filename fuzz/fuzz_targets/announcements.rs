//! Messages of rtnetlink, as the router follows them: `cargo +nightly fuzz run announcements`.

#![no_main]

#[path = "../../crates/router/tests/inputs/announcements.rs"]
mod announcements;
#[path = "../../crates/router/tests/recording.rs"]
mod recording;
#[path = "../../crates/router/tests/inputs/shape.rs"]
mod shape;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| announcements::run(bytes));
