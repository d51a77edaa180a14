use super::*;

#[test]
fn every_event_is_heard_after_it_happened() {
    let cores = host::cores::allowed_cores().unwrap();
    // Long beside the stretches in which real-time threads of other tests have a core.
    let time = Duration::from_millis(600);
    for by in [By::Timer, By::Thread] {
        for from in [cores[0], cores[cores.len() - 1]] {
            let seen = wake(by, from, cores[0], time, || false).unwrap();
            // At most one for each two gaps, and a busy machine makes fewer.
            let most = time.as_nanos() as usize / (2 * GAP as usize);
            assert!((1..=most).contains(&seen.after.len()), "{by:?} {from}");
            // A thread cannot hear of an event in the same tenth of a microsecond.
            assert!(seen.after.iter().all(|&after| after > 0.1), "{seen:?}");
        }
    }
}

#[test]
fn nothing_is_waited_for_after_an_interruption() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let day = Duration::from_hours(24);
    let seen = wake(By::Timer, core, core, day, || true).unwrap();
    assert!(seen.after.is_empty());
}
