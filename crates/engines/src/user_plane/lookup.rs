//! Look-up: the tables answer for the whole burst at once, and count what they answered.

use fib::organisation::Reader;

use super::lane::Lane;

/// The next hops of all IPv4 frames in the lane.
#[inline]
pub(super) fn step_v4<R: Reader>(reader: &mut R, lane: &mut Lane<u32>) {
    let (addresses, lengths, next_hops) = lane.keys();
    reader.resolve_v4(addresses, lengths, next_hops);
}

/// The next hops of all IPv6 frames in the lane.
#[inline]
pub(super) fn step_v6<R: Reader>(reader: &mut R, lane: &mut Lane<u128>) {
    let (addresses, lengths, next_hops) = lane.keys();
    reader.resolve_v6(addresses, lengths, next_hops);
}
