//! Answers of any length: in one turn the control plane says some hundred rows, and follows the
//! kernel before it says more. Needs root; says so and passes otherwise.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use router::control_plane::follower::Follower;
use router::engine::Counters;
use router::management_plane::metrics::{Fitness, Format};
use router::management_plane::pieces::{Pieces, STEPS};
use router::management_plane::{answers, metrics};
use router::samples::Counts;
use serde_json::Value;

use crate::follow::{batch, following, is_root, net};

const ROUTES: u32 = 100_000;

/// All pieces together, and how many they were; `between` any two.
fn all(
    mut pieces: Pieces,
    follower: &mut Follower,
    mut between: impl FnMut(&mut Follower),
) -> (String, usize) {
    let (mut text, mut count) = (String::new(), 1);
    loop {
        let piece = pieces.piece(follower);
        let rows = piece.text.matches("},{").count();
        assert!(rows <= STEPS, "{rows} rows in one turn");
        text += &piece.text;
        let Some(rest) = piece.rest else {
            return (text, count);
        };
        pieces = rest;
        count += 1;
        between(follower);
    }
}

fn show(words: &[&str], follower: &mut Follower, between: impl FnMut(&mut Follower)) -> Value {
    let pieces = answers::show(words, follower, &[]).unwrap();
    let value: Value = serde_json::from_str(&all(pieces, follower, between).0).unwrap();
    assert_eq!(
        (&value["schema"], &value["subject"]),
        (&"corelane-show/1".into(), &words[0].into())
    );
    value[words[0]].clone()
}

/// How often each of these is there.
fn times(rows: &Value, key: &str) -> HashMap<String, u32> {
    let rows = rows.as_array().unwrap().iter();
    rows.fold(HashMap::new(), |mut times, row| {
        *times
            .entry(row[key].as_str().unwrap().to_owned())
            .or_default() += 1;
        times
    })
}

#[test]
fn all_routes_are_listed_while_they_change_and_no_turn_lists_more_than_some_hundred() {
    if !is_root() {
        return;
    }
    let net = net();
    let prefix = |number: u32| {
        let [_, a, b, c] = (number << 2).to_be_bytes();
        format!("100.{a}.{b}.{c}/30")
    };
    let routes = (0..ROUTES).fold(String::new(), |mut lines, number| {
        let via = number % 3;
        writeln!(lines, "route add {} via 10.{via}.0.9", prefix(number)).unwrap();
        lines
    });
    batch(&net.router, &routes);
    following(&net, |follower| {
        let mut turns = 0;
        let listed = show(&["routes", "1000000"], follower, |follower| {
            // Others come, go and change all the while.
            let number = turns / 2;
            let change = ["replace", "del"][turns % 2];
            batch(
                &net.router,
                &format!(
                    "route {change} 172.16.{number}.0/24 via 10.1.0.9\nroute replace {} via \
                     10.{}.0.9",
                    prefix(turns as u32),
                    turns % 3
                ),
            );
            follower.follow();
            turns += 1;
        });
        assert!(turns as u32 >= ROUTES / STEPS as u32, "{turns} turns");
        let times = times(&listed["listed"], "prefix");
        let missed = (0..ROUTES).find(|&number| times.get(&prefix(number)) != Some(&1));
        assert_eq!(missed, None, "each once");
        assert!(listed["v4"].as_u64().unwrap() > ROUTES.into());

        let some = show(&["routes", "700"], follower, |_| {});
        assert_eq!(some["listed"].as_array().unwrap().len(), 700);
    });
}

#[test]
fn neighbours_and_metrics_are_said_in_pieces() {
    const NEIGHBOURS: u32 = 600;
    const OBJECTS: usize = 2000;
    if !is_root() {
        return;
    }
    let net = net();
    let neighbours = (0..NEIGHBOURS).fold(String::new(), |mut lines, number| {
        let (high, low) = (number >> 8, number & 255);
        let address = format!(
            "10.0.{}.{low} lladdr 02:00:00:00:{high:02x}:{low:02x}",
            high + 4
        );
        writeln!(lines, "neigh add {address} nud permanent dev r0").unwrap();
        lines
    });
    batch(&net.router, &neighbours);
    let objects = (1..=OBJECTS).fold(String::new(), |mut lines, number| {
        writeln!(lines, "nexthop add id {number} via 10.1.0.9 dev r1").unwrap();
        lines
    });
    batch(&net.router, &objects);
    following(&net, |follower| {
        let mut turns = 0;
        let shown = show(&["neighbours"], follower, |_| turns += 1);
        let mut times = times(&shown, "address");
        times.retain(|address, _| address.starts_with("10."));
        assert!(times.len() as u32 >= NEIGHBOURS && times.values().all(|times| *times == 1));
        assert!(turns > 0);
        let page = metrics::page(
            follower,
            &Arc::new(Counters::default()),
            Fitness::default(),
            &Counts::default(),
            Format::OpenMetrics,
        );
        let (page, pieces) = all(page, follower, |_| {});
        assert!(
            page.ends_with("# EOF\n") && page.contains("corelane_routes{"),
            "{page}"
        );
        assert!(pieces > OBJECTS / STEPS, "{pieces} pieces");
    });
}
