use host::Pinned;
use host::favour::{Rank, rank};
use host::lookers::EVERY;

use super::*;

#[test]
fn only_late_looks_count_and_the_worst_core_does() {
    let mut gaps = Gaps::default();
    for (due, now, ready) in [
        (1_000_000, 1_050_000, 0),
        (3_000_000, 3_900_000, 0),
        (5_000_000, 5_450_000, 50_000),
        // The core worked all the while.
        (7_000_000, 9_000_000, 1_900_000),
    ] {
        gaps.look(due, now, ready);
    }
    let expected = Gaps {
        away_ns: 1_300_000,
        longest_ns: 900_000,
        ran: Duration::ZERO,
    };
    assert_eq!(gaps, expected);
    assert_eq!(Gaps::default().worse(gaps), expected);
    assert_eq!(gaps.worse(Gaps::default()), expected);
}

#[test]
fn no_more_is_ours_than_each_looker_ran() {
    let ran = |ns| Gaps {
        ran: Duration::from_nanos(ns),
        ..Gaps::default()
    };
    assert_eq!(ran(3).worse(ran(2)).worse(ran(4)), ran(2));
    assert_eq!(ran(3).worse(Gaps::default()), ran(0));
    if needs::root("for a real-time priority") {
        let lookers = Lookers::<Looker>::on(&host::allowed_cores().unwrap());
        std::thread::sleep(10 * EVERY);
        assert!(end(lookers).ran > Duration::ZERO);
    }
}

/// Somebody of a higher priority has the core for 20 ms: the core does not stand still.
#[test]
fn a_core_at_work_does_not_stand_still() {
    if !needs::root("for a real-time priority") {
        return;
    }
    let _alone = needs::cores();
    let cores = host::allowed_cores().unwrap();
    let last = cores.last().copied().unwrap();
    let lookers = Lookers::<Looker>::on(&cores[cores.len() - 1..]);
    let busy = std::thread::spawn(move || {
        let _pinned = Pinned::to(last).unwrap();
        rank(0, Rank::First(3)).unwrap();
        let until = host::clock::now_ns() + 20_000_000;
        while host::clock::now_ns() < until {}
    });
    busy.join().unwrap();
    let gaps = end(lookers);
    assert!(gaps.longest_ns < 10_000_000, "{gaps:?}");
}
