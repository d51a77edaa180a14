//! Of `twin/src/kernel.rs`.

use host::bed::{Bed, side};

use super::*;

#[test]
fn crowding_is_the_sum_over_the_cores() {
    let text = "entries  hits forced_gc_runs table_fulls\n\
                00000038 0003 00000081       00000001\n\
                00000038 0004 000002b7       0000012d\n";
    assert_eq!(crowding_in(text), 0x81 + 0x2b7 + 1 + 0x12d);
    assert_eq!(crowding_in(""), 0);
}

/// Also those that `ip neigh flush` leaves: nothing of a case is there in the next.
#[test]
fn no_neighbour_of_any_state_is_left() {
    if !needs::root("for network namespaces") {
        return;
    }
    let router = side("r", "r0")
        .address("10.0.0.1/24")
        .address("fd00:0::1/64");
    let bed = Bed::plan().cable(router, side("a", "e0")).lay().unwrap();
    let namespace = bed.namespace("r").unwrap();
    let states = [
        "permanent",
        "noarp",
        "reachable",
        "stale",
        "delay",
        "failed",
    ];
    for (number, state) in (10..).zip(states) {
        for address in [format!("10.0.0.{number}"), format!("fd00:0::{number}")] {
            let mac = "lladdr 02:00:00:00:00:09 dev r0 nud";
            namespace
                .ip(format!("neigh add {address} {mac} {state}"))
                .unwrap();
        }
    }
    let mut kernel = Kernel::of(namespace).unwrap();
    // Those of groups the kernel makes by itself: `NUD_NOARP`, for ff02::.
    let count = |kernel: &mut Kernel| {
        let neighbours = kernel.neighbours().unwrap();
        let of_a_case = |neighbour: &&Vec<u8>| neighbour[4] != 0xff;
        let given_up = |state: u16| state == libc::NUD_FAILED;
        let known = neighbours
            .iter()
            .filter(|(neighbour, _)| of_a_case(neighbour));
        let (gone, left): (Vec<_>, Vec<_>) = known.partition(|(_, state)| given_up(**state));
        (gone.len(), left.len())
    };
    assert_eq!(count(&mut kernel), (2, 10));
    kernel.forget_neighbours().unwrap();
    assert_eq!(count(&mut kernel).1, 0);
}
