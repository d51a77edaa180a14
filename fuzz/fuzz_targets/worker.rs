//! Frames of any bytes and lengths through the worker's whole path: `cargo +nightly fuzz run
//! worker`.

#![no_main]

#[path = "../../crates/router/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

/// Bytes of a frame at most, before its length in the input.
const LONGEST: usize = 2_048;

fuzz_target!(|bytes: &[u8]| {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let Some((length, tail)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)) % LONGEST;
        let (frame, tail) = tail.split_at(length.min(tail.len()));
        // An empty frame is no frame: no port delivers one.
        if !frame.is_empty() {
            frames.push(frame.to_vec());
        }
        rest = tail;
    }
    let received = frames.len() as u64;
    let mut bench = support::bench();
    bench.run(frames);
    let counted = bench.counted();
    assert!(
        counted.closes() && counted.received == received,
        "{counted:?}"
    );
});
