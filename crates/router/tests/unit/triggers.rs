//! Of `router/src/instance/triggers.rs`.

use super::*;

fn config() -> Recorder {
    Recorder {
        above: "blackhole=100, stale=0".parse().unwrap(),
        stall_seconds: 3,
        ..Recorder::default()
    }
}

fn second(received: u64, forwarded: u64, blackhole: u64) -> Second {
    Second {
        seconds: 1.0,
        received,
        forwarded,
        left: BTreeMap::from([("blackhole", blackhole)]),
        equal: Some(true),
    }
}

fn said(whys: &[Why]) -> Vec<&str> {
    whys.iter().map(|why| why.said.as_str()).collect()
}

fn triggers_of(whys: &[Why]) -> Vec<&'static str> {
    whys.iter().map(|why| why.trigger).collect()
}

#[test]
fn causes_that_begin_in_one_second_are_all_told() {
    let (mut triggers, config) = (Triggers::default(), config());
    let mut both = second(10, 5, 300);
    both.left.insert("stale", 2);
    both.equal = Some(false);
    let whys = triggers.judge(&config, &both);
    assert_eq!(triggers_of(&whys), ["above", "above", "different"]);
    assert_eq!(
        said(&whys),
        [
            "blackhole: 300 frames a second, above 100",
            "stale: 2 frames a second, above 0",
            "the tables differ from the kernel's: corelane verify",
        ]
    );
    assert_eq!(triggers.judge(&config, &both), []);
}

#[test]
fn a_reason_above_its_rate_is_told_when_it_begins() {
    let (mut triggers, config) = (Triggers::default(), config());
    let told = [50, 100, 101, 5000, 90, 102]
        .map(|frames| triggers.judge(&config, &second(5000, 1000, frames)));
    let told: Vec<_> = told.iter().map(Vec::len).collect();
    assert_eq!(told, [0, 0, 1, 0, 0, 1]);
    let mut stale = second(10, 5, 0);
    stale.left.insert("stale", 1);
    let whys = triggers.judge(&config, &stale);
    assert_eq!(said(&whys), ["stale: 1 frames a second, above 0"]);
}

#[test]
fn frames_that_come_and_are_not_forwarded_are_a_stall() {
    let (mut triggers, config) = (Triggers::default(), config());
    let mut judge = |received, forwarded| {
        let whys = triggers.judge(&config, &second(received, forwarded, 0));
        triggers_of(&whys)
    };
    let none: Vec<&str> = Vec::new();
    // Without traffic before, what comes is for others.
    assert!((0..6).all(|_| judge(500, 0) == none));
    assert_eq!(judge(1000, 900), none);
    // Traffic that ends.
    assert!((0..6).all(|_| judge(20, 0) == none));
    assert_eq!(judge(1000, 900), none);
    let told = [(); 5].map(|()| judge(1000, 0));
    assert_eq!(told, [&none[..], &none, &["stall"], &none, &none]);
    assert_eq!(judge(1000, 900), none);
    assert_eq!(judge(1000, 0), none);
    let mut never = Triggers::default();
    let config = Recorder {
        stall_seconds: 0,
        ..config
    };
    never.judge(&config, &second(1000, 900, 0));
    assert_eq!(never.judge(&config, &second(1000, 0, 0)), []);
}

#[test]
fn a_difference_is_told_once() {
    let (mut triggers, config) = (Triggers::default(), config());
    let mut judge = |equal| {
        let second = Second {
            equal,
            ..second(0, 0, 0)
        };
        triggers_of(&triggers.judge(&config, &second))
    };
    let told = [
        None,
        Some(true),
        Some(false),
        Some(false),
        Some(true),
        Some(false),
    ]
    .map(&mut judge);
    let (none, one): ([&str; 0], _) = ([], ["different"]);
    assert_eq!(told, [&none[..], &none, &one, &none, &none, &one]);
}
