use super::*;

#[test]
fn the_three_parts_are_exactly_the_growth_of_cpu_time() {
    let one = Counters {
        instructions: 1e9,
        cycles: 8e8,
        cpu: 0.25,
    };
    let many = Counters {
        instructions: 1.2e9,
        cycles: 1.5e9,
        cpu: 0.6,
    };
    let parts = inflation(&one, &many).unwrap();
    let sum = parts.instructions + parts.stalls + parts.clock;
    assert!((sum - (one.cpu / many.cpu).ln()).abs() < 1e-12);
    assert!(parts.instructions < 0.0 && parts.stalls < 0.0 && parts.clock < 0.0);
}

#[test]
fn a_counter_that_did_not_count_gives_nothing() {
    let one = Counters {
        instructions: 1e9,
        cycles: 8e8,
        cpu: 0.25,
    };
    assert_eq!(inflation(&one, &Counters { cycles: 0.0, ..one }), None);
}
