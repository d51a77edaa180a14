use super::*;

#[test]
fn on_one_core_with_priority_nothing_overlaps() {
    let cores = host::cores::allowed_cores().unwrap();
    let seen = measure([cores[0], cores[0]], Duration::from_millis(40));
    assert!(seen.entries > 10);
    match seen.refused {
        Some(words) => needs::skipped!("{words}"),
        None => assert_eq!(seen.overlaps, 0),
    }
}
