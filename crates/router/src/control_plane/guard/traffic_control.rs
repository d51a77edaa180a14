//! Queueing disciplines that shape, filters, and BPF programs at tc.

use bpf::sys::{ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, programs_attached};
use host::netlink::{Message, ROUTE, attributes, text};

use super::{Finding, Scope, Treatment, list, unread};
use crate::control_plane::settings::Watched;

const TCA_KIND: u16 = 1;
/// Where filters hang when there is a discipline `clsact` or `ingress`: both ends, and whether it
/// is where frames leave.
const TC_PARENTS: [(u32, bool); 2] = [(0xFFFF_FFF2, false), (0xFFFF_FFF3, true)];
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
    let unread = |error| {
        unread(
            "queueing disciplines or filters",
            &error,
            Treatment::TrafficControl,
        )
    };
    let disciplines = match list(ROUTE, libc::RTM_GETQDISC, &[0; 20], take) {
        Ok(disciplines) => disciplines.unwrap_or_default(),
        Err(error) => return found.push(unread(error)),
    };
    for (index, kind) in disciplines {
        let Some(link) = links.iter().find(|link| link.index == index) else {
            continue;
        };
        let name = &link.name;
        let finding =
            |what| Finding::new(Scope::Port(name.clone()), what, Treatment::TrafficControl);
        if HARMLESS.contains(&kind.as_str()) {
            continue;
        }
        if kind != "clsact" && kind != "ingress" {
            if link.passes_discipline {
                continue;
            }
            let what = format!("queueing discipline {kind} (tc qdisc show dev {name})");
            found.push(finding(what));
            continue;
        }
        for (parent, is_passed) in TC_PARENTS {
            if is_passed && link.passes_discipline {
                continue;
            }
            let mut body = [0; 20];
            body[4..8].copy_from_slice(&index.to_ne_bytes());
            body[12..16].copy_from_slice(&parent.to_ne_bytes());
            let filters = match list(ROUTE, libc::RTM_GETTFILTER, &body, take) {
                Ok(filters) => filters.unwrap_or_default(),
                Err(error) => return found.push(unread(error)),
            };
            let here = |(at, _): &&(u32, String)| *at == index || *at == SHARED_BLOCK;
            for (_, kind) in filters.iter().filter(here) {
                let what = format!("tc filter {kind} (tc filter show dev {name})");
                found.push(finding(what));
            }
        }
    }
}

/// Takes in one message of a dump of disciplines or filters: on which link, and of what kind.
pub fn take(all: &mut Vec<(u32, String)>, message: Message<'_>) {
    all.extend(index_and_kind(message.payload));
}

/// Of a `struct tcmsg` with its attributes.
fn index_and_kind(payload: &[u8]) -> Option<(u32, String)> {
    let index = payload.get(4..8)?.first_chunk()?;
    let mut attributes = attributes(payload.get(20..)?);
    let (_, kind) = attributes.find(|(kind, _)| *kind == TCA_KIND)?;
    Some((u32::from_ne_bytes(*index), text(kind)))
}

pub(super) fn programs(port: &Watched, found: &mut Vec<Finding>) {
    let ends = [
        (ATTACH_TCX_INGRESS, port.own_at_tc, true),
        (ATTACH_TCX_EGRESS, 0, !port.passes_discipline),
    ];
    for (at, own, _) in ends.into_iter().filter(|(_, _, counts)| *counts) {
        let others = match programs_attached(port.index, at) {
            Ok(programs) => programs.saturating_sub(own),
            // Before Linux 6.6 there are none of this kind; an interface that is gone has none.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENODEV)) => 0,
            Err(error) => {
                found.push(unread("programs at tc", &error, Treatment::TrafficControl));
                continue;
            }
        };
        if others > 0 {
            let name = &port.name;
            found.push(Finding::new(
                Scope::Port(name.clone()),
                format!("{others} BPF programs at tc (bpftool net show dev {name})"),
                Treatment::TrafficControl,
            ));
        }
    }
}
