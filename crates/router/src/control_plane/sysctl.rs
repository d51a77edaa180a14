//! The kernel's settings of an interface that decide what it forwards
//! (Documentation/networking/ip-sysctl.rst), read from `/proc/sys/net`.

use std::fs;

use fastpath::forward::{Accepts, FlowFields, Flows, ReversePath};

/// What the kernel lets an interface of the calling thread's network namespace forward. An
/// interface that is not there accepts nothing.
pub fn accepts(name: &str) -> Accepts {
    let of = |family: &str, place: &str, setting: &str| {
        number(&format!("{family}/conf/{place}/{setting}")).unwrap_or(0)
    };
    let v4 = |setting: &str| of("ipv4", name, setting);
    // The kernel takes the larger of the interface's value and that of all (`IN_DEV_MAXCONF`), or
    // whether one of them is set (`IN_DEV_ORCONF`): for settings of 0 and 1 the same.
    let larger = |setting: &str| v4(setting).max(of("ipv4", "all", setting));
    let v6 = |place: &str, setting: &str| of("ipv6", place, setting) != 0;
    let v6_exists = fs::exists(format!("/proc/sys/net/ipv6/conf/{name}")).unwrap_or(false);
    Accepts {
        v4: v4("forwarding") != 0,
        v6: v6_exists
            && (v6("all", "forwarding") || v6(name, "force_forwarding"))
            && !v6(name, "disable_ipv6"),
        reverse_path: match larger("rp_filter") {
            0 => ReversePath::Off,
            1 => ReversePath::Strict,
            _ => ReversePath::Loose,
        },
        own_sources: larger("accept_local") != 0,
        way_back: larger("send_redirects") == 0,
    }
}

/// The largest packet of IPv6 that leaves by an interface, in bytes: a setting of its own, which is
/// at most the link's. `None` when there is no IPv6 on it.
pub fn mtu6(name: &str) -> Option<u32> {
    number(&format!("ipv6/conf/{name}/mtu"))
}

/// What makes a flow, in the calling thread's network namespace.
pub fn flows() -> Flows {
    let of = |family: &str, setting: &str| {
        number(&format!("{family}/fib_multipath_hash_{setting}")).unwrap_or(0)
    };
    let all = |family| (of(family, "policy"), of(family, "fields"));
    let ((policy4, fields4), (policy6, fields6)) = (all("ipv4"), all("ipv6"));
    Flows {
        v4: FlowFields::v4(policy4, fields4),
        v6: FlowFields::v6(policy6, fields6),
    }
}

/// A setting below `/proc/sys/net`; none when this kernel has no such setting.
fn number(path: &str) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/sys/net/{path}")).ok()?;
    text.trim().parse().ok()
}
