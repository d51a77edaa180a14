//! The kernel's counters of interfaces, as collectors of sFlow want them (`if_counters`, after the MIB
//! of RFC 2233). Frames that Corelane moves are in them: drivers count what programs get.

use std::io;
use std::path::Path;

use host::netlink::{Socket, attributes, number, refused, text};

use super::xdr::Xdr;

/// `struct ifinfomsg`: type, index and flags lie here.
const LINK: usize = 16;
const TYPE: usize = 2;
const INDEX: usize = 4;
const FLAGS: usize = 8;
/// The kernel says `ARPHRD_ETHER`, the MIB `ethernetCsmacd`.
const ETHERNET: u16 = 1;
const ETHERNET_OF_MIB: u32 = 6;
const OTHER_OF_MIB: u32 = 1;
/// Full duplex, as `if_counters` says it; 0 for unknown.
const FULL_DUPLEX: u32 = 1;
/// Words of `struct rtnl_link_stats64`.
const STATISTICS: usize = 10;

/// Of one interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LinkCounters {
    pub(super) index: u32,
    name: String,
    kind: u16,
    flags: u32,
    /// Bits a second; 0: not known.
    speed: u64,
    /// Frames and bytes in and out, errors, drops, multicast: as `struct rtnl_link_stats64`.
    statistics: [u64; STATISTICS],
}

impl LinkCounters {
    pub(super) fn write(&self, xdr: &mut Xdr) {
        let [
            in_frames,
            out_frames,
            in_bytes,
            out_bytes,
            in_errors,
            out_errors,
            in_dropped,
            out_dropped,
            in_multicast,
            _collisions,
        ] = self.statistics;
        let has = |flag: i32| self.flags & flag.cast_unsigned() != 0;
        xdr.number(self.index);
        xdr.number(if self.kind == ETHERNET {
            ETHERNET_OF_MIB
        } else {
            OTHER_OF_MIB
        });
        xdr.long(self.speed);
        xdr.number(if self.speed > 0 { FULL_DUPLEX } else { 0 });
        xdr.number(u32::from(has(libc::IFF_UP)) | u32::from(has(libc::IFF_RUNNING)) << 1);
        // What the MIB has 32 bits for begins again.
        let short = |value: u64| value as u32;
        xdr.long(in_bytes);
        xdr.number(short(in_frames.saturating_sub(in_multicast)));
        xdr.number(short(in_multicast));
        xdr.number(UNKNOWN);
        xdr.number(short(in_dropped));
        xdr.number(short(in_errors));
        xdr.number(UNKNOWN);
        xdr.long(out_bytes);
        xdr.number(short(out_frames));
        xdr.number(UNKNOWN);
        xdr.number(UNKNOWN);
        xdr.number(short(out_dropped));
        xdr.number(short(out_errors));
        xdr.number(if has(libc::IFF_PROMISC) { 1 } else { 2 });
    }
}

/// A counter that the kernel has not.
const UNKNOWN: u32 = u32::MAX;

/// Asks for the counters of an interface.
///
/// # Errors
/// When there is none of this index, or the kernel does not answer.
pub(super) fn counters(socket: &mut Socket, index: u32) -> io::Result<LinkCounters> {
    let mut body = vec![0; LINK];
    body[INDEX..INDEX + 4].copy_from_slice(&index.to_ne_bytes());
    let mut found = socket.ask(libc::RTM_GETLINK, 0, &body, |message| {
        if i32::from(message.kind) == libc::NLMSG_ERROR {
            let refusal = refused(message.payload);
            return Err(refusal.unwrap_or_else(|| io::ErrorKind::InvalidData.into()));
        }
        Ok(read(message.payload))
    })??;
    found.speed = speed(&found).unwrap_or(0);
    Ok(found)
}

fn read(message: &[u8]) -> LinkCounters {
    let (head, rest) = message.split_at(message.len().min(LINK));
    let mut found = LinkCounters {
        index: number(head.get(INDEX..).unwrap_or_default()),
        kind: host::netlink::short(head.get(TYPE..).unwrap_or_default()),
        flags: number(head.get(FLAGS..).unwrap_or_default()),
        ..LinkCounters::default()
    };
    for (kind, value) in attributes(rest) {
        match kind {
            libc::IFLA_IFNAME => found.name = text(value),
            libc::IFLA_STATS64 => {
                for (place, word) in found.statistics.iter_mut().zip(value.chunks_exact(8)) {
                    *place = u64::from_ne_bytes(word.try_into().unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    found
}

/// As sysfs has it in Mbit/s, if it is of this network namespace.
fn speed(link: &LinkCounters) -> Option<u64> {
    let directory = Path::new("/sys/class/net").join(&link.name);
    let file = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
    let index: u32 = file("ifindex")?.trim().parse().ok()?;
    let speed: u64 = file("speed")?.trim().parse().ok()?;
    (index == link.index).then_some(speed * 1_000_000)
}

#[cfg(test)]
#[path = "../../tests/unit/links.rs"]
mod tests;
