use super::*;

const TABLE: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls
    lo: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
   out: 100 10 0 7 0 0 0 0 600 10 0 42 0 0 0 0
";

#[test]
fn columns_are_the_kernel_s() {
    let lo = Counters::of(TABLE, "lo").unwrap();
    assert_eq!(
        lo,
        Counters {
            receive_drops: 3,
            transmitted: 9,
            transmit_drops: 11
        }
    );
    assert_eq!(Counters::of(TABLE, "out").unwrap().transmit_drops, 42);
    assert_eq!(Counters::of(TABLE, "ou"), None);
}
