use super::*;

#[test]
fn a_burst_of_seconds_is_not_brief() {
    let longest = Urgent::LONGEST.as_nanos() as u64;
    assert!(longest_ns(&Schedule::burst(100_000)) <= longest);
    assert!(longest_ns(&Schedule::burst(2_000_000)) > longest);
    assert!(longest_ns(&Schedule::constant(1e6, 1.0)) > longest);
    assert!(longest_ns(&Schedule::constant(1e6, 0.5)) <= longest);
}
