//! Of `tester/src/schedule/mod.rs`.

use super::*;

#[test]
fn departures_do_not_drift() {
    let schedule = Schedule::constant(1_234_567.0, 60.0);
    assert_eq!(schedule.frames(), 74_074_020);
    let last = schedule.departure_ns(74_074_020);
    assert!(60_000_000_000 - last < 2000, "{last}");
}

#[test]
fn a_sender_that_polls_at_odd_times_sends_each_frame_once_and_on_time() {
    let schedule = Schedule::steps(&[(1000.0, 0.05), (250_000.0, 0.01), (10.0, 0.5)]);
    let mut walk = schedule.walk();
    let (mut now, mut sequence) = (0, 0);
    while let Some(next) = walk.next_ns() {
        let due = walk.due(now);
        for _ in 0..due {
            sequence += 1;
            let planned = schedule.departure_ns(sequence);
            assert!(
                planned <= now + 1 && now < planned + 7_000_000,
                "{sequence}: planned {planned}, now {now}"
            );
        }
        assert_eq!(due == 0, next > now);
        walk.advance(due);
        now += 997 + (now * 31) % 5000;
    }
    assert_eq!(sequence, schedule.frames());
}

#[test]
fn bursts_keep_their_interval() {
    let schedule = Schedule::bursts(16, f64::INFINITY, 1_000_000, 0.01);
    assert_eq!(schedule.frames(), 160);
    assert_eq!(schedule.departure_ns(16), 0);
    assert_eq!(schedule.departure_ns(17), 1_000_000);
    let paced = Schedule::bursts(10, 1e6, 100_000, 0.001);
    assert_eq!(paced.departure_ns(11), 100_000);
    assert_eq!(paced.duration_ns(), Some(1_000_000));
}

#[test]
fn a_burst_has_no_duration_of_its_own() {
    assert_eq!(Schedule::burst(1000).duration_ns(), None);
    let text = serde_json::to_string(&Schedule::burst(5)).unwrap();
    assert_eq!(text, r#"[{"frames":5,"rate":null,"rest_ns":0}]"#);
    assert_eq!(
        serde_json::from_str::<Schedule>(&text).unwrap(),
        Schedule::burst(5)
    );
}
