//! Queueing disciplines that shape, filters, and BPF programs at tc.

use std::collections::BTreeSet;
use std::io;

use bpf::classifier;
use bpf::sys::{ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, programs_attached};
use host::netlink::{Message, ROUTE, attributes, number, text};

use super::known::State;
use super::{Finding, Scope, Treatment, list, unread};
use crate::control_plane::settings::Watched;

/// The group that tells of changes.
pub(super) const RTNLGRP_TC: u32 = 4;
const TCA_KIND: u16 = 1;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_EGRESS_BLOCK: u16 = 14;
/// Where filters hang when there is a discipline `clsact` or `ingress`.
const INGRESS: u32 = 0xFFFF_FFF2;
const EGRESS: u32 = 0xFFFF_FFF3;
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
/// The one of them that asks filters, which may drop what they find.
const ASKS_FILTERS: &str = "fq_codel";

/// What a filter is called that a Corelane has made: before Linux 6.6 a port's own program is one.
const OWN_FILTER: &str = "bpf of Corelane";

const CHANGES: [u16; 4] = [
    libc::RTM_NEWQDISC,
    libc::RTM_DELQDISC,
    libc::RTM_NEWTFILTER,
    libc::RTM_DELTFILTER,
];

/// Disciplines and filters of all links, by interface index.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Disciplines {
    /// With the kind and the handle.
    kinds: BTreeSet<(u32, String, u32)>,
    /// With the parent and the kind; of our own, [`OWN_FILTER`].
    filters: BTreeSet<(u32, u32, String)>,
    /// With the parent and the number of the block whose filters these are.
    blocks: BTreeSet<(u32, u32, u32)>,
}

impl Disciplines {
    /// Reads the disciplines of all links and the filters of these.
    pub(super) fn read(links: &[Watched]) -> io::Result<Self> {
        let listed = list(ROUTE, libc::RTM_GETQDISC, &[0; 20], Self::take)?;
        let mut all = listed.unwrap_or_default();
        let is_watched = |index| links.iter().any(|link| link.index == index);
        let mut ends = Vec::new();
        for (index, kind, handle) in &all.kinds {
            match kind.as_str() {
                _ if !is_watched(*index) => {}
                "clsact" | "ingress" => ends.extend([(*index, INGRESS), (*index, EGRESS)]),
                // Without a handle nobody can hang a filter there.
                ASKS_FILTERS if *handle != 0 => ends.push((*index, *handle)),
                _ => {}
            }
        }
        for (index, parent) in ends {
            let mut body = [0; 20];
            body[4..8].copy_from_slice(&index.to_ne_bytes());
            body[12..16].copy_from_slice(&parent.to_ne_bytes());
            let there = list(ROUTE, libc::RTM_GETTFILTER, &body, Self::take)?;
            // Those of a shared block are listed as the block's.
            let there = there.unwrap_or_default().filters.into_iter();
            let here = there.filter(|(at, ..)| [index, SHARED_BLOCK].contains(at));
            all.filters
                .extend(here.map(|(_, _, kind)| (index, parent, kind)));
        }
        Ok(all)
    }

    /// Takes in one message of a dump of disciplines or of filters.
    pub fn take(&mut self, message: Message<'_>) {
        let Some((index, handle, parent, rest)) = header(message.payload) else {
            return;
        };
        let Some((_, kind)) = attributes(rest).find(|(kind, _)| *kind == TCA_KIND) else {
            return;
        };
        let kind = text(kind);
        match message.kind {
            // The head of a list of programs, which may be empty.
            libc::RTM_NEWTFILTER if kind == "bpf" && handle == 0 => {}
            libc::RTM_NEWTFILTER => {
                let ours = classifier::program_of(attributes(rest)).filter(|_| kind == "bpf");
                let kind = ours.map_or(kind, |_| OWN_FILTER.to_owned());
                self.filters.insert((index, parent, kind));
            }
            libc::RTM_NEWQDISC => {
                self.kinds.insert((index, kind, handle));
                for (kind, block) in attributes(rest) {
                    let parent = match kind {
                        TCA_INGRESS_BLOCK => INGRESS,
                        TCA_EGRESS_BLOCK => EGRESS,
                        _ => continue,
                    };
                    self.blocks.insert((index, parent, number(block)));
                }
            }
            _ => {}
        }
    }

    /// Which of it packets pass that come in or leave by these links.
    pub fn find(&self, links: &[Watched], found: &mut Vec<Finding>) {
        for link in links {
            let (index, name) = (link.index, &link.name);
            let mut say = |what| {
                let scope = Scope::Port(name.clone());
                found.push(Finding::new(scope, what, Treatment::TrafficControl));
            };
            let counts = |parent: u32| parent == INGRESS || !link.passes_discipline;
            let from = (index, String::new(), 0);
            let here = self.kinds.range(from..).take_while(|(at, ..)| *at == index);
            for (_, kind, _) in here {
                let holds_filters = ["clsact", "ingress"].contains(&kind.as_str());
                let is_harmless = holds_filters || HARMLESS.contains(&kind.as_str());
                if !is_harmless && !link.passes_discipline {
                    say(format!(
                        "queueing discipline {kind} (tc qdisc show dev {name})"
                    ));
                }
            }
            let blocks = self.blocks.range((index, 0, 0)..);
            let blocks = blocks.take_while(|(at, ..)| *at == index);
            let blocks = blocks.filter(|(_, parent, _)| counts(*parent));
            let of_blocks = blocks.flat_map(|(_, _, block)| {
                let all = self.filters.range((SHARED_BLOCK, *block, String::new())..);
                all.take_while(move |(at, of, _)| (*at, *of) == (SHARED_BLOCK, *block))
            });
            let own = self.filters.range((index, 0, String::new())..);
            let own = own.take_while(|(at, ..)| *at == index);
            let own = own.filter(|(_, parent, _)| counts(*parent));
            let is_own = |kind: &str| kind == OWN_FILTER && link.own_at_tc > 0;
            for (.., kind) in own.chain(of_blocks).filter(|(.., kind)| !is_own(kind)) {
                say(format!("tc filter {kind} (tc filter show dev {name})"));
            }
        }
    }
}

impl State for Disciplines {
    /// A discipline may come with a block that has filters already.
    fn hear(&mut self, message: Message<'_>) -> bool {
        let mut said = Self::default();
        said.take(message);
        for (index, parent, _) in &said.blocks {
            let of_block = "of a shared block".to_owned();
            said.filters.insert((*index, *parent, of_block));
        }
        self.join(said);
        CHANGES.contains(&message.kind)
    }

    fn join(&mut self, other: Self) {
        self.kinds.extend(other.kinds);
        self.filters.extend(other.filters);
        self.blocks.extend(other.blocks);
    }
}

/// Of a `struct tcmsg`: interface index, handle, parent (of a shared block: its number), and the
/// attributes behind it.
fn header(payload: &[u8]) -> Option<(u32, u32, u32, &[u8])> {
    let (header, rest) = payload.split_at_checked(20)?;
    Some((
        number(&header[4..]),
        number(&header[8..]),
        number(&header[12..]),
        rest,
    ))
}

/// BPF programs that others have at tc of this link (tcx), which the kernel does not announce.
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

#[cfg(test)]
#[path = "../../../tests/unit/traffic_control.rs"]
mod tests;
