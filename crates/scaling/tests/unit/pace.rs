use super::*;

#[test]
fn rounds_fill_the_time_within_their_bounds() {
    let run = Duration::from_millis(500);
    assert_eq!(Pace::FULL.rounds(3, run, Duration::from_secs(1)), 19);
    assert_eq!(Pace::FULL.rounds(3, Duration::from_micros(1), run), 31);
    assert_eq!(
        Pace::FULL.rounds(3, Duration::from_mins(1), Duration::from_mins(2)),
        5
    );
    assert_eq!(Pace::of(true, Some(1)).rounds(3, run, run), 1);
}

#[test]
fn a_slow_machine_ends_the_rounds_when_the_time_is_over() {
    let over = Pace::FULL.budget;
    assert!(Pace::FULL.goes_on(4, over), "the fewest are made");
    assert!(!Pace::FULL.goes_on(5, over));
    assert!(Pace::FULL.goes_on(20, over / 2));
    assert!(Pace::of(false, Some(40)).goes_on(39, 9 * over), "asked for");
}

#[test]
fn the_longest_sweep_counts_trials_rounds_and_repeats() {
    let pace = Pace::of(false, Some(9));
    let longest = pace.longest(3, Duration::from_millis(100));
    assert_eq!(longest, Duration::from_millis(100 * (2 + 27 + 6)));
}
