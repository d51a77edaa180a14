use super::*;

#[test]
fn on_one_core_with_priority_nothing_overlaps() {
    let cores = host::cores::allowed_cores().unwrap();
    for priorities in [[realtime::PRIORITY; 2], [LOWEST, realtime::PRIORITY]] {
        let seen = measure([cores[0], cores[0]], priorities, Duration::from_millis(40));
        assert!(seen.entries > 10);
        match seen.refused {
            Some(words) => needs::skipped!("{words}"),
            None => assert_eq!(seen.overlaps, 0, "{priorities:?}"),
        }
    }
}

#[test]
fn priorities_apart_run_together_on_two_cores() {
    let cores = host::cores::allowed_cores().unwrap();
    if !needs::two_cores() {
        return;
    }
    let apart = [LOWEST, realtime::PRIORITY];
    let seen = measure([cores[0], cores[1]], apart, Duration::from_millis(200));
    match seen.refused {
        Some(words) => needs::skipped!("{words}"),
        None => assert!(seen.overlaps > 0, "{seen:?}"),
    }
}
