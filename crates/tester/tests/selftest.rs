//! The self-test of a tester that does less by a timetable than in a burst.

use tester::bench;
use tester::profile::Profile;
use tester::trial::Validity;

use crate::support::scripted::Scripted;

/// What it keeps up by a timetable, frames/s.
const HOLDS: f64 = 100_000.0;

#[test]
fn a_tester_far_slower_than_its_burst_finds_its_rate_in_few_trials() {
    let mut rig = Scripted(|trial: &mut tester::trial::Trial| {
        if trial.intended_rate.is_some_and(|rate| rate > HOLDS) {
            trial.counts.received = (HOLDS * trial.seconds) as u64;
            trial.validity = Validity::Invalid("the tester was too slow".to_owned());
        }
    });
    let entry = crate::support::session(&mut rig, Profile::QUICK, |session| {
        bench::selftest::run(session, "64", None)
    });
    let rate = entry.frames_per_second.unwrap();
    assert!((0.9 * HOLDS..=HOLDS).contains(&rate), "{rate}");
    let tried = entry.trials.iter();
    let tried = tried.filter(|trial| trial.purpose == "self-test").count();
    assert!(tried <= 10, "{tried} trials");
}
