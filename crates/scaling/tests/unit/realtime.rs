use host::clock::now_ns;

use super::*;

#[test]
fn sleeping_ends_after_its_time() {
    let due = now_ns() + 2_000_000;
    sleep_until(due);
    assert!(now_ns() >= due);
    assert!(cpu_seconds() >= 0.0 && forced_switches() >= 0);
}
