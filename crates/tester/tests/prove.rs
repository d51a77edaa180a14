//! A part of the suite of known answers (`--example prove_tester`): the device in memory.

#[path = "../examples/prove_tester/claim.rs"]
mod claim;
#[path = "../examples/prove_tester/memory.rs"]
mod memory;

use tester::schedule::Schedule;
use tester::sizes::Family;
use tester::trial::Order;

type Error = Box<dyn std::error::Error>;

#[expect(clippy::unnecessary_wraps, reason = "the suite's own may fail")]
fn order(bytes: u32) -> Result<Order, Error> {
    Ok(crate::support::order(
        bytes,
        Family::Ipv4,
        Schedule::burst(1),
    ))
}

#[test]
fn known_answers_are_found() {
    for (rate, bytes) in [(1_000.0, 64), (10_000.0, 1518), (100_000.0, 512)] {
        for claim in memory::claims(rate, bytes).unwrap() {
            let (what, truth) = (claim.what, claim.truth);
            assert!(
                claim.held(),
                "{what} of {}: {:?}, and the truth is {truth}",
                claim.asked,
                claim.found
            );
        }
    }
}
