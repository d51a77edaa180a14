use etherparse::PacketBuilder;
use proptest::prelude::*;

use wire::partial::complete;

proptest! {
    /// What etherparse built whole, with its checksum replaced by the pseudo-header's sum,
    /// becomes whole again.
    #[test]
    fn etherparse_builds_the_same(
        six: bool, tcp: bool, tagged: bool, source: [u8; 16], destination: [u8; 16],
        payload in prop::collection::vec(any::<u8>(), 0..300), left: [u8; 2],
    ) {
        let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let short = |bytes: [u8; 16]| [bytes[0], bytes[1], bytes[2], bytes[3]];
        let ip = match (six, tagged) {
            (true, true) => link
                .single_vlan(etherparse::VlanId::try_new(7).expect("small"))
                .ipv6(source, destination, 9),
            (true, false) => link.ipv6(source, destination, 9),
            (false, true) => {
                link.single_vlan(etherparse::VlanId::try_new(7).expect("small"))
                    .ipv4(short(source), short(destination), 9)
            }
            (false, false) => link.ipv4(short(source), short(destination), 9),
        };
        let mut whole = Vec::new();
        if tcp {
            ip.tcp(1, 2, 3, 4).write(&mut whole, &payload).expect("a vector");
        } else {
            ip.udp(1, 2).write(&mut whole, &payload).expect("a vector");
        }
        let transport = 14 + if tagged { 4 } else { 0 } + if six { 40 } else { 20 };
        let at = transport + if tcp { 16 } else { 6 };
        let mut frame = whole.clone();
        frame[at..at + 2].copy_from_slice(&left);
        // Padding behind the packet is no part of it.
        frame.extend([0xaa; 5]);
        prop_assert!(complete(&mut frame));
        prop_assert_eq!(&frame[..whole.len()], &whole[..]);
        // Cut off anywhere, it is left alone.
        for end in 0..whole.len() {
            let mut cut = whole[..end].to_vec();
            prop_assert!(!complete(&mut cut));
            prop_assert_eq!(&cut[..], &whole[..end]);
        }
    }

    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = complete(&mut bytes);
    }
}
