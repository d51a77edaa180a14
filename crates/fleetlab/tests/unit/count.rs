//! Of `src/count.rs`.

use super::*;

/// A flow with a frame each 10 ns: a digit is the node by which it came, `-` a lost one.
fn flow(script: &str) -> Vec<Frame> {
    let frames = script.chars().enumerate().map(|(number, came)| Frame {
        at: 10 * number as u64,
        by: came.to_digit(10).map(|node| node as u8),
    });
    frames.collect()
}

#[test]
fn an_outage_goes_from_the_first_lost_frame_to_the_next_that_came() {
    for (script, lost, outage) in [
        ("1111", 0, 0),
        ("1-11", 1, 10),
        ("1--11-1", 3, 20),
        // Not over: so long at least.
        ("11---", 3, 20),
        ("", 0, 0),
    ] {
        let found = figures(&[flow(script)], 0, 1);
        assert_eq!((found.lost, found.outage), (lost, outage), "{script}");
    }
}

#[test]
fn the_longest_outage_of_all_flows_counts() {
    let found = figures(&[flow("1-11"), flow("1---1"), flow("11")], 0, 1);
    assert_eq!((found.sent, found.lost, found.outage), (11, 4, 30));
}

#[test]
fn a_flow_moves_once_and_needlessly_when_the_node_had_no_part() {
    let moved = |script, node| {
        let found = figures(&[flow(script)], 20, node);
        (found.moved, found.needlessly)
    };
    assert_eq!(moved("111222", 1), (1, 0));
    assert_eq!(moved("11-222", 2), (1, 0));
    assert_eq!(moved("111222", 3), (1, 1));
    assert_eq!(moved("112121", 1), (1, 0));
    // Before the event it was another's doing.
    assert_eq!(moved("122222", 1), (0, 0));
    // From the dead node to a living one, and from there to another living one.
    assert_eq!(moved("111223", 1), (1, 1));
}
