//! Queueing disciplines that shape, filters, and BPF programs at tc.

use bpf::sys::{ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, programs_attached};
use host::netlink::{ROUTE, Socket, attributes, text};

use super::{Finding, Scope, Watched};

const TCA_KIND: u16 = 1;
/// Where filters hang: root, ingress, and both ends of `clsact`.
const TC_PARENTS: [u32; 4] = [0, 0xFFFF_0000, 0xFFFF_FFF2, 0xFFFF_FFF3];
/// Disciplines that neither shape nor reorder by class.
const HARMLESS: [&str; 9] = [
    "noqueue",
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "fq_codel",
    "fq",
    "mq",
    "clsact",
    "ingress",
];

pub(super) fn disciplines_and_filters(port: &Watched, found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(ROUTE, &[]) else {
        return;
    };
    let scope = || Scope::Port(port.name.clone());
    let body = |parent: u32| {
        let mut body = [0; 20];
        body[4..8].copy_from_slice(&port.index.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        body
    };
    let kind = |payload: &[u8]| {
        let attribute = attributes(payload.get(20..)?).find(|(kind, _)| *kind == TCA_KIND)?;
        let of_port = payload.get(4..8) == Some(&port.index.to_ne_bytes());
        of_port.then(|| text(attribute.1))
    };
    // Where the kernel has no traffic control the request is refused, and there is nothing to find.
    let _ = socket.dump(libc::RTM_GETQDISC, &[0; 20], |message| {
        if let Some(kind) = kind(message.payload).filter(|kind| !HARMLESS.contains(&kind.as_str()))
        {
            let what = format!(
                "queueing discipline {kind} (tc qdisc show dev {})",
                port.name
            );
            found.push(Finding::new(scope(), what));
        }
    });
    for parent in TC_PARENTS {
        let _ = socket.dump(libc::RTM_GETTFILTER, &body(parent), |message| {
            if let Some(kind) = kind(message.payload) {
                let what = format!("tc filter {kind} (tc filter show dev {})", port.name);
                found.push(Finding::new(scope(), what));
            }
        });
    }
}

pub(super) fn programs(port: &Watched, own: u32, found: &mut Vec<Finding>) {
    for (at, own) in [(ATTACH_TCX_INGRESS, own), (ATTACH_TCX_EGRESS, 0)] {
        // Before Linux 6.6 there are none of this kind.
        let others = programs_attached(port.index, at)
            .unwrap_or(0)
            .saturating_sub(own);
        if others > 0 {
            let name = &port.name;
            found.push(Finding::new(
                Scope::Port(name.clone()),
                format!("{others} BPF programs at tc (bpftool net show dev {name})"),
            ));
        }
    }
}
