//! One forwarder takes the ports of another over.

use bpf::attach::{Mode, Request};
use fastpath::forward::{Forwarder, Place};

use crate::common::cannot_run;
use crate::network::Net;

const PLACES: [(Place, Mode); 3] = [
    (Place::Xdp(Request::Native), Mode::Native),
    (Place::Xdp(Request::Generic), Mode::Generic),
    (Place::Tc, Mode::Tc),
];

/// Frames that its programs have seen.
fn received(forwarder: &Forwarder) -> u64 {
    let counts = forwarder.port_counters();
    counts.values().map(|count| count.received).sum()
}

impl Net {
    fn ports(&self) -> [u32; 2] {
        [self.left.b.index, self.right.a.index]
    }

    /// Frames that come to each of two forwarders in a transfer.
    fn shares(&self, forwarders: [&Forwarder; 2]) -> [bool; 2] {
        let before = forwarders.map(received);
        self.transfer(1 << 20);
        let after = forwarders.map(received);
        [0, 1].map(|one| after[one] > before[one])
    }
}

/// The ports of `old` run the programs of `new`.
fn give(old: &Forwarder, new: &Forwarder) {
    for (port, program) in new.programs() {
        old.give(port, &program.try_clone_to_owned().unwrap())
            .unwrap();
    }
}

#[test]
fn a_port_is_taken_over_taken_back_and_let_go() {
    if cannot_run() {
        return;
    }
    for (place, mode) in PLACES {
        let net = Net::new();
        net.transfer(1 << 10);
        let mut old = net.forwarder([place; 2]);
        let new = net.forwarder([Place::Elsewhere(mode); 2]);
        assert_eq!(net.shares([&old, &new]), [true, false], "{mode}: before");
        give(&old, &new);
        assert_eq!(net.shares([&old, &new]), [false, true], "{mode}: given");
        for port in net.ports() {
            old.take_back(port).unwrap();
        }
        assert_eq!(net.shares([&old, &new]), [true, false], "{mode}: back");
        // It held nothing.
        drop(new);
        let mut new = net.forwarder([Place::Elsewhere(mode); 2]);
        assert_eq!(net.shares([&old, &new]), [true, false], "{mode}: again");

        let strangers = new.port_counters();
        give(&old, &new);
        old.wait_for_readers().unwrap();
        let counted = old.counted();
        for attachment in old.attachments() {
            let (link, only) = attachment.descriptors().unwrap();
            let copy = |one: std::os::fd::BorrowedFd<'_>| one.try_clone_to_owned().unwrap();
            new.receive(attachment.ifindex(), copy(link), only.map(copy))
                .unwrap();
        }
        let before = received(&old);
        new.count_on(counted, &strangers);
        assert!(received(&new) >= before, "{mode}: counts go on");
        for port in net.ports() {
            old.let_go(port).unwrap();
        }
        drop(old);
        let attached = received(&new);
        net.transfer(1 << 20);
        assert!(received(&new) > attached, "{mode}: still attached");
        for port in new.port_counters().values() {
            assert!(port.closes(), "{mode}: {port:?}");
        }
        let tables = new.table_counts();
        let received: u64 = tables.values().map(|count| count.received).sum();
        assert_eq!(
            received,
            self::received(&new),
            "{mode}: the tables' counts go on"
        );
        drop(new);
        net.transfer(1 << 10);
    }
}
