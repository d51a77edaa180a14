//! Of `src/timeline.rs`.

use super::*;
use crate::count::Arrival;

const MS: u64 = 1_000_000;

/// A frame each 10 ms: a digit is the node by which it came, `-` a lost one.
fn flow(script: &str) -> Vec<Frame> {
    let frames = (0..).zip(script.chars()).map(|(number, came)| {
        let at = 10 * MS * number;
        let came = came.to_digit(10).map(|node| Arrival {
            by: node as u8,
            at: at + 1,
        });
        Frame { at, came }
    });
    frames.collect()
}

#[test]
fn each_frame_is_in_the_step_in_which_it_was_sent() {
    let flows = [flow("1111--22"), flow("2222222-")];
    let found = timeline(&flows, 0, 80 * MS, 40 * MS, 1);
    assert_eq!(found.sent, [4, 4, 4, 4]);
    assert_eq!(found.came, [4, 4, 2, 3]);
    assert_eq!(found.by_node, [2, 2, 0, 0]);
    assert!((found.begins_ms + 40.0).abs() < 1e-9 && (found.step_ms - 20.0).abs() < 1e-9);
}

#[test]
fn a_long_window_has_longer_steps_and_no_more_of_them() {
    let found = timeline(&[], 0, 600_000 * MS, 300 * MS, 1);
    assert_eq!(found.sent.len() as u64, MOST_STEPS);
    assert!((found.step_ms - 5000.0).abs() < 1e-9);
}
