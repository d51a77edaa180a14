use super::*;

#[test]
fn what_is_packed_unpacks() {
    let routes = [
        Route {
            network: Ipv4Addr::new(10, 1, 2, 0),
            length: 24,
            via: Ipv4Addr::new(198, 19, 1, 2),
        },
        Route {
            network: Ipv4Addr::UNSPECIFIED,
            length: 0,
            via: Ipv4Addr::new(198, 18, 1, 2),
        },
    ];
    let bytes = pack_routes(&routes);
    assert_eq!(unpack_routes(&bytes).unwrap(), routes);
    assert_eq!(unpack_routes(&bytes[1..]), None, "half a route is none");
    let mut wrong = bytes;
    wrong[4] = 33;
    assert_eq!(unpack_routes(&wrong), None, "no prefix is longer than 32");

    let counters = Counters {
        received: 1,
        sent: u64::MAX,
        routes_applied: 3,
        routes_refused: 4,
    };
    assert_eq!(Counters::unpack(&counters.pack()), Some(counters));
    assert_eq!(Counters::unpack(&[0; 31]), None);
}
