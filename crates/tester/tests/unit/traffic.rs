//! Of `tester/src/traffic.rs`.

use super::*;

#[test]
fn a_blend_is_spread_evenly() {
    for (v4, v6) in [(90, 10), (50, 50), (10, 90), (9, 1), (0, 1)] {
        let blend = Blend { v4, v6 };
        let all = u64::from(v4 + v6);
        let mut seen = 0;
        for slot in 0..3 * all {
            seen += u64::from(blend.family(slot) == Family::Ipv6);
            assert!(seen.abs_diff((slot + 1) * u64::from(v6) / all) <= 1);
        }
        assert_eq!(seen, 3 * u64::from(v6));
    }
}

#[test]
fn modifiers_come_as_often_as_the_rfc_wants() {
    let schedule = Schedule::constant(5_000.0, 60.0);
    assert_eq!(Modifier::Broadcast.every(&schedule), 100);
    assert_eq!(Modifier::Management.every(&schedule), 5_000);
    assert_eq!(Modifier::Routing.every(&schedule), 150_000);
    assert_eq!(Modifier::Management.every(&Schedule::burst(9)), u64::MAX);
}

/// etherparse is somebody else's reading of the headers.
#[test]
fn modifier_frames_are_what_others_take_them_for() {
    let ends = Ends {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source_v4: Ipv4Addr::new(198, 18, 1, 2),
        source_v6: crate::addresses::tester_v6(0),
    };
    let device = Ipv4Addr::new(198, 18, 1, 1);
    let udp = |frame: &[u8]| {
        let parsed = etherparse::SlicedPacket::from_ethernet(frame).unwrap();
        let Some(etherparse::NetSlice::Ipv4(ip)) = parsed.net else {
            panic!("no IPv4")
        };
        let header = ip.header().to_header();
        assert_eq!(header.calc_header_checksum(), header.header_checksum);
        let Some(etherparse::TransportSlice::Udp(udp)) = parsed.transport else {
            panic!("no UDP")
        };
        (
            header.destination,
            udp.destination_port(),
            udp.payload().to_vec(),
        )
    };
    let query = &Modifier::Management.frames(&ends, device)[0];
    let (to, port, payload) = udp(query);
    assert_eq!((to, port), ([198, 18, 1, 1], 161));
    assert_eq!(usize::from(payload[1]), payload.len() - 2);
    let updates = Modifier::Routing.frames(&ends, device);
    let (to, port, first) = udp(&updates[0]);
    assert_eq!((to, port, first.len()), ([198, 18, 1, 255], 520, 4 + 120));
    let (.., second) = udp(&updates[1]);
    assert_eq!((first[23], second[23]), (7, 16));
    let broadcast = &Modifier::Broadcast.frames(&ends, device)[0];
    assert_eq!((broadcast.len(), &broadcast[..6]), (60, &[0xFF; 6][..]));
}
