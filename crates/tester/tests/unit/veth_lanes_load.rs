//! Of `tester/src/veth/lanes/load.rs`.

use super::*;

#[test]
fn every_core_sends_to_all_destinations_and_begins_elsewhere() {
    let all: Vec<u32> = (0..1000).collect();
    for place in 0..3 {
        let mut own = turned(&all, place, 3);
        assert_eq!(own[0], 333 * place as u32);
        own.sort_unstable();
        assert_eq!(own, all, "core {place}");
    }
    assert_eq!(turned(&[7], 2, 3), [7], "fewer than cores");
}

#[test]
fn calls_take_about_as_long_whatever_a_frame_takes() {
    let took = |frames: u32, each_ns: u64| {
        next_call(frames, Duration::from_nanos(each_ns * u64::from(frames)))
    };
    assert_eq!(took(CALL, 500), 10_000);
    assert_eq!(took(700, 2_000), 2_500);
    assert_eq!(took(CALL, 1), *CALLS.end(), "however fast");
    assert_eq!(took(CALL, 1_000_000), *CALLS.start(), "however slow");
    assert_eq!(next_call(CALL, Duration::ZERO), *CALLS.end());
}
