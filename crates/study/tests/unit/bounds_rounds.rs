//! Of `study/src/bounds/rounds.rs`.

use super::*;

#[test]
fn less_time_makes_fewer_rounds_and_at_last_shorter_trials() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let whole = Effort::within(20, false, None);
    assert_eq!((whole.rounds, whole.trial), (ROUNDS, TRIAL));
    assert_eq!(Effort::within(20, true, None).rounds, QUICK_ROUNDS);
    let long = Effort::within(20, false, seconds(288));
    assert_eq!(
        (long.rounds, long.trial, Some(long.time)),
        (17, TRIAL, seconds(288))
    );
    let short = Effort::within(20, false, seconds(60));
    assert_eq!(
        (short.rounds, short.trial),
        (QUICK_ROUNDS, Duration::from_millis(50))
    );
    assert_eq!(Effort::within(20, false, seconds(1)).trial, TRIAL_MIN);
}
