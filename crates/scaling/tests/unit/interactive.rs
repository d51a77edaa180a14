use super::*;

#[test]
fn every_screen_is_drawn_or_left_out_and_the_late_ones_are_counted() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let time = PERIOD * 6;
    let quick = screens(&[core], 100, time, || false);
    assert!(!quick.after.is_empty() && quick.after.len() <= 6);
    assert!(quick.after.iter().all(|&after| after > 0.0));
    // Two periods of work for each: all are late, and every other one is left out.
    let slow = screens(&[core], steps(core, 2 * PERIOD), time, || false);
    assert_eq!(slow.missed, slow.after.len());
    assert!((1..=3).contains(&slow.missed), "{slow:?}");
    assert!(screens(&[core], 1, time, || true).after.is_empty());
}
