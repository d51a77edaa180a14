//! Of `tester/src/veth/end.rs`.

use super::*;

#[test]
fn the_tenth_figure_is_what_was_sent() {
    let table = "Inter-|   Receive                                                |  Transmit\n \
                 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n\
                 \x20   t0:     100       2    0    0    0     0          0         0      540       9 0\n\
                 \x20  t01:       1       2    3    4    5     6          7         8        9      10 0\n";
    assert_eq!(transmitted(table, "t0"), Some(9));
    assert_eq!(transmitted(table, "t01"), Some(10));
    assert_eq!(transmitted(table, "t1"), None);
}
