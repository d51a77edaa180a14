//! Of `study/src/no_loss.rs`.

use super::*;

fn attempt(rate: Option<f64>, because: &str) -> Attempt {
    Attempt {
        rate,
        above: rate.map(|rate| rate * 1.03),
        trials: 8,
        because: because.to_owned(),
    }
}

fn case(frame_bytes: u32) -> Case {
    Case {
        kind: dut::kind::Kind::Kernel,
        first: 0,
        workers: 2,
        frame_bytes,
        changes: 0,
    }
}

fn of(attempts: &[Attempt]) -> Search {
    Search::of(&case(SMALLEST), &attempts.iter().collect::<Vec<_>>(), 1)
}

#[test]
fn several_searches_are_a_median_with_an_interval() {
    let search = of(&[1.0, 1.2, 1.1].map(|rate| attempt(Some(rate), "")));
    assert_eq!(search.told(), Some(FramesPerSecond(1.1)));
    assert_eq!((search.low, search.high), (Some(1.0), Some(1.2)));
    assert_eq!((search.rounds, search.trials), (3, 24));
    let one = of(&[attempt(Some(1.0), "")]);
    assert_eq!((one.told(), one.low), (Some(FramesPerSecond(1.0)), None));
}

#[test]
fn doubtful_searches_do_not_count_beside_others_and_are_no_rate_alone() {
    let doubt = attempt(Some(0.4), "most trials were disturbed");
    let beside = of(&[
        attempt(Some(1.0), ""),
        doubt.clone(),
        attempt(Some(1.1), ""),
    ]);
    assert_eq!(beside.told(), Some(FramesPerSecond(1.05)));
    let alone = of(&[doubt]);
    assert_eq!((alone.told(), alone.weak), (None, Some(Weak::Disturbed)));
    let apart = of(&[attempt(Some(1.0), ""), attempt(Some(1.8), "")]);
    assert_eq!(apart.weak, Some(Weak::Scattered));
}

#[test]
fn each_reason_is_said_once_with_the_number_of_cases() {
    let silent = || of(&[attempt(None, "the device forwards nothing")]);
    let searches = [silent(), of(&[attempt(Some(1.0), "")]), silent()];
    assert_eq!(reasons(&searches), [("the device forwards nothing", 2)]);
}

#[test]
fn the_smallest_frames_are_searched_in_rounds_far_apart_as_time_allows() {
    let cases = [case(SMALLEST), case(1518)];
    let due = |seconds| {
        let time = Duration::from_secs(seconds);
        let searches = Searches::new(&cases, vec![0, 1], 9, time, 1);
        assert_eq!(
            (&searches.compared[..], &searches.once[..]),
            (&[0][..], &[1][..])
        );
        assert!(searches.kept <= time / 3, "for the largest");
        assert!(seconds < 3 || searches.kept > SEARCH);
        searches.repeats
    };
    assert_eq!(due(0), (1, 9));
    assert_eq!(due(3), (2, 9));
    assert_eq!(due(100), (MOST, 9));
}
