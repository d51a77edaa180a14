use super::*;
use crate::profile::Profile;
use crate::search::mlr::Goal;

#[test]
fn a_burst_of_seconds_is_not_brief() {
    let longest = Urgent::LONGEST.as_nanos() as u64;
    assert!(longest_ns(&Schedule::burst(100_000)) <= longest);
    assert!(longest_ns(&Schedule::burst(2_000_000)) > longest);
    assert!(longest_ns(&Schedule::constant(1e6, 1.0)) > longest);
    assert!(longest_ns(&Schedule::constant(1e6, 0.5)) <= longest);
}

#[test]
fn trials_that_decide_in_a_second_go_before_others() {
    if !needs::root("to go before others") {
        return;
    }
    let policy = || {
        // SAFETY: asks for the policy of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    };
    let during = |seconds: f64| {
        let _privilege = Privilege::during(&Schedule::constant(1e6, seconds), &[], true);
        policy()
    };
    for seconds in [
        Goal::NDR.final_trial_duration,
        Goal::PDR.final_trial_duration,
        Profile::QUICK.final_seconds,
        Profile::QUICK.look_seconds,
    ] {
        assert_eq!(during(seconds), libc::SCHED_FIFO, "{seconds} s");
    }
    assert_eq!(during(1.0), libc::SCHED_OTHER, "the kernel would stop it");
    assert_eq!(policy(), libc::SCHED_OTHER);
}
