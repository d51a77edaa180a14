use super::*;
use crate::calibration::find;

fn right(load: &str, e: f64, speedup: f64, carrier: &str, share: f64) -> bool {
    let shares = |name: &str| if name == carrier { share } else { 0.0 };
    hold(find(load).unwrap(), 2, e, speedup, shares).right == Some(true)
}

#[test]
fn a_fraction_outside_the_stated_error_is_wrong() {
    assert!(right("spin", 0.02, 1.96, "", 0.0));
    assert!(!right("spin", 0.05, 1.90, "", 0.0));
    assert!(
        !right("spin", -0.05, 2.10, "", 0.0),
        "too good is wrong too"
    );
    assert!(right("serial-share", 0.21, 1.65, "idle cores", 0.98));
    assert!(!right("serial-share", 0.27, 1.57, "idle cores", 0.98));
}

#[test]
fn a_loss_found_in_the_wrong_part_is_wrong() {
    assert!(!right("serial-share", 0.2, 1.67, "dearer user work", 1.0));
    assert!(!right("serial-share", 0.2, 1.67, "idle cores", 0.6));
    assert!(right("shared-counter", 2.0, 0.4, "dearer user work", 0.99));
    assert!(
        !right("shared-counter", 0.1, 1.9, "dearer user work", 0.99),
        "it cannot scale"
    );
}
