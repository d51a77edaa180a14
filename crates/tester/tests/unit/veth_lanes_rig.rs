//! Of `tester/src/veth/lanes/rig.rs`.

use super::*;

fn offer(intended: u64, sent: u64, late: u64) -> Offer {
    Offer {
        intended,
        sent,
        late,
        ..Offer::default()
    }
}

#[test]
fn no_frame_is_forgotten_between_the_lanes() {
    let whole = Segment {
        frames: 1001,
        rate: 3e6,
        rest_ns: 0,
    };
    for senders in [1, 2] {
        let share = |place| share(whole, place, 3, senders);
        let parts: Vec<Segment> = (0..3).map(share).collect();
        let frames = parts.iter().map(|part| part.frames).sum::<u64>();
        assert_eq!(frames, 1001 * senders);
        let rate = 1e6 * senders as f64;
        assert!(parts.iter().all(|part| (part.rate - rate).abs() < 1e-6));
        // As many go each way.
        assert!(parts.iter().all(|part| part.frames % senders == 0));
    }
}

#[test]
fn what_is_late_by_a_thousandth_is_in_time_and_more_is_lost() {
    let in_time = offer(100_000, 99_960, 50).counts(99_960);
    assert!(in_time.closes());
    assert_eq!((in_time.unsent, in_time.lost), (40, 0));

    let late = offer(100_000, 100_000, 3_000).counts(100_000);
    assert!(late.closes(), "{late:?}");
    assert_eq!(
        (late.lost, late.late, late.received),
        (3_000, 3_000, 97_000)
    );

    let skipped = offer(100_000, 90_000, 2_000).counts(89_000);
    assert!(skipped.closes(), "{skipped:?}");
    assert_eq!((skipped.sent, skipped.lost), (100_000, 13_000));
}

#[test]
fn a_stretch_that_takes_longer_ends_late_with_its_last_frames() {
    let lane = Offer::new(1000, 1000, 100_000_000, 125_000_000, 25_000_000);
    assert_eq!(lane.late, 200);
    assert_eq!(Offer::new(1000, 1000, 100, 99, 0).late, 0);
}

#[test]
fn frames_of_an_earlier_trial_are_none_of_this_one() {
    let counts = offer(1000, 1000, 0).counts(1010);
    assert!(counts.closes());
    assert_eq!((counts.received, counts.stray), (1000, 10));
}
