//! Queueing disciplines that shape, filters, and BPF programs at tc.

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
            found.push(Finding {
                scope: scope(),
                what,
                switched_off: false,
            });
        }
    });
    for parent in TC_PARENTS {
        let _ = socket.dump(libc::RTM_GETTFILTER, &body(parent), |message| {
            if let Some(kind) = kind(message.payload) {
                let what = format!("tc filter {kind} (tc filter show dev {})", port.name);
                found.push(Finding {
                    scope: scope(),
                    what,
                    switched_off: false,
                });
            }
        });
    }
}

const BPF_PROG_QUERY: libc::c_long = 16;
const BPF_TCX_INGRESS: u32 = 46;
const BPF_TCX_EGRESS: u32 = 47;

/// The part of `union bpf_attr` that queries use.
#[repr(C)]
#[derive(Default)]
struct ProgramQuery {
    ifindex: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    ids: u64,
    count: u32,
    pad: u32,
    attach_flags_list: u64,
    link_ids: u64,
    link_attach_flags: u64,
    revision: u64,
}

pub(super) fn programs(port: &Watched, own: u32, found: &mut Vec<Finding>) {
    for (attach_type, own) in [(BPF_TCX_INGRESS, own), (BPF_TCX_EGRESS, 0)] {
        let mut query = ProgramQuery {
            ifindex: port.index,
            attach_type,
            ..ProgramQuery::default()
        };
        // SAFETY: the pointer is to `query`, of the size given; its inner pointers are null, which
        // asks for counts only.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                BPF_PROG_QUERY,
                &raw mut query,
                size_of::<ProgramQuery>(),
            )
        };
        if result == 0 && query.count > own {
            let what = format!(
                "{} BPF programs at tc (bpftool net show dev {})",
                query.count - own,
                port.name
            );
            found.push(Finding {
                scope: Scope::Port(port.name.clone()),
                what,
                switched_off: false,
            });
        }
    }
}
