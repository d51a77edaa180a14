//! Two hosts and the namespace between them, in which the device forwards.

use std::net::Ipv4Addr;

use host::Namespace;
use host::bed::{Bed, side};
use host::offload::Offload;

use crate::error::Error;

const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const INGRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const EGRESS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);

/// The device's interfaces.
pub const PORTS: [&str; 2] = ["in", "out"];

/// What the hosts' interfaces do for their kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offloads {
    /// What a new veth does: it takes whole segments and unfinished checksums.
    On,
    /// Nothing (`ethtool -K e0 tx off tso off gso off gro on`): the hosts make checksums and
    /// segments themselves. Receive aggregation is on because only with it does a veth take what a
    /// program redirects to it.
    Off,
}

/// The namespaces and their cables, of one queue each as `ip link add` makes them. The one between
/// the hosts forwards: without more the device is Linux alone.
#[derive(Debug)]
pub struct Site {
    sender: Namespace,
    router: Namespace,
    receiver: Namespace,
    mtu: u16,
}

impl Site {
    /// Lays it; `name` tells its namespaces from those of others. `mtu` in bytes.
    ///
    /// # Errors
    /// Without root or iproute2, or when the kernel refuses.
    pub fn lay(name: &str, mtu: u16, offloads: Offloads) -> Result<Self, Error> {
        let [sender, router, receiver] =
            ["sender", "router", "receiver"].map(|place| format!("{name}-{place}"));
        let host = |place: &str, interface: &str, own: Ipv4Addr, gateway: Ipv4Addr| {
            let host = side(place, interface)
                .address(format!("{own}/24"))
                .neighbour(gateway)
                .route("default", gateway);
            match offloads {
                Offloads::On => host,
                Offloads::Off => host
                    .switch(Offload::Checksums, false)
                    .switch(Offload::TcpSegments, false)
                    .switch(Offload::GenericSegments, false)
                    .switch(Offload::GenericReceive, true),
            }
        };
        let port = |interface: &str, own: Ipv4Addr, neighbour: Ipv4Addr| {
            side(&router, interface)
                .address(format!("{own}/24"))
                .neighbour(neighbour)
        };
        let bed = Bed::plan()
            .mtu(u32::from(mtu))
            .forwarding(&router)
            .cable(
                host(&sender, "e0", SENDER, INGRESS),
                port(PORTS[0], INGRESS, SENDER),
            )
            .cable(
                port(PORTS[1], EGRESS, RECEIVER),
                host(&receiver, "e1", RECEIVER, EGRESS),
            )
            .lay()?;
        Ok(Self {
            sender: bed.namespace(&sender)?.clone(),
            router: bed.namespace(&router)?.clone(),
            receiver: bed.namespace(&receiver)?.clone(),
            mtu,
        })
    }

    /// Where the device is.
    pub fn router(&self) -> &Namespace {
        &self.router
    }

    pub(crate) fn sender(&self) -> &Namespace {
        &self.sender
    }

    pub(crate) fn receiver(&self) -> &Namespace {
        &self.receiver
    }

    /// The receiver's address.
    pub(crate) const fn target() -> Ipv4Addr {
        RECEIVER
    }

    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }
}
