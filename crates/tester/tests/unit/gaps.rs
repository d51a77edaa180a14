use super::*;

#[test]
fn only_late_looks_count_and_the_worst_core_does() {
    let mut gaps = Gaps::default();
    for (due, now) in [
        (1_000_000, 1_050_000),
        (3_000_000, 3_900_000),
        (5_000_000, 5_400_000),
    ] {
        gaps.look(due, now);
    }
    let expected = Gaps {
        away_ns: 1_300_000,
        longest_ns: 900_000,
    };
    assert_eq!(gaps, expected);
    assert_eq!(Gaps::default().worse(gaps), expected);
    assert_eq!(gaps.worse(Gaps::default()), expected);
}

/// Somebody of a higher priority has the core for 20 ms, as a hypervisor would.
#[test]
fn a_core_that_is_taken_away_is_seen() {
    if !needs::root("for a real-time priority") {
        return;
    }
    let _alone = needs::cores();
    let cores = host::allowed_cores().unwrap();
    let last = cores.last().copied().unwrap();
    let lookers = Lookers::on(&cores);
    let thief = std::thread::spawn(move || {
        let _pinned = Pinned::to(last).unwrap();
        rank(0, Rank::First(3)).unwrap();
        let until = host::clock::now_ns() + 20_000_000;
        while host::clock::now_ns() < until {}
    });
    thief.join().unwrap();
    let gaps = lookers.end();
    assert!(gaps.longest_ns > 10_000_000, "{gaps:?}");
}
