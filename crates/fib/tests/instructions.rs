//! Instructions for each look-up, counted by callgrind: the guard against a hot path that quietly
//! grows.
//!
//! Valgrind shows programs a processor without AVX-512, so this counts the form that works
//! everywhere. It counts only while it is in [`look_up`].

use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use fib::generated::{addresses_hitting, next_hops};
use fib::organisation::{
    Change, Locked, LockedPerCore, OneByOne, Options, Organisation, Reader, TableOrganisation,
};
use fib::{Family, NextHop, Prefix, Table};

const LOOKUPS: usize = 64 * 2000;

/// Most instructions for a look-up in bursts of 64, addresses in random prefixes, in the profile
/// that tests are built with: its assertions and overflow checks count too. Counted: 79 and 285.
const V4_BOUND: f64 = 90.0;
const V6_BOUND: f64 = 300.0;

/// Most instructions by which two organisations with a lock may differ for a frame: how each
/// reaches its mutex and its counters. Counted: 1.8, of 29 that a lock costs.
const LOCKS_DIFFER: f64 = 6.0;

/// A file of them: making a whole table takes callgrind long.
const PREFIXES: &str = "FIB_TEST_PREFIXES";

fn workload<A: Family>() {
    let Ok(file) = std::env::var(PREFIXES) else {
        return;
    };
    let lines = std::fs::read_to_string(file).expect("written before");
    let prefix = |line: &str| {
        let (address, length) = line.split_once('/')?;
        let address = A::from_left_aligned(address.parse().ok()?);
        Prefix::new(address, length.parse().ok()?).ok()
    };
    let prefixes: Option<Vec<_>> = lines.lines().map(prefix).collect();
    let prefixes = prefixes.expect("as they were written");
    let routes: Vec<_> = prefixes
        .iter()
        .copied()
        .zip(next_hops(1, prefixes.len(), 16))
        .collect();
    let mut table = Table::<A>::new().expect("memory");
    table.insert_all(&routes).expect("room");
    look_up(&table, &addresses_hitting(2, &prefixes, LOOKUPS));
}

/// What callgrind counts.
#[inline(never)]
fn look_up<A: Family>(table: &Table<A>, addresses: &[A]) {
    let mut out = [NextHop::NONE; 64];
    for addresses in addresses.chunks(64) {
        table.lookup_burst(addresses, &mut out);
        black_box(&out);
    }
}

#[test]
#[ignore = "the workload of the tests below, which run it under callgrind"]
fn workload_v4() {
    workload::<u32>();
}

#[test]
#[ignore = "the workload of the tests below, which run it under callgrind"]
fn workload_v6() {
    workload::<u128>();
}

fn instructions(test: &str, prefixes: &Path) -> Option<f64> {
    let this = std::env::current_exe().expect("a test is a program");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*::instructions::look_up*")
        .arg(this)
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        .env(PREFIXES, prefixes)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&run.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.unwrap_or_else(|| panic!("callgrind said no count:\n{said}"));
    collected.trim().parse().ok()
}

/// Every sixteenth prefix of a table of the Internet's size.
fn guard<A: Family>(test: &str, prefixes: &[Prefix<A>], bound: f64) {
    let mut lines = String::new();
    for prefix in prefixes.iter().step_by(16) {
        let address = prefix.address().left_aligned();
        writeln!(lines, "{address}/{}", prefix.length()).expect("memory");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test.replace("::", "-"));
    std::fs::write(&file, lines).expect("room for a file");
    let Some(counted) = instructions(test, &file) else {
        needs::skipped!("needs valgrind (Debian package valgrind)");
        return;
    };
    let each = counted / LOOKUPS as f64;
    println!("{test}: {each:.1} instructions a look-up, bound {bound}");
    assert!(
        each > 5.0 && each <= bound,
        "{each:.1} instructions a look-up, bound {bound}"
    );
}

#[test]
fn a_v4_look_up_stays_within_its_instructions() {
    guard(
        "instructions::workload_v4",
        &crate::generated::TABLE.v4,
        V4_BOUND,
    );
}

#[test]
fn a_v6_look_up_stays_within_its_instructions() {
    guard(
        "instructions::workload_v6",
        &crate::generated::TABLE.v6,
        V6_BOUND,
    );
}

/// A worker that asks an organisation one address at a time.
fn ask(organisation: &impl Organisation) {
    let lookups = addresses_hitting(2, &[Prefix::containing(0x0A00_0000_u32, 8)], LOOKUPS);
    let route = Change::V4(Prefix::containing(0x0A00_0000, 8), NextHop(1));
    organisation.apply(&[route]).expect("room");
    let mut reader = organisation.reader(0).expect("the only one");
    look_up_one_by_one(&mut reader, &lookups);
}

/// What callgrind counts.
#[inline(never)]
fn look_up_one_by_one(reader: &mut impl Reader, addresses: &[u32]) {
    let mut out = [NextHop::NONE; 64];
    for addresses in addresses.chunks(64) {
        reader.resolve_v4(addresses, &[64; 64], &mut out);
        black_box(&out);
    }
}

#[test]
#[ignore = "the workload of the test below, which runs it under callgrind"]
fn workload_one_by_one() {
    ask(&OneByOne::new(&Options::for_workers(1)).expect("memory"));
}

#[test]
#[ignore = "the workload of the test below, which runs it under callgrind"]
fn workload_locked() {
    ask(&Locked::new(&Options::for_workers(1)).expect("memory"));
}

#[test]
#[ignore = "the workload of the test below, which runs it under callgrind"]
fn workload_locked_per_core() {
    ask(&LockedPerCore::new(&Options::for_workers(1)).expect("memory"));
}

/// The study holds these against each other and calls the difference the lock's price.
#[test]
fn organisations_that_look_up_one_address_at_a_time_differ_by_their_locks_alone() {
    let organisations = [
        TableOrganisation::OneByOne,
        TableOrganisation::Locked,
        TableOrganisation::LockedPerCore,
    ];
    let counted = organisations.map(|organisation| {
        let workload = format!(
            "instructions::workload_{}",
            organisation.name().replace('-', "_")
        );
        let counted = instructions(&workload, Path::new("/dev/null"))?;
        Some(counted / LOOKUPS as f64)
    });
    let [Some(free), Some(locked), Some(per_core)] = counted else {
        needs::skipped!("needs valgrind (Debian package valgrind)");
        return;
    };
    println!("instructions a look-up: {free:.1} free, {locked:.1} and {per_core:.1} locked");
    assert!(locked > free && per_core > free, "a lock costs something");
    assert!(
        (locked - per_core).abs() <= LOCKS_DIFFER,
        "{locked:.1} against {per_core:.1}"
    );
}
