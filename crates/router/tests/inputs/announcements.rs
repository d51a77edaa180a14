//! Whatever the kernel might announce, or a dump might bring, from bytes to changes of the engine:
//! no panic, and no change that the engine would have to refuse.

use host::netlink::messages;
use router::control_plane::mirror::Mirror;
use router::control_plane::netlink::decode::decode;
use router::engine::Engine;

use crate::recording::Recording;
use crate::shape;

const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
/// Kinds, and bytes of their fixed headers.
const KINDS: [(u16, usize); 12] = [
    (libc::RTM_NEWLINK, 16),
    (libc::RTM_DELLINK, 16),
    (libc::RTM_NEWADDR, 8),
    (libc::RTM_DELADDR, 8),
    (libc::RTM_NEWNEIGH, 12),
    (libc::RTM_DELNEIGH, 12),
    (libc::RTM_NEWRULE, 12),
    (libc::RTM_DELRULE, 12),
    (RTM_NEWNEXTHOP, 8),
    (RTM_DELNEXTHOP, 8),
    (libc::RTM_NEWROUTE, 12),
    (libc::RTM_DELROUTE, 12),
];

pub(crate) fn run(bytes: &[u8]) {
    let (choice, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let (dumped, living_only) = (choice & 1 != 0, choice & 2 != 0);
    let mut mirror = Mirror::new(&["r0".into(), "r1".into()]);
    let mut engine = Recording::new();
    for message in messages(&shape::messages(bytes, &KINDS), None, dumped) {
        let Some(event) = decode(message, living_only) else {
            continue;
        };
        mirror.apply(event);
        while mirror.has_work() {
            mirror.work();
        }
        engine.apply(mirror.changes()).unwrap();
        mirror.changes().clear();
    }
}
