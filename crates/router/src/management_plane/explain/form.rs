//! The form of what `corelane explain` answers: `corelane-explain/1`.

use serde::Serialize;

use crate::management_plane::forms::Via;

/// Name and version of the form.
pub(super) const SCHEMA: &str = "corelane-explain/1";

/// What `corelane explain` answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub(super) schema: &'static str,
    pub(super) engine: &'static str,
    pub(super) frame: FrameSeen,
    /// Where the program of the port runs.
    pub(super) mode: &'static str,
    /// That the address is looked up in.
    pub(super) table: u32,
    /// Whose the table is.
    pub(super) vrf: Option<String>,
    /// The longest prefix that has the destination; absent where nothing is looked up in our
    /// table.
    pub(super) prefix: Option<Longest>,
    pub(super) next_hop: Option<Taken>,
    /// `forwarded`, `to the kernel` or `dropped`.
    pub(super) fate: &'static str,
    /// Why it is not forwarded.
    pub(super) reason: Option<Because>,
    /// Absent where it is not forwarded.
    pub(super) rewrite: Option<Rewrite>,
    /// Where it is forwarded: why frames of this port were lost behind the program, which runs on none
    /// there.
    pub(super) behind: Vec<Behind>,
    /// Absent where the kernel has nothing to look up.
    pub(super) kernel: Option<Kernel>,
    /// What the kernel does with it, if it gets it.
    pub(super) then: Option<String>,
    /// Where our answer and the kernel's differ.
    pub(super) differences: Vec<String>,
}

/// What is read in the frame.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FrameSeen {
    pub(super) port: String,
    pub(super) vlan: Option<u16>,
    pub(super) source_mac: String,
    pub(super) destination_mac: String,
    /// Absent where there is no packet of IP.
    #[serde(flatten)]
    pub(super) packet: Option<PacketSeen>,
    /// All of it, hexadecimal.
    pub(super) bytes: String,
}

/// What is read in the packet.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketSeen {
    /// Source.
    pub from: String,
    /// Destination.
    pub to: String,
    /// Its number.
    pub protocol: u8,
    /// Of TCP and UDP.
    pub source_port: Option<u16>,
    /// Of TCP and UDP.
    pub destination_port: Option<u16>,
    /// Bytes, as the header says.
    pub length: u32,
    /// Time to live, or hop limit.
    pub ttl: u8,
}

/// The longest prefix.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Longest {
    pub(super) prefix: String,
    /// The route's type; `neighbour`: a host on a link, which needs no route.
    pub(super) kind: String,
    pub(super) metric: u32,
    pub(super) via: Vec<Via>,
}

/// The next hop.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Taken {
    /// Number of the table's answer.
    pub(super) number: u16,
    /// Absent where there is one way alone.
    pub(super) group: Option<Group>,
    pub(super) kind: String,
    /// Where frames for it are sent, if they are.
    #[serde(flatten)]
    pub(super) way: Option<Way>,
}

/// Several ways, of which the flow takes one.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Group {
    pub(super) buckets: usize,
    /// Different next hops.
    pub(super) members: usize,
    /// Of the flow; absent where only the kernel can say.
    pub(super) hash: Option<u32>,
    pub(super) bucket: Option<usize>,
    /// Number of the next hop there.
    pub(super) member: Option<u16>,
}

/// A way out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Way {
    /// The link that it leaves by.
    pub(super) egress: String,
    /// Tag control information; 0: untagged.
    pub(super) tag: u16,
    pub(super) neighbour: Option<String>,
    pub(super) mac: Option<String>,
    /// The kernel's word for the neighbour's state.
    pub(super) state: Option<&'static str>,
    /// Longest packet, bytes; 0: not checked.
    pub(super) mtu: u16,
}

/// Why a frame is not forwarded.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Because {
    pub(super) name: &'static str,
    pub(super) meaning: String,
    /// Whose decision it is.
    pub(super) decided_by: String,
    /// What to do, where something is wrong.
    pub(super) remedy: Option<&'static str>,
}

/// Why frames were lost behind the program.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Behind {
    pub(super) name: &'static str,
    /// So many since the start.
    pub(super) frames: u64,
    pub(super) meaning: String,
    /// What to do.
    pub(super) remedy: &'static str,
}

/// What changes in the frame.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Rewrite {
    pub(super) source_mac: String,
    pub(super) destination_mac: String,
    pub(super) vlan: Option<u16>,
    pub(super) ttl: u8,
    /// The frame as it leaves, hexadecimal; absent where a worker changes it.
    pub(super) bytes: Option<String>,
}

/// The kernel's own input look-up.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Kernel {
    /// A type of route, or `refused`.
    pub(super) answer: &'static str,
    pub(super) egress: Option<String>,
    pub(super) gateway: Option<String>,
    /// Why it refuses.
    pub(super) error: Option<String>,
}
