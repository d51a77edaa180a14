//! Numbers of headers, and their checksums.

use wire::checksum;

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
// IP protocols.
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

/// Puts the checksum of what lies above IP at its place; that of ICMP is without pseudo-header.
pub(crate) fn put_sum(upper: &mut [u8], at: usize, protocol: u8, pseudo_header: u64) {
    upper[at..at + 2].fill(0);
    let pseudo_header = if protocol == ICMP { 0 } else { pseudo_header };
    let sum = match !checksum::fold(pseudo_header + checksum::sum(upper)) {
        0 if protocol == UDP => 0xffff,
        sum => sum,
    };
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the checksum of an IPv4 header anew.
pub(crate) fn resum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::of(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
