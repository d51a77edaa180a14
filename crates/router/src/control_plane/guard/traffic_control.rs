//! Queueing disciplines that shape, filters, and BPF programs at tc.

use bpf::sys::{ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, programs_attached};
use host::netlink::{ROUTE, Socket, attributes, text};

use super::{Finding, Scope, Treatment, Watched};

const TCA_KIND: u16 = 1;
/// Where filters hang when there is a discipline `clsact` or `ingress`: both ends.
const TC_PARENTS: [u32; 2] = [0xFFFF_FFF2, 0xFFFF_FFF3];
/// `TCM_IFINDEX_MAGIC_BLOCK`: the filter is in a block that several links share.
const SHARED_BLOCK: u32 = u32::MAX;
/// Disciplines that neither shape nor reorder by class.
const HARMLESS: [&str; 7] = [
    "noqueue",
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "fq_codel",
    "fq",
    "mq",
];

pub(super) fn disciplines_and_filters(links: &[Watched], found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(ROUTE, &[]) else {
        return;
    };
    let mut say = |link: &Watched, what: String| {
        found.push(Finding {
            scope: Scope::Port(link.name.clone()),
            what,
            treatment: Treatment::TrafficControl,
        });
    };
    let mut with_filters = Vec::new();
    // Where the kernel has no traffic control the request is refused, and there is nothing to find.
    let _ = socket.dump(libc::RTM_GETQDISC, &[0; 20], |message| {
        let Some((index, kind)) = index_and_kind(message.payload) else {
            return;
        };
        let Some(link) = links.iter().find(|link| link.index == index) else {
            return;
        };
        if kind == "clsact" || kind == "ingress" {
            with_filters.push(link);
        } else if !HARMLESS.contains(&kind.as_str()) {
            let name = &link.name;
            say(
                link,
                format!("queueing discipline {kind} (tc qdisc show dev {name})"),
            );
        }
    });
    for link in with_filters {
        for parent in TC_PARENTS {
            let mut body = [0; 20];
            body[4..8].copy_from_slice(&link.index.to_ne_bytes());
            body[12..16].copy_from_slice(&parent.to_ne_bytes());
            let _ = socket.dump(libc::RTM_GETTFILTER, &body, |message| {
                let here = |index: &u32| *index == link.index || *index == SHARED_BLOCK;
                let filter = index_and_kind(message.payload).filter(|(index, _)| here(index));
                if let Some((_, kind)) = filter {
                    let name = &link.name;
                    say(
                        link,
                        format!("tc filter {kind} (tc filter show dev {name})"),
                    );
                }
            });
        }
    }
}

/// Of a `struct tcmsg` with its attributes.
fn index_and_kind(payload: &[u8]) -> Option<(u32, String)> {
    let index = payload.get(4..8)?.first_chunk()?;
    let mut attributes = attributes(payload.get(20..)?);
    let (_, kind) = attributes.find(|(kind, _)| *kind == TCA_KIND)?;
    Some((u32::from_ne_bytes(*index), text(kind)))
}

pub(super) fn programs(port: &Watched, own: u32, found: &mut Vec<Finding>) {
    for (at, own) in [(ATTACH_TCX_INGRESS, own), (ATTACH_TCX_EGRESS, 0)] {
        // Before Linux 6.6 there are none of this kind.
        let others = programs_attached(port.index, at)
            .unwrap_or(0)
            .saturating_sub(own);
        if others > 0 {
            let name = &port.name;
            found.push(Finding {
                scope: Scope::Port(name.clone()),
                what: format!("{others} BPF programs at tc (bpftool net show dev {name})"),
                treatment: Treatment::TrafficControl,
            });
        }
    }
}
