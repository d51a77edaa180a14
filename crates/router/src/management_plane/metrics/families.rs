//! The families of the page, with their types and helps.

/// What a family counts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Its name, to which samples add [`Family::suffix`].
    pub name: &'static str,
    /// `counter`, `gauge` or `info`.
    pub kind: &'static str,
    /// What it counts, without the full stop.
    pub help: &'static str,
}

impl Family {
    /// What samples have behind its name.
    pub fn suffix(&self) -> &'static str {
        match self.kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        }
    }
}

macro_rules! families {
    ($($name:ident = $text:literal, $kind:ident, $help:literal;)*) => {
        $(pub(super) const $name: Family = Family {
            name: $text,
            kind: families!($kind),
            help: $help,
        };)*

        /// All of them, in the order of the page.
        pub const FAMILIES: &[Family] = &[$($name,)*];
    };
    (Counter) => { "counter" };
    (Gauge) => { "gauge" };
    (Info) => { "info" };
}

families! {
    BUILD = "corelane_build", Info, "Version of the program, and the engine that it runs";
    READY = "corelane_ready", Gauge, "1: it does all that it was asked to, and may have traffic";
    HEALTHY = "corelane_healthy", Gauge, "1: somebody vouches for the routes";
    DRAINING = "corelane_draining", Gauge, "1: somebody wants it out of traffic";
    RECEIVED_FRAMES = "corelane_received_frames", Counter, "Frames received, by port and core";
    RECEIVED_BYTES = "corelane_received_bytes", Counter,
        "Bytes received without FCS, by port and core";
    FORWARDED_FRAMES = "corelane_forwarded_frames", Counter,
        "Frames forwarded, by receiving port and core";
    FORWARDED_BYTES = "corelane_forwarded_bytes", Counter,
        "Bytes forwarded without FCS, by receiving port and core";
    REFUSED_FRAMES = "corelane_refused_frames", Counter,
        "Frames that the port's device did not take, by egress port and core";
    NOT_FORWARDED = "corelane_not_forwarded_frames", Counter,
        "Frames not forwarded, by port, core, reason and fate";
    NEXT_HOP_FRAMES = "corelane_next_hop_frames", Counter,
        "Frames by next hop; those of a group under its members";
    VLAN_RECEIVED_FRAMES = "corelane_vlan_received_frames", Counter, "Frames received, by VLAN";
    TABLE_RECEIVED_FRAMES = "corelane_table_received_frames", Counter,
        "Frames received, by table of the look-up; its VRF, if it is one's";
    VLAN_RECEIVED_BYTES = "corelane_vlan_received_bytes", Counter,
        "Bytes received without FCS, by VLAN";
    TABLE_RECEIVED_BYTES = "corelane_table_received_bytes", Counter,
        "Bytes received without FCS, by table of the look-up; its VRF, if it is one's";
    VLAN_FORWARDED_FRAMES = "corelane_vlan_forwarded_frames", Counter,
        "Frames handed on to be sent, by VLAN";
    TABLE_FORWARDED_FRAMES = "corelane_table_forwarded_frames", Counter,
        "Frames handed on to be sent, by table of the look-up; its VRF, if it is one's";
    VLAN_FORWARDED_BYTES = "corelane_vlan_forwarded_bytes", Counter,
        "Bytes handed on to be sent, without FCS, by VLAN";
    TABLE_FORWARDED_BYTES = "corelane_table_forwarded_bytes", Counter,
        "Bytes handed on to be sent, without FCS, by table of the look-up; its VRF, if it is one's";
    ROUTES = "corelane_routes", Gauge, "Prefixes that have a route";
    TABLE_ROUTES = "corelane_table_routes", Gauge,
        "Routes of a table that boxes have in common: none of addresses and connected networks";
    TABLE_DIGEST = "corelane_table_digest", Gauge,
        "A number that is the same for the same such routes by the same gateways";
    TABLE_PREFIXES_DIGEST = "corelane_table_prefixes_digest", Gauge,
        "A number that is the same for the same such prefixes";
    NEXT_HOPS = "corelane_next_hops", Gauge, "Next hops in use";
    NOT_CARRIED = "corelane_not_carried", Gauge,
        "What is the kernel's because it found no room, by kind";
    ROOM = "corelane_room", Gauge, "What there is room for, by kind";
    ROOM_USED = "corelane_room_used", Gauge, "What of that is taken";
    PORT_FAILED = "corelane_port_failed", Gauge,
        "1: the port could not be set up, is the kernel's and is tried again";
    FAILED = "corelane_failed", Gauge, "1: this has failed the last time, and is tried again";
    MIRROR_LAG = "corelane_mirror_lag_seconds", Gauge,
        "From reading an announcement of the kernel to the engine's having it";
    MIRROR_LAG_MAX = "corelane_mirror_lag_max_seconds", Gauge, "The longest such time";
    MIRROR_MESSAGES = "corelane_mirror_messages", Counter, "Messages taken in";
    MIRROR_RESYNCS = "corelane_mirror_resyncs", Counter, "Re-reads of the kernel's tables";
    MIRROR_OVERRUNS = "corelane_mirror_overruns", Counter, "Times that announcements were lost";
    MEMORY = "corelane_memory_bytes", Gauge, "Forwarding state";
    RESIDENT = "corelane_resident_bytes", Gauge, "Resident memory of the process";
    VERIFY_EQUAL = "corelane_verify_equal", Gauge,
        "1: the latest comparison with the kernel found no difference";
    VERIFY_DIFFERENT = "corelane_verify_different", Gauge, "Answers that differed in it";
    VERIFY_COMPARED = "corelane_verify_compared", Gauge, "Answers compared in it";
    SAMPLES = "corelane_samples", Counter, "Samples of frames that were read";
    SAMPLES_LOST = "corelane_samples_lost", Counter, "Samples that found no room";
    SFLOW_DATAGRAMS = "corelane_sflow_datagrams", Counter, "Datagrams sent to a collector of sFlow";
    SFLOW_FAILED = "corelane_sflow_failed_datagrams", Counter,
        "Datagrams for it that the system refused to send";
    PROCESS_CPU = "process_cpu_seconds", Counter,
        "Time of cores that the process has used, without the packet programs in the kernel";
    PROCESS_RESIDENT = "process_resident_memory_bytes", Gauge, "Resident memory of the process";
    PROCESS_VIRTUAL = "process_virtual_memory_bytes", Gauge, "Virtual memory of the process";
    PROCESS_OPEN = "process_open_fds", Gauge, "Descriptors that are open";
    PROCESS_MOST_OPEN = "process_max_fds", Gauge, "Descriptors that may be open";
    PROCESS_THREADS = "process_threads", Gauge, "Threads of the process";
    PROCESS_START = "process_start_time_seconds", Gauge,
        "When the process started, in seconds since 1970";
}
