use super::*;
use crate::testing::{search_kernel, study};

#[test]
fn engines_stand_side_by_side_with_their_figures() {
    let text = fragment(&study());
    assert!(
        text.contains("| frame bytes | memory ports, shipped | the Linux kernel |"),
        "{text}"
    );
    assert!(text.contains("| 64 | 30.0 M | 800 k |"), "{text}");
    assert!(
        text.contains("| 64 | 59.4 M (1.98×) | 59.1 M (1.97×) | 58.5 M (1.95×) | 1.40 M (1.75×) |"),
        "{text}"
    );
    assert!(text.contains("| 1518 | 9.00 M (0.40×) |"), "{text}");
    assert!(text.contains("the lock costs 85 %"), "{text}");
    assert!(!text.contains("without loss"), "{text}");
}

#[test]
fn rates_without_loss_have_a_table_where_they_were_searched_for() {
    let mut study = study();
    search_kernel(&mut study);
    let text = fragment(&study);
    assert!(
        text.contains("| frame bytes | the Linux kernel |"),
        "{text}"
    );
    assert!(text.contains("| 64 | 1.26 M (90 %) |"), "{text}");
}
