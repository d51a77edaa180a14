//! The digest of the routes: the same for the same routes, whatever else two boxes have.

use fib::IpPrefix;
use router::control_plane::digest::{Digest, joined, of_prefix, of_text, said};
use router::control_plane::mirror::Mirror;
use router::control_plane::model::{
    Event, NextHopObject, ObjectKind, Placement, Route, RouteKind, Way,
};
use router::engine::MAIN_TABLE;

use super::lab::{Lab, by_object, hop, in_table, ip, route, way};

fn v4(lab: &Lab) -> Digest {
    lab.mirror.digest(MAIN_TABLE, false)
}

fn v6(lab: &Lab) -> Digest {
    lab.mirror.digest(MAIN_TABLE, true)
}

/// The digest that follows from these routes, each with what it says, by nothing but its definition.
fn expected(routes: &[(&str, &str)]) -> Digest {
    let mut texts: Vec<&str> = routes.iter().map(|(_, text)| *text).collect();
    texts.sort_unstable();
    texts.dedup();
    let hash = |prefix: &str| match prefix.parse::<IpPrefix>().unwrap() {
        IpPrefix::V4(prefix) => of_prefix(prefix),
        IpPrefix::V6(prefix) => of_prefix(prefix),
    };
    let sum = |text: Option<&str>| {
        let of_it = routes
            .iter()
            .filter(|(_, other)| text.is_none_or(|text| *other == text));
        of_it.fold(0_u128, |sum, (prefix, _)| sum.wrapping_add(hash(prefix)))
    };
    let ways = texts.into_iter().fold(0_u128, |all, text| {
        all.wrapping_add(joined(sum(Some(text)), of_text(text)))
    });
    Digest {
        routes: routes.len() as u64,
        prefixes: sum(None),
        ways,
    }
}

#[test]
fn what_a_box_has_of_its_own_is_not_in_it() {
    let lab = Lab::new();
    assert_eq!(v4(&lab), Digest::default());
    assert_eq!(lab.mirror.digest(255, false), Digest::default());
}

#[test]
fn order_links_metrics_and_other_tables_do_not_matter() {
    let mut one = Lab::new();
    one.add(route("192.0.2.0/24", &[hop(1, "10.0.0.9")]));
    one.add(route(
        "198.51.100.0/24",
        &[hop(1, "10.0.0.9"), hop(2, "10.1.0.9")],
    ));
    let mut other = Lab::new();
    other.add(in_table(77, "203.0.113.0/24", way(&[hop(1, "10.0.0.9")])));
    let several = way(&[hop(3, "10.1.0.9"), hop(2, "10.0.0.9")]);
    let metric = 20;
    other.add(in_table(
        MAIN_TABLE,
        "198.51.100.0/24",
        Way { metric, ..several },
    ));
    other.add(route("192.0.2.0/24", &[hop(3, "10.0.0.9")]));
    let expected = expected(&[
        ("192.0.2.0/24", "via 10.0.0.9"),
        ("198.51.100.0/24", "via 10.0.0.9, 10.1.0.9"),
    ]);
    assert_eq!((v4(&one), v4(&other)), (expected, expected));
}

#[test]
fn a_gateway_a_kind_and_a_weight_matter_and_only_the_last_is_told_by_prefixes() {
    let digest = |route: Route| {
        let mut lab = Lab::new();
        lab.add(route);
        v4(&lab)
    };
    let plain = digest(route("192.0.2.0/24", &[hop(1, "10.0.0.9")]));
    let blackhole = Way {
        kind: RouteKind::Blackhole,
        ..way(&[])
    };
    let mut heavy = hop(1, "10.0.0.9");
    heavy.weight = 3;
    let others = [
        digest(route("192.0.2.0/24", &[hop(1, "10.0.0.8")])),
        digest(in_table(MAIN_TABLE, "192.0.2.0/24", blackhole)),
        digest(route("192.0.2.0/24", &[heavy])),
    ];
    for other in others {
        assert_ne!(other.ways, plain.ways);
        assert_eq!(other.prefixes, plain.prefixes);
    }
    let longer = digest(route("192.0.2.0/25", &[hop(1, "10.0.0.9")]));
    assert_ne!(longer.prefixes, plain.prefixes);
}

#[test]
fn the_best_of_several_routes_counts_and_what_goes_is_gone() {
    let mut lab = Lab::new();
    let metric = |metric, gateway| Way {
        metric,
        ..way(&[hop(1, gateway)])
    };
    let near = in_table(MAIN_TABLE, "192.0.2.0/24", metric(1, "10.0.0.9"));
    let far = in_table(MAIN_TABLE, "192.0.2.0/24", metric(5, "10.0.0.8"));
    lab.add(far.clone());
    assert_eq!(v4(&lab), expected(&[("192.0.2.0/24", "via 10.0.0.8")]));
    lab.add(near.clone());
    assert_eq!(v4(&lab), expected(&[("192.0.2.0/24", "via 10.0.0.9")]));
    let replaced = in_table(MAIN_TABLE, "192.0.2.0/24", metric(1, "10.0.0.7"));
    lab.feed(Event::Route(replaced.clone(), Placement::Replace));
    assert_eq!(v4(&lab), expected(&[("192.0.2.0/24", "via 10.0.0.7")]));
    lab.feed(Event::RouteGone(replaced));
    assert_eq!(v4(&lab), expected(&[("192.0.2.0/24", "via 10.0.0.8")]));
    lab.feed(Event::RouteGone(far));
    assert_eq!(v4(&lab), Digest::default());
}

#[test]
fn a_nexthop_object_says_what_is_in_it_now() {
    let mut lab = Lab::new();
    let object = |gateway| {
        Event::Object(NextHopObject {
            id: 7,
            kind: ObjectKind::Hop(hop(1, gateway)),
        })
    };
    lab.feed(object("10.0.0.9"));
    lab.add(by_object("192.0.2.0/24", 7));
    // The same way, without an object.
    lab.add(route("198.51.100.0/24", &[hop(2, "10.0.0.9")]));
    let before = [
        ("192.0.2.0/24", "via 10.0.0.9"),
        ("198.51.100.0/24", "via 10.0.0.9"),
    ];
    assert_eq!(v4(&lab), expected(&before));
    lab.feed(object("10.0.0.8"));
    let after = [
        ("192.0.2.0/24", "via 10.0.0.8"),
        ("198.51.100.0/24", "via 10.0.0.9"),
    ];
    assert_eq!(v4(&lab), expected(&after));
}

#[test]
fn a_link_local_gateway_is_one_on_every_link() {
    let mut lab = Lab::new();
    lab.add(route("2001:db8:1::/48", &[hop(1, "fe80::1")]));
    assert_eq!(v6(&lab), expected(&[("2001:db8:1::/48", "via link-local")]));
    assert_eq!(v4(&lab), Digest::default());
    assert!(ip("fe80::1").is_ipv6());
}

/// Routes that come, change, and go in a round or with their link, in any order.
#[test]
fn after_many_changes_it_is_what_the_routes_say() {
    let mut lab = Lab::new();
    let mut seed = 1_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    for _ in 0..3000 {
        let (number, link) = (random(200), random(3) + 1);
        let prefix = format!("100.64.{number}.0/24");
        let gateway = format!("10.{}.0.{}", link - 1, random(3) + 7);
        let way = Way {
            metric: random(3),
            ..way(&[hop(link, &gateway)])
        };
        let route = in_table(MAIN_TABLE, &prefix, way);
        lab.feed(match random(3) {
            0 => Event::RouteGone(route),
            1 => Event::Route(route, Placement::Replace),
            _ => Event::Route(route, Placement::Last),
        });
    }
    lab.feed(Event::LinkGone(2));
    lab.flush();
    let texts = routes(&lab.mirror);
    let list: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&a[..], &b[..])).collect();
    assert!(list.len() > 100, "{}", list.len());
    assert_eq!(v4(&lab), expected(&list));
}

/// Objects that come, change their kind and their members, and go, under routes by them. The digest is
/// read after each change, so that none is kept for too long.
#[test]
fn after_each_change_of_an_object_it_is_what_the_routes_say() {
    let mut lab = Lab::new();
    let mut seed = 2_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    let mut least = usize::MAX;
    for turn in 0..2000 {
        // Groups have members of the first eight alone, as the kernel wants it.
        let (number, group) = (random(8) + 1, random(4) + 9);
        lab.feed(match random(8) {
            0 => Event::ObjectGone(number),
            1 => Event::ObjectGone(group),
            2 => {
                let members = [number, random(8) + 1].map(|member| (member, random(2) as u16 + 1));
                let kind = ObjectKind::Group(members.to_vec());
                Event::Object(NextHopObject { id: group, kind })
            }
            3 | 4 => {
                let route = format!("100.64.{}.0/24", random(20));
                let by = if random(2) == 0 { number } else { group };
                Event::Route(by_object(&route, by), Placement::Replace)
            }
            5 => Event::Object(NextHopObject {
                id: number,
                kind: ObjectKind::Blackhole,
            }),
            _ => {
                let gateway = format!("10.0.0.{}", random(3) + 7);
                let kind = ObjectKind::Hop(hop(1, &gateway));
                Event::Object(NextHopObject { id: number, kind })
            }
        });
        lab.flush();
        let texts = routes(&lab.mirror);
        let list: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        assert_eq!(v4(&lab), expected(&list), "turn {turn}");
        if turn > 100 {
            least = least.min(list.len());
        }
    }
    assert!(least < usize::MAX);
}

/// All routes of the main table with what they say.
fn routes(mirror: &Mirror) -> Vec<(String, String)> {
    let family = mirror.v4();
    let all = family.prefixes(MAIN_TABLE).filter_map(|prefix| {
        let (stored, _) = family.best(MAIN_TABLE, prefix)?;
        let text = match stored.way.object {
            0 => said(&stored.way, stored.way.hops())?,
            object => said(&stored.way, &mirror.objects().hops(object))?,
        };
        Some((prefix.to_string(), text))
    });
    all.collect()
}
