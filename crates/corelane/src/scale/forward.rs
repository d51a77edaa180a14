//! Our own forwarding engine on frames replayed from memory: one lock around the table, one table
//! for all, a table for each core.

use std::sync::Arc;
use std::time::Duration;

use fib::TableOrganisation;
use figures::{Rounds, median};
use router::user_plane::memory_engine::{MemoryEngine, Routes, Trial};
use router::user_plane::test_traffic::{self, Destinations};
use scaling::workloads::bench::{Bench, Unable};
use scaling::workloads::findings::Findings;
use scaling::workloads::{Kind, Workload};

/// The workload.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "forward",
    sentence: "Forwards 64-byte frames from memory with our own engine, its table under one lock, \
               shared, or one for each core.",
    then: "",
    kind: Kind::Experiment { run, planned },
};

const ROUTES: usize = 10_000;
const NEXT_HOPS: u16 = 16;
const FRAMES: usize = 1 << 16;
/// Building an engine and its frames.
const BUILD: Duration = Duration::from_millis(500);
/// Time of a trial.
const TRIAL: Duration = Duration::from_millis(150);

fn rounds(bench: &Bench) -> usize {
    if bench.quick { 3 } else { 7 }
}

fn planned(bench: &Bench) -> Duration {
    let trials = 2 * rounds(bench) as u32;
    TableOrganisation::ALL.len() as u32 * (BUILD + trials * bench.time(TRIAL))
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    bench.two()?;
    let cores = bench.cores.len();
    let failed = |error: &dyn std::error::Error| Unable::Failed(error.to_string());
    // Networks of 24 bits from 1.0.0.0 on, no two the same, none that forwarding would refuse.
    let prefixes: Vec<fib::Prefix<u32>> = (0..ROUTES as u32)
        .filter_map(|n| fib::Prefix::new(0x0100_0000 + (n << 8), 24).ok())
        .collect();
    let hops = fib::generated::next_hops(bench.seed, prefixes.len(), NEXT_HOPS);
    let routes = Routes {
        v4: prefixes.iter().copied().zip(hops).collect(),
        v6: Vec::new(),
        next_hops: NEXT_HOPS,
    };
    let destinations = fib::generated::addresses_hitting(bench.seed, &prefixes, FRAMES);
    let frames = Arc::new(
        test_traffic::frames(Destinations::V4(&destinations), 64).map_err(|e| failed(&e))?,
    );
    let duration = bench.time(TRIAL);
    let all = format!("{cores} cores");
    let mut findings = Findings::of(&["one core", &all, "times"]);
    let mut words = Vec::new();
    for organisation in TableOrganisation::ALL {
        let engine = MemoryEngine::build(organisation, &routes, cores).map_err(|e| failed(&e))?;
        // One core, and all of them.
        let mut rates = Rounds::new(2, bench.seed);
        rates.run(rounds(bench), |place| {
            bench.go_on()?;
            let trial = Trial {
                cores: &bench.cores[..if place == 0 { 1 } else { cores }],
                frames: &frames,
                duration,
                route_changes_per_second: 0,
            };
            let outcome = engine.run(&trial).map_err(|e| failed(&e))?;
            Ok(outcome.frames_per_second())
        })?;
        let gain = rates.ratio(1, 0, f64::clone);
        let name = organisation.name();
        let times = format!("{:.2} {:#.2}", gain.value, gain.interval);
        words.push(format!("{name} {times}"));
        findings.line(
            format!("table {name}"),
            "",
            [
                format!("{:.2} Mpps", median(rates.of(0)) / 1e6),
                format!("{:.2} Mpps", median(rates.of(1)) / 1e6),
                times,
            ],
        );
    }
    findings.sentence = format!(
        "{cores} cores forward as many times more than one: {}.",
        words.join(", ")
    );
    Ok(findings)
}
