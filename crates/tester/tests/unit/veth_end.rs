//! Of `tester/src/veth/end.rs`.

use super::*;

#[test]
fn the_tenth_figure_is_what_was_sent() {
    // Heads of the table, then eight figures of what was received.
    let received = "1 2 3 4 5 6 7 8";
    let heads = "Inter-| Receive | Transmit\n face |bytes packets\n";
    let line = |name: &str, sent: u64| format!("{name}: {received} 540 {sent} 0\n");
    let table = [heads, &line("   t0", 9), &line("  t01", 10)].concat();
    let table = table.as_str();
    assert_eq!(transmitted(table, "t0"), Some(9));
    assert_eq!(transmitted(table, "t01"), Some(10));
    assert_eq!(transmitted(table, "t1"), None);
}
