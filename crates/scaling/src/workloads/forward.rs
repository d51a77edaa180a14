//! Our own forwarding engine on frames replayed from memory: one lock around the table, one table
//! for all, a table for each core.

use std::sync::Arc;
use std::time::Duration;

use fib::TableOrganisation;
use figures::{Random, median, median_interval};
use router::user_plane::memory_engine::{MemoryEngine, Routes, Trial};
use router::user_plane::test_traffic::{self, Destinations};

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload};

/// The workload.
pub const WORKLOAD: Workload = Workload {
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

fn rounds(bench: &Bench) -> u32 {
    if bench.quick { 3 } else { 7 }
}

fn planned(bench: &Bench) -> Duration {
    TableOrganisation::ALL.len() as u32 * (BUILD + 2 * rounds(bench) * bench.time(TRIAL))
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    bench.two()?;
    let cores = bench.cores.len();
    let failed = |error: &dyn std::error::Error| Unable::Failed(error.to_string());
    let mut random = Random::new(bench.seed);
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
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds(bench) {
            let first = random.below(2);
            for place in [first, 1 - first] {
                if (bench.interrupted)() {
                    return Err(Unable::Interrupted);
                }
                let used = &bench.cores[..if place == 0 { 1 } else { cores }];
                let trial = Trial {
                    cores: used,
                    frames: &frames,
                    duration,
                    route_changes_per_second: 0,
                };
                rates[place].push(
                    engine
                        .run(&trial)
                        .map_err(|e| failed(&e))?
                        .frames_per_second(),
                );
            }
        }
        let ratios: Vec<f64> = rates[1]
            .iter()
            .zip(&rates[0])
            .map(|(many, one)| many / one)
            .collect();
        let interval = median_interval(&ratios, bench.seed);
        let name = organisation.name();
        let times = format!(
            "{:.2} [{:.2}, {:.2}]",
            median(&ratios),
            interval.low,
            interval.high
        );
        words.push(format!("{name} {times}"));
        findings.line(
            format!("table {name}"),
            "",
            [
                format!("{:.2} Mpps", median(&rates[0]) / 1e6),
                format!("{:.2} Mpps", median(&rates[1]) / 1e6),
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
