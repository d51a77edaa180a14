//! A frame that passed, and what became of it, as the console and recordings show it.

use std::net::IpAddr;
use std::time::Duration;

use fastpath::forward::Reason;
use fastpath::forward::capture::Shown;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::control_plane::follower::Follower;
use crate::management_plane::answers::link_name;
use crate::management_plane::explain::{self, PacketSeen, hexadecimal, packet_seen};

/// A frame, and what became of it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Frame {
    /// When it came, milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The port that it came by.
    pub(crate) port: String,
    /// `forwarded`, `to the kernel` or `dropped`.
    pub(crate) fate: &'static str,
    /// Why it was not forwarded.
    pub(crate) reason: Option<&'static str>,
    /// The port that it left by.
    pub(crate) egress: Option<String>,
    /// The longest prefix for its destination, a moment later; absent where nothing is looked up.
    pub(crate) prefix: Option<String>,
    /// The core that had it.
    pub(crate) core: u16,
    /// Identifier of the VLAN that it came by.
    pub(crate) vlan: Option<u16>,
    /// Absent where there is no packet of IP.
    #[serde(flatten)]
    pub(crate) packet: Option<PacketSeen>,
    /// Bytes of the frame on the wire.
    pub(crate) wire_length: u32,
    /// As many as were kept, hexadecimal.
    pub(crate) bytes: String,
}

/// The same before names are asked for: for who has no [`Follower`].
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    /// Of the monotonic clock.
    time: Duration,
    port: usize,
    egress: usize,
    reason: Option<Reason>,
    table: u32,
    next_hop: u16,
    core: u16,
    length: u32,
    bytes: Vec<u8>,
}

impl Raw {
    pub(crate) fn of(shown: &Shown<'_>) -> Self {
        Self {
            time: shown.time,
            port: shown.port,
            egress: shown.egress,
            reason: shown.reason,
            table: shown.table,
            next_hop: shown.next_hop,
            core: shown.cpu,
            length: shown.length,
            bytes: shown.bytes.to_vec(),
        }
    }

    /// By the names and routes of now.
    pub(crate) fn told(&self, follower: &Follower) -> Frame {
        let forwarder = follower.engine().forwarder();
        let name = |place: usize| {
            let ifindex = forwarder.and_then(|forwarder| {
                let mut places = forwarder.places();
                places.find(|(of, _)| *of == place)
            });
            ifindex.map_or_else(
                || format!("port {place}"),
                |(_, ifindex)| link_name(follower, ifindex),
            )
        };
        let (vlan, packet) = packet_seen(&self.bytes);
        let looked_up = self.reason.is_none_or(Reason::is_looked_up);
        let prefix = packet.as_ref().filter(|_| looked_up);
        let prefix = prefix.and_then(|(to, _)| self.prefix(follower, *to));
        Frame {
            time_ms: (since_1970() + self.time).as_millis() as u64,
            port: name(self.port),
            fate: match self.reason {
                None => "forwarded",
                Some(reason) if reason.is_punted() => "to the kernel",
                Some(_) => "dropped",
            },
            reason: self.reason.map(Reason::name),
            egress: self.reason.is_none().then(|| name(self.egress)),
            prefix,
            core: self.core,
            vlan,
            packet: packet.map(|(_, packet)| packet),
            wire_length: self.length,
            bytes: hexadecimal(&self.bytes),
        }
    }

    fn prefix(&self, follower: &Follower, to: IpAddr) -> Option<String> {
        let forwarder = follower.engine().forwarder()?;
        let table = forwarder.table_at(self.table)?;
        explain::way(follower, table, to, self.next_hop).0
    }
}

/// What the monotonic clock's zero was, since 1970.
fn since_1970() -> Duration {
    let of = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
    };
    of(ClockId::Realtime).saturating_sub(of(ClockId::Monotonic))
}
