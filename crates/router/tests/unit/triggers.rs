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

#[test]
fn a_reason_above_its_rate_is_told_when_it_begins() {
    let (mut triggers, config) = (Triggers::default(), config());
    let told = [50, 100, 101, 5000, 90, 102]
        .map(|frames| triggers.judge(&config, &second(5000, 1000, frames)));
    let told: Vec<_> = told.iter().map(Option::is_some).collect();
    assert_eq!(told, [false, false, true, false, false, true]);
    let mut stale = second(10, 5, 0);
    stale.left.insert("stale", 1);
    let why = triggers.judge(&config, &stale).unwrap();
    assert_eq!(why.said, "stale: 1 frames a second, above 0");
}

#[test]
fn frames_that_come_and_are_not_forwarded_are_a_stall() {
    let (mut triggers, config) = (Triggers::default(), config());
    let mut judge = |received, forwarded| {
        let why = triggers.judge(&config, &second(received, forwarded, 0));
        why.map(|why| why.trigger)
    };
    // Without traffic before, what comes is for others.
    assert_eq!([(); 6].map(|()| judge(500, 0)), [None; 6]);
    assert_eq!(judge(1000, 900), None);
    // Traffic that ends.
    assert_eq!([(); 6].map(|()| judge(20, 0)), [None; 6]);
    assert_eq!(judge(1000, 900), None);
    let told = [(); 5].map(|()| judge(1000, 0));
    assert_eq!(told, [None, None, Some("stall"), None, None]);
    assert_eq!(judge(1000, 900), None);
    assert_eq!(judge(1000, 0), None);
    let mut never = Triggers::default();
    let config = Recorder {
        stall_seconds: 0,
        ..config
    };
    never.judge(&config, &second(1000, 900, 0));
    assert_eq!(never.judge(&config, &second(1000, 0, 0)), None);
}

#[test]
fn a_difference_is_told_once() {
    let (mut triggers, config) = (Triggers::default(), config());
    let mut judge = |equal| {
        let second = Second {
            equal,
            ..second(0, 0, 0)
        };
        triggers.judge(&config, &second).map(|why| why.trigger)
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
    assert_eq!(
        told,
        [None, None, Some("different"), None, None, Some("different")]
    );
}
