//! Of `corelane/src/drain/traffic.rs`.

use serde_json::json;

use super::*;

/// Reads so many frames more each time, the last of them for ever.
fn waited(goal: &Goal, steps: &[u64]) -> Found {
    let (mut frames, mut turn) = (0, 0);
    let read = || {
        frames += steps[turn.min(steps.len() - 1)];
        turn += 1;
        let ports = [("r0".to_owned(), frames)].into();
        let at = Instant::now();
        Ok(Counts { at, ports })
    };
    wait(goal, read).unwrap()
}

#[test]
fn traffic_has_gone_when_it_is_quiet_for_long_enough() {
    let mut goal = Goal {
        below: 100,
        quiet: Duration::from_secs(1),
        limit: Duration::from_secs(20),
    };
    let found = waited(&goal, &[0, 1000, 0, 1000, 0]);
    assert!(found.is_gone && found.rate() < 100.0);
    // Quiet for a moment is not enough.
    assert!(
        found.took >= Duration::from_millis(2400),
        "{:?}",
        found.took
    );
    goal.limit = Duration::from_secs(1);
    let found = waited(&goal, &[5000]);
    assert!(!found.is_gone && found.rate() > 100.0);
}

#[test]
fn what_is_for_this_machine_is_no_traffic() {
    let ports = json!([{ "port": "r0", "forwarded": 5 }, { "port": "r1", "state": "absent" }]);
    let drops = json!([
        { "port": "r0", "reason": "local", "frames": 70 },
        { "port": "r0", "reason": "port-disabled", "frames": 3 },
        { "port": "r0", "reason": "no-route", "frames": 1 },
        { "port": "r1", "reason": "link-group", "frames": 9 },
    ]);
    let counts = Counts::of(&ports, &drops, Instant::now());
    assert_eq!(counts.ports["r0"], 9);
    assert_eq!(counts.ports["r1"], 0);
}
