//! The kernel's settings of an interface that decide what it forwards
//! (Documentation/networking/ip-sysctl.rst), read from `/proc/sys/net`.

use std::{fs, io};

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
    pub(super) fn read() -> io::Result<Self> {
        let v4 = |setting: &str| value(&format!("ipv4/conf/all/{setting}"));
        Ok(Self {
            rp_filter: v4("rp_filter")?,
            accept_local: v4("accept_local")?,
            send_redirects: v4("send_redirects")?,
            accept_redirects: v4("accept_redirects")? != 0,
            forwarding6: value("ipv6/conf/all/forwarding")? != 0,
        })
    }

    /// What the kernel lets an interface forward. One that is not there accepts nothing.
    pub(super) fn accepts(&self, name: &str) -> io::Result<Accepts> {
        let v4 = |setting: &str| value(&format!("ipv4/conf/{name}/{setting}"));
        let v6 = |setting: &str| number(&format!("ipv6/conf/{name}/{setting}"));
        let is_forced = v6("force_forwarding")?.is_some_and(|on| on != 0);
        // The kernel takes the larger of the interface's value and that of all (`IN_DEV_MAXCONF`),
        // or whether one of them is set (`IN_DEV_ORCONF`): for settings of 0 and 1 the same.
        Ok(Accepts {
            v4: v4("forwarding")? != 0,
            v6: v6("disable_ipv6")? == Some(0) && (self.forwarding6 || is_forced),
            reverse_path: match self.rp_filter.max(v4("rp_filter")?) {
                0 => ReversePath::Off,
                1 => ReversePath::Strict,
                _ => ReversePath::Loose,
            },
            own_sources: self.accept_local.max(v4("accept_local")?) != 0,
            way_back: self.send_redirects.max(v4("send_redirects")?) == 0,
        })
    }

    /// Is a router believed that names a better one, in a message by this interface
    /// (`IN_DEV_RX_REDIRECTS` of linux/inetdevice.h)? Of IPv4 only: who forwards IPv6 believes none.
    pub(super) fn believes(&self, name: &str) -> io::Result<bool> {
        let v4 = |setting: &str| value(&format!("ipv4/conf/{name}/{setting}"));
        let (all, own) = (self.accept_redirects, v4("accept_redirects")? != 0);
        let forwards = v4("forwarding")? != 0;
        Ok(if forwards { all && own } else { all || own })
    }
}

/// Are packets of IPv4 held to what others said of the MTU on their way?
pub(super) fn uses_path_mtu() -> io::Result<bool> {
    Ok(value("ipv4/ip_forward_use_pmtu")? != 0)
}

/// The largest packet of IPv6 that leaves by an interface, in bytes: a setting of its own, which is
/// at most the link's. `None` when there is no IPv6 on it.
pub(super) fn mtu6(name: &str) -> io::Result<Option<u32>> {
    number(&format!("ipv6/conf/{name}/mtu"))
}

/// What makes a flow, in the calling thread's network namespace.
pub(super) fn flows() -> io::Result<Flows> {
    let of = |family: &str, setting: &str| value(&format!("{family}/fib_multipath_hash_{setting}"));
    Ok(Flows {
        v4: FlowFields::v4(of("ipv4", "policy")?, of("ipv4", "fields")?),
        v6: FlowFields::v6(of("ipv6", "policy")?, of("ipv6", "fields")?),
    })
}

/// A setting below `/proc/sys/net`; none when there is no such setting, or no such interface.
fn number(path: &str) -> io::Result<Option<u32>> {
    match fs::read_to_string(format!("/proc/sys/net/{path}")) {
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("net/{path}: {error}"))),
    }
}

/// The same; 0 when there is none.
fn value(path: &str) -> io::Result<u32> {
    Ok(number(path)?.unwrap_or(0))
}
