//! A frame as it is told: `corelane-capture/1`, a line of text, a comment.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use fastpath::forward::Reason;
use fastpath::forward::capture::Shown;
use router::management_plane::capture::StartedPort;
use router::management_plane::explain::{PacketSeen, hexadecimal, packet_seen};
use serde::Serialize;

use super::ways::Ways;

/// The form of [`Frame`].
const SCHEMA: &str = "corelane-capture/1";

/// A frame that was captured, and what became of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Frame {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// When it came, nanoseconds since 1970.
    pub(super) time_ns: u64,
    /// The port that it came by.
    pub(super) port: String,
    /// Where the program of the port runs: `native`, `generic` or `tc`.
    pub(super) mode: String,
    /// `forwarded`, `to the kernel` or `dropped`.
    fate: &'static str,
    /// Why it was not forwarded.
    reason: Option<&'static str>,
    /// The port that it left by.
    egress: Option<String>,
    /// Tag control information that it left with.
    egress_tag: Option<u16>,
    /// Number of the next hop.
    next_hop: Option<u16>,
    /// The neighbour that the next hop is.
    neighbour: Option<String>,
    /// The longest prefix for its destination, a moment later; absent where nothing is looked up, and
    /// beyond a hundred different destinations a second.
    prefix: Option<String>,
    /// The kernel's number of the table that was asked.
    table: Option<u32>,
    /// The core that had it.
    core: u16,
    /// Frames on the wire that it stands for.
    frames: u32,
    /// Frames that were wanted and found no room, between the one before and this one.
    pub(super) lost: u64,
    /// Identifier of the VLAN that it came by.
    vlan: Option<u16>,
    /// Absent where there is no packet of IP.
    #[serde(flatten)]
    packet: Option<PacketSeen>,
    /// Bytes of the frame on the wire.
    wire_length: u32,
    /// As many as were kept, hexadecimal.
    bytes: String,
}

impl Frame {
    pub(super) fn of(
        shown: &Shown<'_>,
        epoch: Duration,
        ports: &BTreeMap<usize, StartedPort>,
        ways: &mut Ways,
        lost: u64,
    ) -> Self {
        let name = |place: usize| {
            let port = ports.get(&place);
            port.map_or_else(|| format!("port {place}"), |port| port.name.clone())
        };
        let (vlan, packet) = packet_seen(shown.bytes);
        let way = packet.as_ref().and_then(|(to, _)| {
            let looked_up = shown.reason.is_none_or(Reason::is_looked_up);
            looked_up.then(|| ways.of(shown.table, *to, shown.next_hop))?
        });
        let way = way.unwrap_or_default();
        let forwarded = shown.reason.is_none();
        Self {
            schema: SCHEMA,
            time_ns: (epoch + shown.time).as_nanos() as u64,
            port: name(shown.port),
            mode: (ports.get(&shown.port)).map_or_else(String::new, |port| port.mode.clone()),
            fate: match shown.reason {
                None => "forwarded",
                Some(reason) if reason.is_punted() => "to the kernel",
                Some(_) => "dropped",
            },
            reason: shown.reason.map(Reason::name),
            egress: forwarded.then(|| name(shown.egress)),
            egress_tag: shown.vlan.filter(|_| forwarded),
            next_hop: (shown.next_hop != 0).then_some(shown.next_hop),
            neighbour: way.neighbour,
            prefix: way.prefix,
            table: (way.table != 0).then_some(way.table),
            core: shown.cpu,
            frames: shown.frames,
            lost,
            vlan,
            packet: packet.map(|(_, packet)| packet),
            wire_length: shown.length,
            bytes: hexadecimal(shown.bytes),
        }
    }

    /// What became of it, as name=value: in Wireshark, `frame.comment contains "reason=no-route"`.
    pub(super) fn comment(&self) -> String {
        let mut text = match self.reason {
            None => "forwarded".to_owned(),
            Some(reason) => format!("{} reason={reason}", self.fate),
        };
        let optional = [
            ("egress", self.egress.clone()),
            (
                "egress-vlan",
                self.egress_tag.map(|tag| (tag & 0xfff).to_string()),
            ),
            ("next-hop", self.neighbour.clone()),
            ("prefix", self.prefix.clone()),
            ("table", self.table.map(|table| table.to_string())),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                // Text takes whatever is written.
                let _ = write!(text, " {name}={value}");
            }
        }
        let _ = write!(text, " core={}", self.core);
        if self.frames > 1 {
            let _ = write!(text, " frames={}", self.frames);
        }
        text
    }

    /// For the terminal.
    pub(super) fn line(&self) -> String {
        let seconds = self.time_ns / 1_000_000_000 % 86_400;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let micros = self.time_ns / 1000 % 1_000_000;
        let vlan = self.vlan.map(|vlan| format!(" vlan {vlan}"));
        let (port, vlan) = (&self.port, vlan.unwrap_or_default());
        let what = match &self.packet {
            None => format!("type {}", self.bytes.get(24..28).unwrap_or("none")),
            Some(packet) => shown(packet),
        };
        let length = self.wire_length;
        let became = self.comment();
        format!(
            "{hour:02}:{minute:02}:{second:02}.{micros:06} {port}{vlan} {what}, {length} bytes: \
             {became}\n"
        )
    }
}

fn shown(packet: &PacketSeen) -> String {
    let end = |address: &str, port: Option<u16>| match port {
        Some(port) if address.contains(':') => format!("[{address}]:{port}"),
        Some(port) => format!("{address}:{port}"),
        None => address.to_owned(),
    };
    let (from, to) = (
        end(&packet.from, packet.source_port),
        end(&packet.to, packet.destination_port),
    );
    let protocol = match packet.protocol {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        number => format!("protocol {number}"),
    };
    format!("{from} > {to} {protocol} ttl {}", packet.ttl)
}
