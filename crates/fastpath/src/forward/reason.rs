//! Why a frame was not forwarded: the names behind the numbers of `bpf/reasons.h`.

/// What became of a frame that was not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The same in source, output and metrics, and for all engines.
    pub name: &'static str,
    /// True: the kernel has it. False: it was dropped.
    pub punted: bool,
}

const fn kernel(name: &'static str) -> Reason {
    Reason { name, punted: true }
}

const fn dropped(name: &'static str) -> Reason {
    Reason {
        name,
        punted: false,
    }
}

/// All reasons, in the order of `enum reason`.
pub const REASONS: [Reason; 39] = [
    kernel("port-disabled"),
    kernel("stale"),
    dropped("runt"),
    kernel("link-group"),
    kernel("other-station"),
    kernel("unknown-vlan"),
    kernel("other-protocol"),
    dropped("ipv4-truncated"),
    dropped("ipv4-version"),
    dropped("ipv4-header-length"),
    dropped("ipv4-checksum"),
    dropped("ipv4-total-length"),
    dropped("ipv4-overrun"),
    kernel("ipv4-source-martian"),
    kernel("ipv4-destination-martian"),
    kernel("ipv4-group"),
    kernel("ipv4-options"),
    kernel("ipv4-time-to-live"),
    dropped("ipv6-truncated"),
    dropped("ipv6-version"),
    dropped("ipv6-overrun"),
    kernel("ipv6-source-martian"),
    kernel("ipv6-destination-martian"),
    kernel("ipv6-group"),
    kernel("ipv6-hop-by-hop"),
    kernel("ipv6-hop-limit"),
    kernel("partial-checksum"),
    kernel("no-route"),
    kernel("punt"),
    dropped("blackhole"),
    kernel("unreachable"),
    kernel("prohibit"),
    dropped("empty-group"),
    kernel("unknown-port"),
    kernel("no-redirect"),
    kernel("no-worker"),
    kernel("too-big"),
    dropped("no-headroom"),
    dropped("transmit-full"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_c_source_in_its_order() {
        let source = include_str!("../../bpf/reasons.h");
        let body = source
            .split_once("enum reason {")
            .and_then(|(_, rest)| rest.split_once("};"))
            .unwrap()
            .0;
        let names: Vec<_> = body
            .split(',')
            .map(|name| name.trim().to_lowercase().replace('_', "-"))
            .filter(|name| !name.is_empty() && name != "reasons")
            .collect();
        let ours: Vec<_> = REASONS.iter().map(|reason| reason.name).collect();
        assert_eq!(names, ours);
    }
}
