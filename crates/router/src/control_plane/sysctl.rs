//! The kernel's settings of an interface that decide what it forwards
//! (Documentation/networking/ip-sysctl.rst), read from `/proc/sys/net`.

use std::fs;

use fastpath::forward::{Accepts, FlowFields, Flows, ReversePath};

/// What counts for all interfaces of the calling thread's network namespace together, read once for
/// all of them ([`All::accepts`]).
pub struct All {
    rp_filter: u32,
    accept_local: u32,
    send_redirects: u32,
    accept_redirects: bool,
    forwarding6: bool,
}

impl All {
    /// As things are now.
    pub fn read() -> Self {
        let v4 = |setting: &str| number(&format!("ipv4/conf/all/{setting}")).unwrap_or(0);
        Self {
            rp_filter: v4("rp_filter"),
            accept_local: v4("accept_local"),
            send_redirects: v4("send_redirects"),
            accept_redirects: v4("accept_redirects") != 0,
            forwarding6: number("ipv6/conf/all/forwarding").is_some_and(|on| on != 0),
        }
    }

    /// What the kernel lets an interface forward. One that is not there accepts nothing.
    pub fn accepts(&self, name: &str) -> Accepts {
        let v4 = |setting: &str| number(&format!("ipv4/conf/{name}/{setting}")).unwrap_or(0);
        let v6 = |setting: &str| number(&format!("ipv6/conf/{name}/{setting}"));
        let v6_is_on = |setting: &str| v6(setting).is_some_and(|on| on != 0);
        // The kernel takes the larger of the interface's value and that of all (`IN_DEV_MAXCONF`),
        // or whether one of them is set (`IN_DEV_ORCONF`): for settings of 0 and 1 the same.
        Accepts {
            v4: v4("forwarding") != 0,
            v6: v6("disable_ipv6") == Some(0) && (self.forwarding6 || v6_is_on("force_forwarding")),
            reverse_path: match self.rp_filter.max(v4("rp_filter")) {
                0 => ReversePath::Off,
                1 => ReversePath::Strict,
                _ => ReversePath::Loose,
            },
            own_sources: self.accept_local.max(v4("accept_local")) != 0,
            way_back: self.send_redirects.max(v4("send_redirects")) == 0,
        }
    }

    /// Is a router believed that names a better one, in a message by this interface
    /// (`IN_DEV_RX_REDIRECTS` of linux/inetdevice.h)? Of IPv4 only: who forwards IPv6 believes none.
    pub fn believes(&self, name: &str) -> bool {
        let is_on = |setting: &str| {
            number(&format!("ipv4/conf/{name}/{setting}")).is_some_and(|on| on != 0)
        };
        let (all, own) = (self.accept_redirects, is_on("accept_redirects"));
        if is_on("forwarding") {
            all && own
        } else {
            all || own
        }
    }
}

/// Are packets of IPv4 held to what others said of the MTU on their way?
pub fn uses_path_mtu() -> bool {
    number("ipv4/ip_forward_use_pmtu").is_some_and(|on| on != 0)
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
