//! Where the experiment takes place: hosts on both sides, a device between them, cables.
//!
//! ```text
//!  sender           device                receiver
//!  +-----+   +---------------------+   +-----+
//!  |  s0 |---| u0      user    v0  |---| r0  |
//!  |  s1 |---| u1      planes  v1  |---| r1  |   (a second pair where the user plane is spread)
//!  +-----+   |  management plane   |   +-----+
//!            +---------------------+
//! ```
//!
//! Three namespaces of our own, one pair of cables per user plane. The sender's side of pair *n* is
//! 198.18.*n+1*.0/24, the receiver's 198.19.*n+1*.0/24 (RFC 2544 appendix C.2.2).

use std::net::Ipv4Addr;

use agent::protocol::{Interface, Route};
use host::bed::{Plan, Side, side};
use host::namespace::Error;
use host::offload::Offload;
use host::{Bed, Namespace, Veth};

use crate::flows::Flow;

const SENDER: &str = "sender";
const DEVICE: &str = "device";
const RECEIVER: &str = "receiver";
/// The largest IP packet on the cables: jumbo frames fit, and so does a page that XDP works in.
pub const MTU: u32 = 3_498;

/// The sources of the load's flows and their destinations are beyond all senders and all receivers,
/// so that any user plane can carry any flow.
const SOURCES: Ipv4Addr = Ipv4Addr::new(198, 18, 128, 0);
const DESTINATIONS: Ipv4Addr = Ipv4Addr::new(198, 19, 128, 0);
/// Flows of the load: one to each of these destinations.
const FLOWS: u8 = 254;
const SOURCE_PORT: u16 = 0xC020;
/// The discard port: what our receiver did not take would be thrown away.
const DISCARD: u16 = 9;

/// The flows of the load, the same in every deployment.
pub fn flows() -> impl Iterator<Item = Flow> {
    (1..=FLOWS).map(|last| Flow {
        source: Ipv4Addr::from(u32::from(SOURCES) + 1),
        destination: Ipv4Addr::from(u32::from(DESTINATIONS) + u32::from(last)),
        source_port: SOURCE_PORT,
        destination_port: DISCARD,
    })
}

/// The namespaces and cables of the experiment.
#[derive(Debug)]
pub struct Site {
    /// Whence packets come.
    pub sender: Namespace,
    /// The device under test.
    pub device: Namespace,
    /// Where they go.
    pub receiver: Namespace,
    /// One for each user plane.
    pub pairs: Vec<Pair>,
}

/// The cables of one user plane.
#[derive(Debug)]
pub struct Pair {
    number: u8,
    /// From the sender: end `a` is the sender's.
    pub input: Veth,
    /// To the receiver: end `a` is the receiver's.
    pub output: Veth,
}

impl Site {
    /// A site for `planes` user planes.
    ///
    /// # Errors
    /// No root, no `ip`, or what `ip` says.
    pub fn new(planes: u8) -> Result<Self, Error> {
        let ends = |number: u8| ["s", "u", "v", "r"].map(|letter| format!("{letter}{number}"));
        let places = [SENDER, DEVICE, RECEIVER].into_iter();
        let bare = places.fold(Bed::plan().mtu(MTU), Plan::namespace);
        let bed = (0..planes).fold(bare, |plan, number| {
            let [s, u, v, r] = ends(number);
            let [sender, receiver] = [18, 19].map(|side| host_of(side, number));
            plan.cable(outside(SENDER, &s, sender, network(19, number)), inside(&u))
                .cable(
                    outside(RECEIVER, &r, receiver, network(18, number)),
                    inside(&v),
                )
        });
        let bed = bed.lay()?;
        let cables = bed.cables().chunks_exact(2).zip(0..);
        Ok(Self {
            sender: bed.namespace(SENDER)?.clone(),
            device: bed.namespace(DEVICE)?.clone(),
            receiver: bed.namespace(RECEIVER)?.clone(),
            pairs: cables
                .map(|(cables, number)| Pair {
                    number,
                    input: cables[0].clone(),
                    output: cables[1].clone(),
                })
                .collect(),
        })
    }

    /// The device's ends of all cables.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &str> {
        let cables = self
            .pairs
            .iter()
            .flat_map(|pair| [&pair.input, &pair.output]);
        cables.map(|cable| cable.b.interface.as_str())
    }
}

/// A host's end. It sends frames as they would be on a wire: no segments of 64 KiB that only
/// virtual cables carry and that no user plane in user space could take.
fn outside(place: &str, interface: &str, host: Ipv4Addr, beyond: Ipv4Addr) -> Side {
    side(place, interface)
        .address(format!("{host}/24"))
        .route(format!("{beyond}/24"), gateway(host))
        .switch(Offload::TcpSegments, false)
        .switch(Offload::GenericSegments, false)
        .switch(Offload::Checksums, false)
}

/// The device's end. A cable's end polls (has NAPI, which can be bound to a core) only when it
/// joins segments; and it is not to glue together what a user plane in user space would have to cut
/// again.
fn inside(interface: &str) -> Side {
    side(DEVICE, interface)
        .link(&format!("gro_max_size {}", MTU + 1))
        .switch(Offload::GenericReceive, true)
}

impl Pair {
    /// The sender's address.
    pub fn sender(&self) -> Ipv4Addr {
        host_of(18, self.number)
    }

    /// The receiver's address.
    pub fn receiver(&self) -> Ipv4Addr {
        host_of(19, self.number)
    }

    /// The routes by which its user plane carries the load's flows.
    pub fn routes(&self) -> Vec<Route> {
        let ways = [(SOURCES, self.sender()), (DESTINATIONS, self.receiver())];
        ways.map(|(network, via)| Route {
            network,
            length: 24,
            via,
        })
        .to_vec()
    }

    /// The user plane's two interfaces under the names that they have where its agent runs. With a
    /// kernel of its own the user plane has hardware addresses of its own too.
    pub fn interfaces(&self, names: [&str; 2], own_kernel: bool) -> Vec<Interface> {
        let of = |side: usize, veth: &Veth, neighbour: Ipv4Addr| Interface {
            name: names[side].to_owned(),
            mac: if own_kernel {
                [0x02, 0xc0, 0, 0, self.number, side as u8]
            } else {
                veth.b.mac
            },
            mtu: MTU,
            address: gateway(neighbour),
            length: 24,
            neighbour,
            neighbour_mac: veth.a.mac,
        };
        vec![
            of(0, &self.input, self.sender()),
            of(1, &self.output, self.receiver()),
        ]
    }
}

/// The host on one side of a user plane.
fn host_of(side: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, side, number + 1, 2)
}

/// The network of that host.
fn network(side: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, side, number + 1, 0)
}

/// The router on a host's network is its first address.
fn gateway(host: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = host.octets();
    Ipv4Addr::new(a, b, c, 1)
}
