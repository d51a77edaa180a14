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
use host::namespace::Error;
use host::offload::Offload;
use host::{Namespace, Veth};

use crate::flows::Flow;

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
        let mut site = Self {
            sender: Namespace::new("sender")?,
            device: Namespace::new("device")?,
            receiver: Namespace::new("receiver")?,
            pairs: Vec::new(),
        };
        for number in 0..planes {
            let names = ["s", "u", "v", "r"].map(|letter| format!("{letter}{number}"));
            let [s, u, v, r] = names.each_ref().map(String::as_str);
            let pair = Pair {
                number,
                input: Veth::new((&site.sender, s), (&site.device, u), 1)?,
                output: Veth::new((&site.receiver, r), (&site.device, v), 1)?,
            };
            for (namespace, interface) in [
                (&site.sender, s),
                (&site.device, u),
                (&site.device, v),
                (&site.receiver, r),
            ] {
                namespace.ip(format!("link set {interface} mtu {}", MTU))?;
            }
            for interface in [u, v] {
                // A cable's end polls (has NAPI, which can be bound to a core) only with this on.
                site.device
                    .switch(interface, Offload::GenericReceive, true)?;
                // And it is not to glue segments together that a user plane in user space would
                // have to cut again.
                let most = (MTU + 1).to_string();
                site.device
                    .ip(format!("link set {interface} gro_max_size {most}"))?;
            }
            for (namespace, interface) in [(&site.sender, s), (&site.receiver, r)] {
                offloads_off(namespace, interface)?;
            }
            for (namespace, interface, host, beyond) in [
                (&site.sender, s, pair.sender(), pair.network(19)),
                (&site.receiver, r, pair.receiver(), pair.network(18)),
            ] {
                let (network, router) = (format!("{beyond}/24"), gateway(host).to_string());
                namespace.ip(format!("addr add {host}/24 dev {interface}"))?;
                namespace.ip(format!("route add {network} via {router}"))?;
            }
            site.pairs.push(pair);
        }
        Ok(site)
    }
}

impl Pair {
    /// The sender's address.
    pub fn sender(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number + 1, 2)
    }

    /// The receiver's address.
    pub fn receiver(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 19, self.number + 1, 2)
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

    fn network(&self, side: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, side, self.number + 1, 0)
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

/// Has a host send frames as they would be on a wire: no segments of 64 KiB that only virtual
/// cables carry and that no user plane in user space could take.
fn offloads_off(namespace: &Namespace, interface: &str) -> Result<(), Error> {
    let arguments = format!("-K {interface} tso off gso off tx off");
    let failed = |message: String| Error::Ip {
        arguments: format!("(ethtool) {arguments}"),
        message,
    };
    let output = namespace
        .command("ethtool")
        .args(arguments.split(' '))
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// The router on a host's network is its first address.
fn gateway(host: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = host.octets();
    Ipv4Addr::new(a, b, c, 1)
}
