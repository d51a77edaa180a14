//! Instructions for each look-up, counted by callgrind: the guard against a hot path that quietly
//! grows.
//!
//! Valgrind shows programs a processor without AVX-512, so this counts the form that works
//! everywhere. The workload is run twice, with and without look-ups; the difference counts.

use std::hint::black_box;
use std::process::Command;

use fib::generated::{addresses_hitting, internet, next_hops};
use fib::{Family, NextHop, Prefix, Table};

const LOOKUPS: usize = 64 * 2000;

/// Most instructions for a look-up in bursts of 64, addresses in random prefixes, in the profile
/// that tests are built with: its assertions and overflow checks count too. Counted: 82 and 261.
const V4_BOUND: f64 = 90.0;
const V6_BOUND: f64 = 285.0;

const PASSES: &str = "FIB_TEST_PASSES";

fn workload<A: Family>(prefixes: &[Prefix<A>]) {
    let Some(passes) = std::env::var(PASSES)
        .ok()
        .and_then(|passes| passes.parse().ok())
    else {
        return;
    };
    let prefixes: Vec<_> = prefixes.iter().copied().step_by(16).collect();
    let routes: Vec<_> = prefixes
        .iter()
        .copied()
        .zip(next_hops(1, prefixes.len(), 16))
        .collect();
    let mut table = Table::<A>::new().expect("memory");
    table.insert_all(&routes).expect("room");
    let addresses = addresses_hitting(2, &prefixes, LOOKUPS);
    let mut out = [NextHop::NONE; 64];
    for _ in 0..passes {
        for addresses in addresses.chunks(64) {
            table.lookup_burst(addresses, &mut out);
            black_box(&out);
        }
    }
}

#[test]
#[ignore = "the workload of the tests below, which run it under callgrind"]
fn workload_v4() {
    workload(&internet(1).v4);
}

#[test]
#[ignore = "the workload of the tests below, which run it under callgrind"]
fn workload_v6() {
    workload(&internet(1).v6);
}

fn instructions(test: &str, passes: usize) -> Option<f64> {
    let this = std::env::current_exe().expect("a test is a program");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        .env(PASSES, passes.to_string())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&run.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.unwrap_or_else(|| panic!("callgrind said no count:\n{said}"));
    collected.trim().parse().ok()
}

fn guard(test: &str, bound: f64) {
    let (Some(without), Some(with)) = (instructions(test, 0), instructions(test, 1)) else {
        needs::skipped!("needs valgrind (Debian package valgrind)");
        return;
    };
    let each = (with - without) / LOOKUPS as f64;
    println!("{test}: {each:.1} instructions a look-up, bound {bound}");
    assert!(
        each > 5.0 && each <= bound,
        "{each:.1} instructions a look-up, bound {bound}"
    );
}

#[test]
fn a_v4_look_up_stays_within_its_instructions() {
    guard("instructions::workload_v4", V4_BOUND);
}

#[test]
fn a_v6_look_up_stays_within_its_instructions() {
    guard("instructions::workload_v6", V6_BOUND);
}
