//! Of `src/count.rs`.

use super::*;

/// A flow with a frame each 10 ns: a digit is the node by which it came, 100 ns later, `-` a lost one.
fn flow(script: &str) -> Vec<Frame> {
    let frames = script.chars().enumerate().map(|(number, came)| {
        let at = 10 * number as u64;
        let came = came.to_digit(10).map(|node| Arrival {
            by: node as u8,
            at: at + 100,
        });
        Frame { at, came }
    });
    frames.collect()
}

/// A flow of one node whose frames came in this order, by their numbers; others were lost.
fn arrived(order: &[usize]) -> Vec<Frame> {
    let frames = (0..=order.iter().copied().max().unwrap()).map(|number| {
        let place = order.iter().position(|&came| came == number);
        let came = place.map(|place| Arrival {
            by: 1,
            at: 1000 + place as u64,
        });
        Frame {
            at: 10 * number as u64,
            came,
        }
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

#[test]
fn a_frame_is_reordered_when_one_with_a_higher_number_came_before() {
    for (order, expected) in [
        (&[0, 1, 2, 3][..], 0),
        // Lost is not late.
        (&[0, 3, 5], 0),
        (&[0, 2, 1, 3], 1),
        // The one that is early makes three late.
        (&[3, 0, 1, 2, 4], 3),
        (&[3, 2, 1, 0], 3),
    ] {
        let found = figures(&[arrived(order)], 0, 1);
        assert_eq!(found.reordered, expected, "{order:?}");
    }
}

#[test]
fn it_is_healed_when_the_last_flow_that_lost_has_a_frame_again() {
    let healed = |scripts: &[&str]| {
        let flows: Vec<_> = scripts.iter().map(|script| flow(script)).collect();
        figures(&flows, 0, 1).healed
    };
    assert_eq!(healed(&["1111", "1111"]), None);
    assert_eq!(healed(&["1-11", "1111"]), Some(20));
    assert_eq!(healed(&["1-111", "1-1-1"]), Some(40));
    // One is not.
    assert_eq!(healed(&["1-111", "1-1--"]), None);
}
