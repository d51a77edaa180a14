//! What the tests have in common.

#![allow(dead_code, reason = "every test file uses its own part of this one")]

pub(crate) mod scripted;

use tester::bench::Subject;
use tester::profile::Profile;
use tester::result::Entry;
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::session::Session;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Waits};

/// What the tester can do beside the devices of these tests, frames/s.
pub(crate) const SELFTEST: f64 = 1e6;

/// One way, one destination, every frame timed.
pub(crate) fn order(size: u32, family: Family, schedule: Schedule) -> Order {
    Order {
        sizes: vec![FrameSize::new(size, family, 1500).unwrap()],
        family,
        schedule,
        direction: Direction::OneWay,
        destinations: 1,
        traffic: tester::traffic::Traffic::default(),
        time_every_frame: true,
        waits: Waits::QUICK,
    }
}

/// 64 bytes and IPv4.
pub(crate) fn smallest(schedule: Schedule) -> Order {
    order(64, Family::Ipv4, schedule)
}

/// A subject that the tester outdoes.
pub(crate) fn subject() -> Subject {
    Subject {
        label: "64".to_owned(),
        selftest: Some(SELFTEST),
    }
}

/// Runs a test in a session over `rig`, with frames of 64 bytes.
pub(crate) fn session(
    rig: &mut dyn Rig,
    profile: Profile,
    test: impl FnOnce(Session<'_>) -> Entry,
) -> Entry {
    test(Session::new(
        rig,
        profile,
        smallest(Schedule::burst(1)),
        &mut |_| {},
    ))
}

/// Whether namespaces and eBPF can be had; says so if not.
pub(crate) fn root() -> bool {
    needs::root("for network namespaces and eBPF")
}
