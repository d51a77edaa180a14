//! Sentences: whose decision it is, and what the kernel does.

use fastpath::forward::{Reason, Step};

use super::kernel::Says;

/// Whose decision a reason is.
pub(super) fn decided_by(reason: Reason, kept: &[String]) -> String {
    let said = match reason {
        Reason::PortDisabled if kept.is_empty() => "the port's state, or its family's settings",
        Reason::PortDisabled => return format!("what is left to the kernel: {}", kept.join("; ")),
        Reason::Stale => "the control plane, which does not vouch for the routes",
        Reason::UnverifiedSource => "the kernel's settings rp_filter and accept_local",
        Reason::Hairpin => "the way out, which is the way in",
        Reason::TooBig => "the MTU of the way out",
        Reason::NoRedirect | Reason::UnknownPort => "the way out",
        Reason::NoWorker => "the workers, of which none serves the queue",
        Reason::Unresolved => "the neighbour, whose Ethernet address is not known",
        Reason::NoHeadroom | Reason::TransmitFull | Reason::EgressRefused => "the device",
        Reason::PartialChecksum | Reason::Segments => "the frame, which its sender left unfinished",
        Reason::PolicedRouting
        | Reason::PolicedNeighbour
        | Reason::PolicedLocal
        | Reason::PolicedGroup
        | Reason::PolicedExpired
        | Reason::PolicedNoRoute
        | Reason::PolicedUnresolved
        | Reason::PolicedOptions
        | Reason::PolicedTooBig => "the key punt-limits",
        _ if reason.step() == Step::NextHop => "the route",
        _ => "the frame itself",
    };
    said.to_owned()
}

/// A text in one line.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a reason says that is found out behind the program, and what to do; `None` for all others.
pub(super) fn behind(name: &str) -> Option<(&'static str, &'static str)> {
    const BEHIND: [Reason; 3] = [
        Reason::NoHeadroom,
        Reason::TransmitFull,
        Reason::EgressRefused,
    ];
    if name == "socket-full" {
        let meaning = "The workers are too slow for what arrives.";
        return Some((meaning, "more queues and cores, or engine xdp"));
    }
    let reason = BEHIND.into_iter().find(|reason| reason.name() == name)?;
    Some((reason.meaning(), reason.remedy()?))
}

/// What the kernel does with a packet, by its own look-up.
pub(super) fn does(says: &Says, name: impl Fn(u32) -> String) -> String {
    match says {
        Says::Forwards(link, None) => format!("sends it by {} to the destination", name(*link)),
        Says::Forwards(link, Some(gateway)) => format!("sends it by {} to {gateway}", name(*link)),
        Says::Type("local" | "anycast") => "delivers it here".to_owned(),
        Says::Type("broadcast" | "multicast") => "takes it as one for a group".to_owned(),
        Says::Type("blackhole") => "drops it: a blackhole".to_owned(),
        Says::Type(kind) => format!("does not forward it: {kind}"),
        Says::Refuses(code) => {
            let error = std::io::Error::from_raw_os_error(*code);
            match *code {
                libc::ENETUNREACH => "answers \"network unreachable\"".to_owned(),
                libc::EHOSTUNREACH => "answers \"host unreachable\"".to_owned(),
                libc::EACCES => "answers \"prohibited\"".to_owned(),
                libc::EXDEV => "drops it: its source is not valid here (rp_filter)".to_owned(),
                libc::EINVAL => {
                    "drops it: a blackhole, or an address that is never forwarded".to_owned()
                }
                _ => format!("refuses it: {error}"),
            }
        }
    }
}

/// What the kernel does with a frame that it gets for this reason.
pub(super) fn then(reason: Reason, says: Option<&Says>, name: impl Fn(u32) -> String) -> String {
    let first = match reason {
        Reason::Ipv4TimeToLive | Reason::Ipv6HopLimit => {
            "answers \"time exceeded\", unless it is for this machine"
        }
        Reason::TooBig => "fragments it, or answers \"too big\"",
        Reason::OtherStation => "ignores it, unless somebody listens to all",
        Reason::UnknownVlan => "drops it: no interface has this VLAN",
        Reason::Unresolved => "asks for the neighbour's address, and sends it then",
        Reason::LinkGroup | Reason::OtherProtocol => "gives it to whoever listens to its kind",
        _ => "",
    };
    let looked = says.map(|says| does(says, name));
    match (first, looked) {
        ("", Some(looked)) => looked,
        ("", None) => "does with it what it does without this program".to_owned(),
        (first, Some(looked)) if reason == Reason::Unresolved || reason == Reason::TooBig => {
            format!("{first}; by its look-up it {looked}")
        }
        (first, _) => first.to_owned(),
    }
}
