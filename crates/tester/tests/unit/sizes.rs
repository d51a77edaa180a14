//! Of `tester/src/sizes.rs`.

use super::*;

#[test]
fn rates_of_the_rfcs() {
    // RFC 2544 appendix B truncates; so do we when we print whole frames.
    for (size, gigabits, expected) in [
        (64, 1.0, 1_488_095),
        (64, 10.0, 14_880_952),
        (128, 1.0, 844_594),
        (256, 1.0, 452_898),
        (512, 1.0, 234_962),
        (1024, 1.0, 119_731),
        (1280, 1.0, 96_153),
        (1518, 1.0, 81_274),
        (1518, 100.0, 8_127_438),
        (86, 25.0, 29_481_132),
    ] {
        let size = FrameSize::new(size, Family::Ipv4, 9198).unwrap();
        assert_eq!(
            size.theoretical_rate(gigabits * 1e9) as u64,
            expected,
            "{size}"
        );
    }
}

#[test]
fn what_a_family_cannot_carry_is_refused_by_name() {
    let error = FrameSize::new(64, Family::Ipv6, 1500)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("64") && error.contains("IPv6") && error.contains("84"),
        "{error}"
    );
    assert!(FrameSize::new(63, Family::Ipv4, 1500).is_err());
    assert!(FrameSize::new(1519, Family::Ipv4, 1500).is_err());
    assert_eq!(
        FrameSize::new(1518, Family::Ipv4, 1500)
            .unwrap()
            .without_fcs(),
        1514
    );
}

#[test]
fn the_ipv6_list_starts_at_its_own_minimum() {
    let bytes: Vec<_> = standard(Family::Ipv6, 1500)
        .iter()
        .map(|size| size.bytes())
        .collect();
    assert_eq!(bytes, [84, 128, 256, 512, 1024, 1280, 1518]);
}

#[test]
fn a_payload_makes_a_frame() {
    assert_eq!(
        FrameSize::of_udp_payload(18, Family::Ipv4, 1500)
            .unwrap()
            .bytes(),
        64
    );
    assert_eq!(
        FrameSize::of_udp_payload(1464, Family::Ipv4, 1500)
            .unwrap()
            .bytes(),
        1510
    );
}
