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
