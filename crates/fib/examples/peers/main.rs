//! Look-ups, building and route changes with a table of the Internet's size: our figures, those of
//! the Rust peers in the same process and the same rounds, and the files with which
//! `dpdk-test-fib` does the same.
//!
//! `peers export DIR` writes `routes4.txt`, `random4.txt`, `hitting4.txt`, `zipf4.txt` for
//! `dpdk-test-fib`; `peers lookup4` prints the bytes of each peer, and one line for each set of
//! addresses and peer (nanoseconds and time-stamp cycles a look-up); `peers lookup6`, `peers
//! build`, `peers memory`, `peers changes` print what they are called after. The table is
//! `CORELANE_PREFIXES` (plain text or `.gz`) where set, else
//! `../shared/data/internet-prefixes.txt.gz` where present, else a generated one.

#![allow(missing_docs)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use fib::generated::{internet, next_hops};
use fib::prefix_file::{self, Prefixes};
use fib::{Family, NextHop, Prefix, Table};
use figures::Random;

mod lookups;
mod planb;
mod poptrie;
mod processor;
mod timing;

use timing::cycles;

type Failure = Box<dyn std::error::Error>;

const SEED: u64 = 1;
const NEXT_HOPS: u16 = 16;
const BURST: usize = 64;
const V4_ADDRESSES: usize = 4 << 20;
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["export", directory] => export(Path::new(directory)),
        ["lookup4"] => lookups::lookup4(),
        ["lookup6"] => lookups::lookup6(),
        ["build"] => build(),
        ["memory"] => memory(),
        ["changes"] => changes(),
        _ => Err("usage: peers export DIR | lookup4 | lookup6 | build | memory | changes".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn prefixes() -> Result<Prefixes, Failure> {
    let named = std::env::var("CORELANE_PREFIXES").ok();
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/internet-prefixes.txt.gz"
    );
    let path = named.or_else(|| Path::new(recorded).exists().then(|| recorded.to_owned()));
    let Some(path) = path else {
        println!("# generated table, seed {SEED}");
        return Ok(internet(SEED));
    };
    println!("# table {path}");
    if Path::new(&path)
        .extension()
        .is_some_and(|extension| extension == "gz")
    {
        let unpacked = Command::new("gzip").args(["-dc", &path]).output()?;
        return Ok(prefix_file::read(&unpacked.stdout[..], &path)?);
    }
    Ok(prefix_file::read(File::open(&path)?, &path)?)
}

type Routes<A> = Vec<(Prefix<A>, NextHop)>;

fn with_next_hops<A: Family>(prefixes: &[Prefix<A>]) -> Routes<A> {
    prefixes
        .iter()
        .copied()
        .zip(next_hops(SEED, prefixes.len(), NEXT_HOPS))
        .collect()
}

fn table_of<A: Family>(routes: &Routes<A>) -> Result<Table<A>, Failure> {
    let mut table = Table::new()?;
    table.insert_all(routes)?;
    Ok(table)
}

fn export(directory: &Path) -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let create = |name: &str| File::create(directory.join(name)).map(BufWriter::new);
    let mut file = create("routes4.txt")?;
    for (prefix, next_hop) in with_next_hops(&prefixes.v4) {
        writeln!(file, "{prefix} {}", next_hop.0)?;
    }
    for (name, addresses) in lookups::v4_sets(&prefixes.v4) {
        let mut file = create(&format!("{name}4.txt"))?;
        for address in addresses {
            writeln!(file, "{}", Ipv4Addr::from(address))?;
        }
    }
    Ok(())
}

fn build() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let (v4, v6) = (with_next_hops(&prefixes.v4), with_next_hops(&prefixes.v6));
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let tables = (table_of(&v4)?, table_of(&v6)?);
        let at_once = started.elapsed();
        drop(tables);
        let started = Instant::now();
        let (mut table4, mut table6) = (Table::new()?, Table::new()?);
        for &(prefix, next_hop) in &v4 {
            table4.insert(prefix, next_hop)?;
        }
        for &(prefix, next_hop) in &v6 {
            table6.insert(prefix, next_hop)?;
        }
        println!(
            "build of {} + {} routes: {:.0} ms at once, {:.0} ms one by one",
            v4.len(),
            v6.len(),
            at_once.as_secs_f64() * 1e3,
            started.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

fn memory() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let tables = (
        table_of(&with_next_hops(&prefixes.v4))?,
        table_of(&with_next_hops(&prefixes.v6))?,
    );
    let (mut arrays, mut routes) = (tables.0.memory(), tables.0.route_memory());
    arrays.extend(tables.1.memory());
    routes.extend(tables.1.route_memory());
    println!("arrays that look-ups read:\n{arrays}\nroutes behind them:\n{routes}");
    println!(
        "arrays: {:.2} MiB",
        arrays.used() as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// Route changes without readers: what a change costs the writer.
fn changes() -> Result<(), Failure> {
    const CHANGES: usize = 1 << 20;
    let prefixes = prefixes()?;
    let routes = with_next_hops(&prefixes.v4);
    let mut table = table_of(&routes)?;
    let mut random = Random::new(SEED);
    let picked: Vec<Prefix<u32>> = (0..CHANGES / 2)
        .map(|_| routes[random.below(routes.len())].0)
        .collect();
    let mut epoch = 0;
    let mut settle = |table: &mut Table<u32>| {
        epoch += 1;
        table.seal(epoch);
        // SAFETY: nobody looks up at the same time.
        unsafe { table.reclaim(epoch) };
    };
    for batch in [1, 64, 1024] {
        let replacing: Routes<u32> = picked
            .iter()
            .flat_map(|&prefix| [1, 2].map(|_| (prefix, NextHop(1 + random.below(16) as u16))))
            .collect();
        let flapping: Routes<u32> = picked
            .iter()
            .flat_map(|&prefix| [(prefix, NextHop::NONE), (prefix, NextHop(3))])
            .collect();
        // Withdrawals of a whole batch first, then the same routes again.
        let waves: Routes<u32> = picked
            .chunks(batch)
            .flat_map(|wave| {
                let gone = wave.iter().map(|&prefix| (prefix, NextHop::NONE));
                gone.chain(wave.iter().map(|&prefix| (prefix, NextHop(4))))
                    .collect::<Vec<_>>()
            })
            .collect();
        for (name, changes) in [
            ("replace", replacing),
            ("flap", flapping),
            ("flap in waves", waves),
        ] {
            let (started, first) = (Instant::now(), cycles());
            for batch in changes.chunks(batch) {
                table.insert_all(batch)?;
                settle(&mut table);
            }
            let count = changes.len() as f64;
            println!(
                "{name:14} batches of {batch:5}: {:6.1} ns a change, {:6.0} cycles",
                started.elapsed().as_nanos() as f64 / count,
                (cycles() - first) as f64 / count
            );
        }
    }
    println!("nodes after: {} bytes", table.memory().arrays[1].used);
    Ok(())
}
