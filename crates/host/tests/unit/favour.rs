use super::*;

#[test]
fn a_favour_is_given_back() {
    let before = weight(0).unwrap();
    let favoured = Favoured::now();
    match weight(0).unwrap() {
        same if same == before => needs::skipped!("needs root to raise a thread's weight"),
        raised => assert_eq!(raised, HIGHEST),
    }
    drop(favoured);
    assert_eq!(weight(0).unwrap(), before);
}

#[test]
fn urgency_is_given_back() {
    // SAFETY: 0 is the calling thread.
    let policy = || unsafe { libc::sched_getscheduler(0) };
    let before = (policy(), weight(0).unwrap());
    let urgent = Urgent::now(&[i32::MAX as u32]);
    if policy() != libc::SCHED_FIFO {
        needs::skipped!("needs root for a real-time priority");
    }
    drop(urgent);
    assert_eq!((policy(), weight(0).unwrap()), before);
}

#[test]
fn a_priority_is_given_back_and_a_refusal_names_the_remedy() {
    // SAFETY: 0 is the calling thread.
    let policy = || unsafe { libc::sched_getscheduler(0) };
    match RealTime::first_in_first_out(1) {
        Ok(priority) => {
            assert_eq!(policy(), libc::SCHED_FIFO);
            drop(priority);
        }
        Err(refused) => assert!(refused.to_string().contains("RLIMIT_RTPRIO")),
    }
    assert_eq!(policy(), libc::SCHED_OTHER);
    assert!(RealTime::first_in_first_out(1000).is_err());
}

#[test]
fn a_thread_that_does_not_exist_is_refused() {
    assert!(rank(u32::MAX, Rank::Normal).is_err());
    assert!(rank(i32::MAX as u32, Rank::Favoured).is_err());
}
