//! What becomes of a packet, step by step: the answer to `corelane explain`.
//!
//! The program of the port itself is run on the frame, by hand, with the tables in use
//! ([`Forwarder::rehearse`](fastpath::forward::Forwarder::rehearse)). It says what becomes of the
//! frame. Beside it the same tables are searched here, as a worker does, to say by which prefix,
//! group and member. The kernel is asked what it would do. Where one of them says something else,
//! that is a difference.
//!
//! Nothing is sent, and nothing is counted.

mod form;
mod kernel;
mod packet;
mod question;
mod says;
mod search;
mod way;

use std::net::IpAddr;

use fastpath::forward::{Reason, Rehearsed};
use fib::next_hop::Kind;

pub use form::{Explained, PacketSeen};
pub use packet::read as packet_seen;
pub(crate) use packet::{Flow, flow_of};
pub use question::{Question, bytes_of, hexadecimal};

use self::form::{Because, Behind, FrameSeen, Kernel, Rewrite, SCHEMA};
use self::kernel::Says;
use self::packet::{Packet, Plan, Seen};
use self::search::Found;
pub(crate) use self::way::prefix_and_neighbour as way;
use super::answers::{link_name, mac};
use super::forms;
use crate::control_plane::follower::Follower;
use crate::engine::{EngineError, Port};

/// The answer to a question; `kept` says why ports or families stay with the kernel.
///
/// # Errors
/// What is wrong with the question; when the program cannot be run.
pub(crate) fn explain(
    follower: &mut Follower,
    kept: &[String],
    question: &str,
) -> Result<String, EngineError> {
    let question = Question::read(question)?;
    let (port, frame) = framed(follower, &question)?;
    let seen = packet::see(&frame);
    let arrival = Arrival::of(port, &seen);
    let found = search::search(follower, &arrival, &seen);
    let segment = question.segment.unwrap_or(0);
    let next_hops = found.next_hops();
    let forwarder = follower.forwarder_mut().ok_or_else(|| {
        let remedy = "it has no program; the engines of corelane run have one";
        EngineError::new("explain with this engine", remedy)
    })?;
    let rehearsed = forwarder
        .rehearse_segments(arrival.port.ifindex, &frame, segment, &next_hops)
        .map_err(|error| EngineError::new(format!("explain at {}", arrival.port.name), error))?;
    let told = Told {
        follower,
        kept,
        arrival,
        seen,
        frame,
        found,
        rehearsed,
    };
    Ok(forms::line(&told.explained()))
}

/// How a frame comes in.
struct Arrival {
    port: Port,
    /// The interface: the port, or the VLAN's; `None` where there is none for the tag.
    link: Option<u32>,
    table: u32,
}

impl Arrival {
    fn of(port: Port, seen: &Seen) -> Self {
        let settings = &port.settings;
        let vlan = |vid| settings.vlans.iter().find(|vlan| vlan.vid == vid);
        let (link, table) = match seen.vlan.map(vlan) {
            None => (Some(port.ifindex), settings.table),
            Some(None) => (None, settings.table),
            Some(Some(vlan)) => (Some(vlan.ifindex), vlan.table),
        };
        Self { port, link, table }
    }
}

/// The port that a packet comes by, and its frame.
fn framed(follower: &Follower, question: &Question) -> Result<(Port, Vec<u8>), EngineError> {
    let wrong = |what: &str, cause: String| EngineError::new(format!("explain {what}"), cause);
    let ports = follower.mirror().around().ports();
    let port = search::port(follower, question, &ports)?;
    if let Some(text) = &question.frame {
        let frame = bytes_of(text).map_err(|error| wrong("--frame", error))?;
        return Ok((port, frame));
    }
    let to = question.to.ok_or_else(|| {
        let remedy = "give an address, or a frame".to_owned();
        wrong("nothing", remedy)
    })?;
    let vlans = &port.settings.vlans;
    let vlan = vlans.iter().find(|vlan| Some(vlan.vid) == question.vlan);
    let link = vlan.map_or(port.ifindex, |vlan| vlan.ifindex);
    let from = match question.from {
        Some(from) => from,
        None => search::host(follower, link, to.is_ipv6()).ok_or_else(|| {
            let remedy = format!("no address of its family on {}: give --from", port.name);
            wrong(&to.to_string(), remedy)
        })?,
    };
    let neighbours = &follower.mirror().around().neighbours;
    let sender = neighbours.get(&(link, from));
    let plan = Plan {
        to,
        from,
        station: vlan.map_or(port.settings.mac, |vlan| vlan.mac),
        sender: sender
            .and_then(|neighbour| neighbour.mac)
            .unwrap_or([2, 0, 0, 0, 0, 1]),
        vlan: question.vlan,
    };
    let frame = packet::make(question, &plan).map_err(|error| wrong(&to.to_string(), error))?;
    Ok((port, frame))
}

/// All that is known of the frame's way.
struct Told<'a> {
    follower: &'a Follower,
    kept: &'a [String],
    arrival: Arrival,
    seen: Seen,
    frame: Vec<u8>,
    found: Found,
    rehearsed: Rehearsed,
}

impl Told<'_> {
    fn explained(self) -> Explained {
        let left = self.rehearsed.left;
        let says = self.asked();
        let kernel = says.as_ref().map(|says| self.kernel(says));
        let is_kernels = left.is_some_and(Reason::is_punted);
        let then = left
            .filter(|_| is_kernels)
            .map(|reason| says::then(reason, says.as_ref(), |link| link_name(self.follower, link)));
        let modes = self.follower.engine().modes();
        let mode = modes
            .iter()
            .find(|mode| mode.port == self.arrival.port.name);
        let around = self.follower.mirror().around();
        Explained {
            schema: SCHEMA,
            engine: self.follower.engine().name(),
            frame: self.frame_seen(),
            mode: mode.map_or("none", |mode| mode.mode),
            table: self.arrival.table,
            vrf: around.vrf(self.arrival.table).map(str::to_owned),
            fate: match left {
                None => "forwarded",
                Some(_) if is_kernels => "to the kernel",
                Some(_) => "dropped",
            },
            reason: left.map(|reason| self.because(reason)),
            rewrite: if left.is_none() { self.rewrite() } else { None },
            behind: left.map_or_else(|| self.behind(), |_| Vec::new()),
            differences: self.differences(says.as_ref()),
            kernel,
            then,
            prefix: self.found.prefix,
            next_hop: self.found.next_hop,
        }
    }

    fn frame_seen(&self) -> FrameSeen {
        FrameSeen {
            port: self.arrival.port.name.clone(),
            vlan: self.seen.vlan,
            source_mac: mac(self.seen.source_mac),
            destination_mac: mac(self.seen.destination_mac),
            packet: self.seen.ip.map(PacketSeen::from),
            bytes: hexadecimal(&self.frame),
        }
    }

    /// What counters say of frames that came by this port and went on like this one.
    fn behind(&self) -> Vec<Behind> {
        // Without counters there is nothing to say.
        let counters = self.follower.engine().counters().unwrap_or_default();
        let mut all: Vec<Behind> = Vec::new();
        for count in &counters.reasons {
            let known = says::behind(count.reason);
            let Some((meaning, remedy)) = known.filter(|_| count.frames > 0) else {
                continue;
            };
            if count.ifindex != self.arrival.port.ifindex {
                continue;
            }
            match all.iter_mut().find(|one| one.name == count.reason) {
                Some(one) => one.frames += count.frames,
                None => all.push(Behind {
                    name: count.reason,
                    frames: count.frames,
                    meaning: says::line(meaning),
                    remedy,
                }),
            }
        }
        all
    }

    fn because(&self, reason: Reason) -> Because {
        Because {
            name: reason.name(),
            meaning: says::line(reason.meaning()),
            decided_by: says::decided_by(reason, self.kept),
            remedy: reason.remedy(),
        }
    }

    /// What the kernel would do, where it has something to look up.
    fn asked(&self) -> Option<Says> {
        let (packet, link) = (self.seen.ip.as_ref()?, self.arrival.link?);
        kernel::ask(packet, link).ok()
    }

    fn kernel(&self, says: &Says) -> Kernel {
        let nothing = |answer| Kernel {
            answer,
            egress: None,
            gateway: None,
            error: None,
        };
        match says {
            Says::Forwards(link, gateway) => Kernel {
                egress: Some(link_name(self.follower, *link)),
                gateway: gateway.map(|gateway| gateway.to_string()),
                ..nothing("unicast")
            },
            Says::Type(kind) => nothing(kind),
            Says::Refuses(code) => Kernel {
                error: Some(std::io::Error::from_raw_os_error(*code).to_string()),
                ..nothing("refused")
            },
        }
    }

    /// As it leaves. A worker changes its frames itself, by the same next hop.
    fn rewrite(&self) -> Option<Rewrite> {
        let entry = self.found.entry?;
        let after = packet::see(&self.rehearsed.frame);
        let packet = self.seen.ip?;
        if after.source_mac == self.seen.source_mac {
            return Some(Rewrite {
                source_mac: mac(entry.source_mac),
                destination_mac: mac(entry.destination_mac),
                vlan: (entry.vlan != 0).then_some(entry.vlan & 0xfff),
                ttl: packet.ttl.saturating_sub(1),
                bytes: None,
            });
        }
        Some(Rewrite {
            source_mac: mac(after.source_mac),
            destination_mac: mac(after.destination_mac),
            vlan: after.vlan,
            ttl: after.ip?.ttl,
            bytes: Some(hexadecimal(&self.rehearsed.frame)),
        })
    }

    fn differences(&self, says: Option<&Says>) -> Vec<String> {
        let mut all = Vec::new();
        let left = self.rehearsed.left;
        if left.is_none() && self.follower.engine().keeps_table() {
            all.extend(self.program_differs());
        }
        if let (Some(says), Some(packet)) = (says, &self.seen.ip) {
            all.extend(self.kernel_differs(left, says, packet));
        }
        all
    }

    /// Has the program taken another next hop than the search?
    fn program_differs(&self) -> Option<String> {
        let (took, found) = (self.rehearsed.next_hop, self.found.taken());
        (took != found).then(|| {
            format!("the program took next hop {took:?}, the search in its table found {found:?}")
        })
    }

    /// Does the kernel do something else than what the table says?
    fn kernel_differs(&self, left: Option<Reason>, says: &Says, packet: &Packet) -> Option<String> {
        let name = |link| link_name(self.follower, link);
        let theirs = || says::does(says, name);
        match (left, says) {
            (None, Says::Forwards(link, gateway)) => {
                let neighbour = gateway.unwrap_or(packet.to);
                let ways = &self.found.ways;
                // Without a table of ours the answer is the kernel's own.
                let agrees = !self.follower.engine().keeps_table()
                    || ways.iter().any(|way| way.leads(*link, neighbour));
                (!agrees).then(|| {
                    let ours: Vec<String> = ways.iter().map(|way| way.shown(name)).collect();
                    format!("we forward {}; the kernel {}", ours.join(" or "), theirs())
                })
            }
            (None, _) => Some(format!("we forward; the kernel {}", theirs())),
            (
                Some(Reason::Blackhole | Reason::EmptyGroup),
                Says::Forwards(..) | Says::Type("local"),
            ) => Some(format!("we drop; the kernel {}", theirs())),
            (
                Some(Reason::NoRoute | Reason::Unreachable | Reason::Prohibit | Reason::Local),
                Says::Forwards(..),
            ) => {
                let reason = left.map_or("", Reason::name);
                Some(format!("our table says {reason}; the kernel {}", theirs()))
            }
            _ => None,
        }
    }
}

/// One way that a frame may take.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WayOut {
    link: u32,
    /// Addresses of the neighbour there, by the kernel's table of neighbours.
    neighbours: Vec<IpAddr>,
}

impl WayOut {
    fn leads(&self, link: u32, neighbour: IpAddr) -> bool {
        self.link == link && self.neighbours.contains(&neighbour)
    }

    fn shown(&self, name: impl Fn(u32) -> String) -> String {
        let first = self.neighbours.first();
        let to = first.map_or_else(|| "nobody known".to_owned(), IpAddr::to_string);
        format!("by {} to {to}", name(self.link))
    }
}

fn kind_name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}
