//! Of `twin/src/cause.rs`.

use super::*;

fn neighbours(states: &[u16]) -> BTreeMap<Vec<u8>, u16> {
    (0..)
        .map(|number| vec![number])
        .zip(states.iter().copied())
        .collect()
}

fn ways(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn each_cause_excuses_only_what_it_names() {
    const FAILED: u16 = libc::NUD_FAILED;
    const STALE: u16 = libc::NUD_STALE;
    const REACHABLE: u16 = libc::NUD_REACHABLE;
    let none = Signs::default;
    assert_eq!(none().cause(), None);
    let missed = Signs {
        missed: 1,
        ..none()
    };
    assert_eq!(missed.cause(), Some(Cause::Unheard));
    let full = Signs {
        no_room: 1,
        ..none()
    };
    assert_eq!(full.cause(), Some(Cause::NoRoom));
    let crowded = Signs {
        crowding: 1,
        ..none()
    };
    assert_eq!(crowded.cause(), Some(Cause::Crowded));

    let of_ways = |kernel: &[&str], routed: &[&str]| Signs {
        ways: [ways(kernel), ways(routed)],
        ..none()
    };
    let (one, other) = ("10.9.0.0/16 via 10.1.0.2", "10.9.0.0/16 via 10.2.0.2");
    assert_eq!(of_ways(&[one], &[one]).cause(), None);
    assert_eq!(of_ways(&[one], &[other]).cause(), Some(Cause::Unlike));
    assert_eq!(of_ways(&[one], &[]).cause(), Some(Cause::Unlike));

    let of_neighbours = |kernel: &[u16], routed: &[u16]| Signs {
        neighbours: [neighbours(kernel), neighbours(routed)],
        ..none()
    };
    let unanswered = Some(Cause::Unanswered);
    for (given_up, answered) in [(FAILED, STALE), (FAILED, REACHABLE)] {
        assert_eq!(of_neighbours(&[given_up], &[answered]).cause(), unanswered);
        assert_eq!(of_neighbours(&[answered], &[given_up]).cause(), unanswered);
    }
    // Both have given it up, both have an answer, only one has ever asked.
    assert_eq!(of_neighbours(&[FAILED], &[FAILED]).cause(), None);
    assert_eq!(of_neighbours(&[STALE], &[REACHABLE]).cause(), None);
    assert_eq!(of_neighbours(&[STALE, FAILED], &[STALE]).cause(), None);

    let took = |slowest| Signs { slowest, ..none() };
    assert_eq!(took(ANSWERED).cause(), None);
    let longer = ANSWERED + Duration::from_millis(1);
    assert_eq!(took(longer).cause(), Some(Cause::Slow));
    // What is seen explains more than what may have happened meanwhile.
    let both = Signs {
        slowest: longer,
        ..of_neighbours(&[FAILED], &[STALE])
    };
    assert_eq!(both.cause(), unanswered);
}
