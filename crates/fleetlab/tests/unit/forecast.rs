//! Of `src/forecast.rs`.

use std::convert::Infallible;

use super::*;

fn question() -> Question {
    Question {
        rate: 1e6,
        nodes: 4,
        flows: 1000,
        failed: 1,
        group: Group::Resilient,
        load: None,
        seed: 1,
    }
}

/// The kernel's spreads over so many nodes.
type Spreads = fn(u32) -> Result<Vec<f64>, Infallible>;

fn asked(question: &Question, kernel: Option<Spreads>) -> Forecast {
    forecast(question, Environment::read("0", 1), kernel).unwrap()
}

#[test]
fn the_fullest_is_held_against_the_mean() {
    assert!((imbalance(&[10, 10]) - 1.0).abs() < 1e-9);
    assert!((imbalance(&[30, 10]) - 1.5).abs() < 1e-9);
    assert!((imbalance(&[0, 0, 9]) - 3.0).abs() < 1e-9);
}

#[test]
fn one_node_has_all_and_many_flows_are_even() {
    let mut random = Random::new(1);
    for group in [Group::Resilient, Group::Plain] {
        assert!((thrown(group, 1, 100, &mut random) - 1.0).abs() < 1e-9);
        let many = thrown(group, 4, 1_000_000, &mut random);
        assert!((1.0..1.01).contains(&many), "{many}");
        assert!(thrown(group, 4, 16, &mut random) > 1.1);
    }
}

#[test]
fn what_the_living_carry_is_divided_by_the_imbalance() {
    let found = asked(&question(), None);
    let nodes: Vec<_> = found
        .rows
        .iter()
        .map(|row| (row.nodes, row.living))
        .collect();
    assert_eq!(nodes, [(2, 1), (3, 2), (4, 3)]);
    // One living node has no imbalance.
    assert!((found.rows[0].carries_p99 - 1e6).abs() < 1.0);
    let last = found.rows.last().unwrap();
    assert!((last.carries_p99 * last.imbalance_p99 / 3e6 - 1.0).abs() < 1e-9);
    assert!(last.carries_p99 < last.carries_p50 && last.carries_p50 < 3e6);
    assert_eq!(
        (found.needs_nodes, found.kernel_is_like_chance),
        (None, None)
    );
}

#[test]
fn the_fewest_nodes_that_carry_the_load_are_named() {
    let needs = |load| {
        let load = Some(load);
        asked(&Question { load, ..question() }, None).needs_nodes
    };
    assert_eq!(needs(0.9e6), Some(2));
    assert_eq!(needs(1.7e6), Some(3));
    // 2 M would need no imbalance at all.
    assert_eq!(needs(2e6), Some(4));
    assert_eq!(needs(3e6), None);
}

#[test]
fn a_kernel_that_spreads_otherwise_is_noticed() {
    let like = |kernel| asked(&question(), Some(kernel)).kernel_is_like_chance;
    let mut random = Random::new(7);
    let usual = (0..101).map(|_| thrown(Group::Plain, 3, 1000, &mut random));
    let usual = quantile(usual.collect::<Vec<_>>(), 0.5);
    assert!(usual > 1.01 && usual < 1.2);
    assert_eq!(
        like(|nodes| Ok(vec![if nodes == 1 { 1.0 } else { 1.04 }])),
        Some(true)
    );
    assert_eq!(like(|_| Ok(vec![1.6])), Some(false));
}
