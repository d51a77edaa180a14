//! Of `tester/src/veth/record.rs`.

use super::*;

fn gaps(missing: u64, from: u32) -> Gaps {
    Gaps {
        missing,
        from,
        ..Gaps::default()
    }
}

#[test]
fn frames_of_an_earlier_trial_cancel_no_loss() {
    // Of 100 frames, numbers 11 to 110, 95 came, and 7 of before: two of those carried a time.
    let at = sink::Counts {
        frames: 100,
        before: 2,
        ..sink::Counts::default()
    };
    let came = Came::of(&at, &gaps(5, 11), (11, 110), false);
    let expected = Came {
        own: 95,
        residual: 7,
        mixed: false,
    };
    assert_eq!(came, expected);
}

#[test]
fn beyond_what_the_sink_remembers_they_are_known_by_their_time_or_not_at_all() {
    let at = sink::Counts {
        frames: 3_000_000,
        before: 2,
        ..sink::Counts::default()
    };
    for (stamped, mixed) in [(true, false), (false, true)] {
        let came = Came::of(&at, &gaps(0, 902_849), (1, 3_000_000), stamped);
        assert_eq!((came.residual, came.mixed), (2, mixed));
    }
}
