//! Of `tester/src/addresses.rs`.

use std::collections::HashSet;

use super::*;

#[test]
fn the_plan_of_the_rfc() {
    assert_eq!(device_v4(0), Ipv4Addr::new(198, 18, 1, 1));
    assert_eq!(device_v4(1), Ipv4Addr::new(198, 19, 1, 1));
    assert_eq!(tester_v4(1), Ipv4Addr::new(198, 19, 1, 2));
    assert_eq!(tester_v6(0), "2001:2:0:1::2".parse::<Ipv6Addr>().unwrap());
    assert_eq!(
        device_v6(1),
        "2001:2:0:8001::1".parse::<Ipv6Addr>().unwrap()
    );
}

#[test]
fn destinations_lie_in_the_routed_networks_and_differ() {
    for ports in [2, 4] {
        for port in 0..ports {
            let wide: Vec<_> = wide_networks_v4(port, ports).collect();
            for (count, routes) in [(190, behind_v4(port, ports)), (10_000, wide)] {
                let mut seen = HashSet::new();
                for index in 0..count {
                    let address = u32::from(destination_v4(port, ports, index, count));
                    assert!(seen.insert(address));
                    assert!(
                        routes.iter().any(|&(network, length)| {
                            (address ^ u32::from(network)) >> (32 - u32::from(length)) == 0
                        }),
                        "{} of port {port} of {ports}",
                        Ipv4Addr::from(address)
                    );
                }
            }
        }
    }
    assert_eq!(
        behind_v4(1, 2),
        [
            (Ipv4Addr::new(198, 19, 64, 0), 18),
            (Ipv4Addr::new(198, 19, 128, 0), 17)
        ]
    );
}

#[test]
fn a_million_destinations_differ_and_256_are_a_network_each() {
    for ports in [2, 8] {
        let mut seen = HashSet::new();
        let million = 1 << 20;
        assert!((0..million).all(|index| seen.insert(destination_v4(1, ports, index, million))));
    }
    let networks: HashSet<u32> = (0..256)
        .map(|index| u32::from(destination_v4(1, 2, index, 256)) >> 15)
        .collect();
    assert_eq!(networks.len(), 256);
    assert_eq!(
        wide_networks_v4(1, 2).last(),
        Some((Ipv4Addr::new(10, 255, 128, 0), 17))
    );
}

#[test]
fn ipv6_destinations_lie_in_their_prefix() {
    for port in 0..4 {
        let (network, length) = behind_v6(port);
        for index in 0..1000 {
            let difference = u128::from(destination_v6(port, index, 1000)) ^ u128::from(network);
            assert_eq!(difference >> (128 - u32::from(length)), 0);
        }
    }
}
