//! The analyses on streams whose truth is known exactly.

mod budget;
mod gain;
mod kinds;
mod polling;
mod serial;
mod waits;

fn near(found: f64, truth: f64, share: f64, what: &str) {
    assert!(
        (found - truth).abs() <= truth.abs() * share,
        "{what}: found {found}, truth {truth}"
    );
}
