//! Of `tester/src/engine/reflect.rs`.

use super::*;
use crate::frame::{Content, Ends, Template};
use crate::sizes::{Family, FrameSize};

/// etherparse is somebody else's reading of the headers.
#[test]
fn an_answer_goes_to_the_sender_and_is_still_whole() {
    let ends = Ends {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source_v4: crate::addresses::tester_v4(0),
        source_v6: crate::addresses::tester_v6(0),
    };
    let signature = Signature {
        stream: 0x0100,
        sequence: 5,
        sent_ns: 9,
    };
    for (bytes, family) in [(64, Family::Ipv4), (84, Family::Ipv6)] {
        let size = FrameSize::new(bytes, family, 1500).unwrap();
        let template = Template::new(size, family, &ends);
        let mut frame = vec![0; template.length()];
        match family {
            Family::Ipv4 => template.write_v4(&mut frame, 0xC613_4102, signature),
            Family::Ipv6 => {
                let destination = crate::addresses::destination_v6(1, 0, 1);
                template.write_v6(&mut frame, destination.into(), signature);
            }
        }
        assert!(swap(&mut frame));
        assert_eq!(frame[..6], ends.source_mac);
        assert_eq!(frame[6..12], ends.destination_mac);
        let parsed = etherparse::SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(etherparse::TransportSlice::Udp(udp)) = parsed.transport else {
            panic!("no UDP in {bytes} {family}")
        };
        assert_eq!((udp.source_port(), udp.destination_port()), (7, 0xC020));
        match parsed.net.unwrap() {
            etherparse::NetSlice::Ipv4(ip) => {
                let header = ip.header().to_header();
                assert_eq!(header.calc_header_checksum(), header.header_checksum);
                assert_eq!(header.destination, ends.source_v4.octets());
            }
            etherparse::NetSlice::Ipv6(ip) => {
                let header = ip.header().to_header();
                let sum = udp
                    .to_header()
                    .calc_checksum_ipv6(&header, udp.payload())
                    .unwrap();
                assert_eq!(udp.checksum(), sum);
                assert_eq!(header.destination, ends.source_v6.octets());
            }
            etherparse::NetSlice::Arp(_) => panic!("no IP"),
        }
        assert_eq!(template.judge(&frame), Content::Good(signature));
    }
    assert!(!swap(&mut [0; 60]), "not one of ours");
    assert!(!swap(&mut []));
}
