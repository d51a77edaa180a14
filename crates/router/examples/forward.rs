//! One memory-engine trial after another, a line for each: for profilers and for scripts that
//! compare.
//!
//! `forward [organisation] [workers] [seconds] [changes/s] [frame bytes] [routes file] [rounds]`;
//! the routes file has a prefix a line; without one, or with `-`, a generated table of the
//! Internet's size.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use fib::{TableOrganisation, generated, prefix_file};
use router::user_plane::memory_engine::{MemoryEngine, Routes, Trial};
use router::user_plane::test_traffic::{self, Destinations};

const DESTINATIONS: usize = 1 << 20;
const NEXT_HOPS: u16 = 16;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, default: u32| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let name = arguments.first().map_or("per-core", String::as_str);
    let organisation = TableOrganisation::ALL
        .into_iter()
        .find(|organisation| organisation.name() == name);
    let organisation = organisation
        .ok_or("the organisations are locked, shared, per-core, one-by-one, locked-per-core")?;
    let workers = number(1, 1)? as usize;
    let prefixes = match arguments.get(5).filter(|file| *file != "-") {
        Some(file) => prefix_file::read(std::fs::File::open(file)?, file)?,
        None => generated::internet(SEED),
    };
    let destinations = generated::addresses_hitting(SEED, &prefixes.v4, DESTINATIONS);
    let v4_hops = generated::next_hops(SEED, prefixes.v4.len(), NEXT_HOPS);
    let v6_hops = generated::next_hops(SEED + 1, prefixes.v6.len(), NEXT_HOPS);
    let routes = Routes {
        v4: prefixes.v4.into_iter().zip(v4_hops).collect(),
        v6: prefixes.v6.into_iter().zip(v6_hops).collect(),
        next_hops: NEXT_HOPS,
    };
    let frames = Arc::new(test_traffic::frames(
        Destinations::V4(&destinations),
        number(4, 64)? as usize,
    )?);
    let engine = MemoryEngine::build(organisation, &routes, workers)?;
    let cores = host::allowed_cores()?;
    // The last cores first: the first one has the machine's own work to do.
    let cores: Vec<_> = cores.into_iter().rev().take(workers).collect();
    for _ in 0..number(6, 1)? {
        let outcome = engine.run(&Trial {
            cores: &cores,
            frames: &frames,
            duration: Duration::from_secs(u64::from(number(2, 2)?)),
            route_changes_per_second: number(3, 0)?,
        })?;
        println!(
            "{} {} workers {:.3} Mpps, {:.0} changes/s, not forwarded {}",
            organisation.name(),
            workers,
            outcome.frames_per_second() / 1e6,
            outcome.route_changes_per_second(),
            outcome
                .workers
                .iter()
                .map(|worker| worker.count.not_forwarded())
                .sum::<u64>(),
        );
    }
    Ok(())
}
