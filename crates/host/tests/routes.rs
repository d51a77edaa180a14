//! Many routes put at once are the ones that `ip` would have made, and refusals are told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use host::Namespace;
use host::netlink::routes::{self, Route};

/// More than are sent between two looks for refusals.
const MANY: u32 = 10_000;

fn route(number: u32, gateway: IpAddr) -> Route {
    let prefix = if gateway.is_ipv4() {
        (Ipv4Addr::from((20 << 24) + (number << 8)).into(), 24)
    } else {
        let network = (0x2001_0db8_u128 << 96) + (u128::from(number) << 80);
        (Ipv6Addr::from(network).into(), 48)
    };
    Route { prefix, gateway }
}

#[test]
fn routes_are_those_of_ip_and_refusals_are_told() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let place = Namespace::new("routes").unwrap();
    for line in [
        "link add near type veth peer name far",
        "addr add 10.0.0.1/24 dev near",
        "addr add fd00::1/64 dev near nodad",
        "link set near up",
        "link set far up",
        "route append 19.0.0.0/24 via 10.0.0.2",
    ] {
        place.ip(line).unwrap();
    }
    let add = |routes: Vec<Route>| place.enter(|| routes::add(routes)).unwrap().unwrap();
    for gateway in ["10.0.0.2", "fd00::2"] {
        let gateway: IpAddr = gateway.parse().unwrap();
        assert!(add((0..MANY).map(|number| route(number, gateway)).collect()).is_empty());
    }
    let listed = place.ip("route show proto boot").unwrap();
    assert_eq!(listed.lines().count(), MANY as usize + 1);
    let of = |network: &str| listed.lines().find_map(|line| line.strip_prefix(network));
    assert_eq!(of("20.0.1.0/24").unwrap(), of("19.0.0.0/24").unwrap());
    let listed = place.ip("-6 route show proto boot").unwrap();
    assert_eq!(listed.lines().count(), MANY as usize);
    assert!(
        listed.contains("2001:db8:1::/48 via fd00::2 dev near"),
        "{listed:.300}"
    );

    let nowhere = "10.9.9.9".parse().unwrap();
    let gateway = "10.0.0.2".parse().unwrap();
    let refusals = add(vec![
        route(MANY, nowhere),
        route(MANY + 1, gateway),
        route(MANY + 2, nowhere),
    ]);
    let codes: Vec<_> = refusals
        .iter()
        .filter_map(std::io::Error::raw_os_error)
        .collect();
    assert_eq!(codes, [libc::ENETUNREACH; 2]);
    assert!(
        place
            .ip("route show 20.39.17.0/24")
            .unwrap()
            .contains("via 10.0.0.2")
    );
}
