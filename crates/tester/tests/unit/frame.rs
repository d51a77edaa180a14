//! Of `tester/src/frame.rs`.

use super::*;

fn ends() -> Ends {
    Ends {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source_v4: Ipv4Addr::new(198, 18, 1, 2),
        source_v6: crate::addresses::tester_v6(0),
    }
}

const SIGNED: Signature = Signature {
    stream: 0x0301,
    sequence: 77,
    sent_ns: 123_456_789_012_345,
};

fn frame(size: u32, family: Family) -> (Template, Vec<u8>) {
    let size = FrameSize::new(size, family, 1500).unwrap();
    let template = Template::new(size, family, &ends());
    let mut frame = vec![0; template.length()];
    match family {
        Family::Ipv4 => template.write_v4(&mut frame, 0xC613_4102, SIGNED),
        Family::Ipv6 => {
            template.write_v6(
                &mut frame,
                u128::from(crate::addresses::destination_v6(1, 9, 256)),
                SIGNED,
            );
        }
    }
    (template, frame)
}

/// etherparse is somebody else's reading of the headers.
#[test]
fn frames_are_what_others_take_them_for() {
    for (size, family) in [
        (64, Family::Ipv4),
        (65, Family::Ipv4),
        (1518, Family::Ipv4),
        (84, Family::Ipv6),
        (85, Family::Ipv6),
        (1280, Family::Ipv6),
    ] {
        let (template, frame) = frame(size, family);
        let parsed = etherparse::SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(etherparse::TransportSlice::Udp(udp)) = parsed.transport else {
            panic!("no UDP in {size} {family}")
        };
        assert_eq!((udp.source_port(), udp.destination_port()), (0xC020, 7));
        assert_eq!(usize::from(udp.length()), udp.payload().len() + 8);
        match parsed.net.unwrap() {
            etherparse::NetSlice::Ipv4(ip) => {
                let header = ip.header().to_header();
                assert_eq!(header.calc_header_checksum(), header.header_checksum);
                assert_eq!(header.time_to_live, 10);
                assert_eq!(udp.checksum(), 0, "optional for IPv4");
            }
            etherparse::NetSlice::Ipv6(ip) => {
                let header = udp.to_header();
                let expected = header
                    .calc_checksum_ipv6(&ip.header().to_header(), udp.payload())
                    .unwrap();
                assert_eq!(udp.checksum(), expected, "{size}");
            }
            etherparse::NetSlice::Arp(_) => panic!("no IP"),
        }
        assert_eq!(template.judge(&frame), Content::Good(SIGNED));
    }
}

#[test]
fn frames_with_other_ports_are_whole_for_others_and_for_us() {
    for (size, family) in [(64, Family::Ipv4), (84, Family::Ipv6), (85, Family::Ipv6)] {
        let (template, mut frame) = frame(size, family);
        for ports in [(1024, 1), (65_535, 49_151), (0xC020, 7), (0x8000, 0x7FFF)] {
            template.write_ports(&mut frame, ports);
            let parsed = etherparse::SlicedPacket::from_ethernet(&frame).unwrap();
            let Some(etherparse::TransportSlice::Udp(udp)) = parsed.transport else {
                panic!("no UDP in {size} {family}")
            };
            assert_eq!((udp.source_port(), udp.destination_port()), ports);
            if let Some(etherparse::NetSlice::Ipv6(ip)) = parsed.net {
                let header = udp.to_header();
                let expected = header
                    .calc_checksum_ipv6(&ip.header().to_header(), udp.payload())
                    .unwrap();
                assert_eq!(udp.checksum(), expected, "{size} {ports:?}");
            }
            assert_eq!(template.judge(&frame), Content::Good(SIGNED));
        }
    }
}

#[test]
fn a_router_may_change_what_it_must_and_nothing_else() {
    let (template, mut frame) = frame(128, Family::Ipv4);
    frame[0..12].fill(9);
    frame[22] -= 1;
    frame[24] ^= 1;
    assert_eq!(template.judge(&frame), Content::Good(SIGNED));
    for at in 42..frame.len() {
        let mut changed = frame.clone();
        changed[at] ^= 0x10;
        let expected = if at == frame.len() - 16 || at == frame.len() - 15 {
            Content::Stray
        } else {
            Content::Corrupt
        };
        assert_eq!(template.judge(&changed), expected, "byte {at}");
    }
    assert_eq!(template.judge(&frame[..frame.len() - 20]), Content::Stray);
    assert_eq!(template.judge(&[]), Content::Stray);
}
