//! Flows are told apart as network cards tell them.

use std::net::Ipv4Addr;

use planes::flows::Flow;

#[test]
fn the_hash_is_the_specifications() {
    // "Verifying the RSS hash calculation", the IPv4 examples with ports.
    let cases = [
        ("66.9.149.187", 2_794, "161.142.100.80", 1_766, 0x51cc_c178),
        ("199.92.111.2", 14_230, "65.69.140.83", 4_739, 0xc626_b0ea),
        ("24.19.198.95", 12_898, "12.22.207.184", 38_024, 0x5c2b_394a),
        ("38.27.205.30", 48_228, "209.142.163.6", 2_217, 0xafc7_327f),
        (
            "153.39.163.191",
            44_251,
            "202.188.127.2",
            1_303,
            0x10e8_28a2,
        ),
    ];
    for (source, source_port, destination, destination_port, hash) in cases {
        let flow = Flow {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            source_port,
            destination_port,
        };
        assert_eq!(flow.hash(), hash, "{flow:?}");
    }
}

#[test]
fn many_flows_spread_evenly_and_each_always_goes_one_way() {
    let flow = |number: u32| Flow {
        source: Ipv4Addr::new(198, 18, 128, 1),
        destination: Ipv4Addr::from(0xc613_8000 + number),
        source_port: 0xC020,
        destination_port: 9,
    };
    for planes in 1..=4 {
        let mut counts = vec![0; planes];
        for number in 0..4_096 {
            assert_eq!(
                flow(number).user_plane(planes),
                flow(number).user_plane(planes)
            );
            counts[flow(number).user_plane(planes)] += 1;
        }
        let fair = 4_096 / planes;
        assert!(
            counts
                .iter()
                .all(|&count| count > fair / 2 && count < fair * 2),
            "{counts:?}"
        );
    }
}
