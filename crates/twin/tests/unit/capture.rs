use super::*;
use wire::checksum;

use crate::case;
use crate::headers::{ICMP, ICMPV6, TCP, UDP};

fn frame_of(packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 6 {
        [0x86, 0xdd]
    } else {
        [8, 0]
    };
    [&[2; 12], &kind[..], packet].concat()
}

#[test]
fn captured_packets_stay_valid_and_get_a_number() {
    let all = captured(&[]).unwrap();
    assert!(all.len() > 30, "{}", all.len());
    let mut protocols = std::collections::BTreeSet::new();
    for one in &all {
        let addresses: (&[u8], &[u8]) = if one.is_v6() {
            (&[0xfd; 16], &[0x20; 16])
        } else {
            (&[10, 0, 0, 2], &[10, 1, 0, 2])
        };
        let packet = one.packet(addresses.0, addresses.1, 7, 4000).unwrap();
        assert_eq!(case::number(&packet), Some(7));
        assert_eq!(
            Captured::of(&frame_of(&packet)),
            Some(Captured(packet.clone()))
        );
        let header = usize::from(packet[0] & 15) * 4;
        assert!(one.is_v6() || checksum::of(&packet[..header]) == 0);
        protocols.insert(packet[if one.is_v6() { 6 } else { 9 }]);
    }
    let known = [ICMP, TCP, UDP, ICMPV6];
    assert!(
        known.iter().all(|one| protocols.contains(one)),
        "{protocols:?}"
    );
}
