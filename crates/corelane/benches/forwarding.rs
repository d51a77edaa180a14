//! What the forwarding core must hold, measured: the second core's gain, what route changes cost,
//! size and building time.
//!
//! `cargo bench -p corelane --bench forwarding`, some two minutes. Every figure is the median over
//! rounds; ratios are taken within a round, whose trials run one after the other in an order drawn
//! anew, and are shown with the interval of their median. The frames have 64 bytes (FCS included)
//! and go to 2^20 random destinations that hit the table. The table is that of the file in
//! `CORELANE_PREFIXES` (a prefix a line, `.gz` as well), else a generated one of the Internet's
//! size. On fewer than two cores the second core's gain is not measured, and the bench says so.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fib::prefix_file::{self, Prefixes};
use fib::{Prefix, TableOrganisation, generated};
use figures::{Random, median, median_interval};
use host::CoreId;
use report::Table;
use router::user_plane::memory_engine::{MemoryEngine, Routes, Trial};
use router::user_plane::test_traffic::{self, Destinations};

const DESTINATIONS: usize = 1 << 20;
const NEXT_HOPS: u16 = 16;
const FRAME_BYTES: usize = 64;
const SEED: u64 = 1;
const ROUNDS: usize = 11;
const TRIAL: Duration = Duration::from_millis(700);
const WARM_UP: Duration = Duration::from_millis(100);
/// Route changes a second; 0 is what the others are compared with.
const CHANGES: [u32; 4] = [0, 10_000, 100_000, 1_000_000];

type Failure = Box<dyn Error>;

/// One kind of trial, and what it gave in each round.
struct Case {
    engine: usize,
    workers: usize,
    changes: u32,
    rates: Vec<f64>,
    changes_made: Vec<f64>,
}

fn main() -> Result<(), Failure> {
    let (prefixes, from) = prefixes()?;
    let destinations = generated::addresses_hitting(SEED, &prefixes.v4, DESTINATIONS);
    let routes = Routes {
        v4: with_next_hops(prefixes.v4),
        v6: with_next_hops(prefixes.v6),
        next_hops: NEXT_HOPS,
    };
    let frames = Arc::new(test_traffic::frames(
        Destinations::V4(&destinations),
        FRAME_BYTES,
    )?);
    let mut cores = host::allowed_cores()?;
    // The last cores first: the first one has the machine's own work to do.
    cores.reverse();
    println!(
        "{from}: {} IPv4 and {} IPv6 prefixes; {} cores",
        routes.v4.len(),
        routes.v6.len(),
        cores.len()
    );

    let mut engines = Vec::new();
    let mut building = Vec::new();
    for organisation in [TableOrganisation::Shared, TableOrganisation::PerCore] {
        let started = Instant::now();
        engines.push(MemoryEngine::build(organisation, &routes, cores.len())?);
        building.push(started.elapsed().as_secs_f64());
    }
    let size = engines[0].memory().used();
    let mut cases = cases(&engines, cores.len());
    let mut random = Random::new(SEED);
    for _ in 0..ROUNDS {
        for index in shuffled(cases.len(), &mut random) {
            measure(&engines, &mut cases[index], &cores, &frames)?;
        }
    }

    let mut table = Table::new("The forwarding core")
        .text("what")
        .number("median")
        .number("interval")
        .number("must")
        .number("goal");
    for (number, engine) in engines.iter().enumerate() {
        let name = engine
            .organisation()
            .map_or("as-shipped", TableOrganisation::name);
        let own: Vec<&Case> = cases.iter().filter(|case| case.engine == number).collect();
        rows_of(name, &own, cores.len(), &mut table);
    }
    table.rows.push(vec![
        "building both tables, shared, s".into(),
        format!("{:.3}", building[0]),
        String::new(),
        "≤ 1.5".into(),
        "≤ 0.3".into(),
    ]);
    table.rows.push(vec![
        "both tables, MiB".into(),
        format!("{:.2}", size as f64 / f64::from(1 << 20)),
        String::new(),
        "≤ 6".into(),
        "≤ 4.5".into(),
    ]);
    table.caption = format!(
        "{FRAME_BYTES}-byte frames on memory ports, {ROUNDS} rounds; the workers use every core, \
         so whoever changes routes takes its time from them."
    );
    if cores.len() < 2 {
        table.caption += " One core only: what a second one gains was not measured.";
    }
    print!("{}", table.to_text());
    Ok(())
}

/// What one organisation showed.
fn rows_of(name: &str, cases: &[&Case], cores: usize, table: &mut Table) {
    let of = |workers, changes| {
        cases
            .iter()
            .find(|case| (case.workers, case.changes) == (workers, changes))
    };
    let (Some(one), Some(all)) = (of(1, 0), of(cores, 0)) else {
        return;
    };
    table.rows.push(vec![
        format!("{name}, one worker, frames/s"),
        format!("{:.1} M", median(&one.rates) / 1e6),
    ]);
    if cores > 1 {
        let gain = format!("{name}, {cores} workers against one");
        // The bounds are for two.
        let must = if cores == 2 {
            ["≥ 1.90", "≥ 1.97"]
        } else {
            ["", ""]
        };
        table
            .rows
            .push(row(gain, &ratios(all, one), "×", 1.0, must));
    }
    for changes in CHANGES.into_iter().skip(1) {
        let Some(changing) = of(cores, changes) else {
            continue;
        };
        let lost: Vec<f64> = ratios(changing, all)
            .iter()
            .map(|kept| 1.0 - kept)
            .collect();
        let must = match changes {
            100_000 => ["≤ 5 %", ""],
            1_000_000 => ["", "≤ 2 %"],
            _ => ["", ""],
        };
        let made = median(&changing.changes_made);
        let what = format!("{name}, {changes} route changes/s ({made:.0} made), lost");
        table.rows.push(row(what, &lost, " %", 100.0, must));
    }
}

fn cases(engines: &[MemoryEngine], cores: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for engine in 0..engines.len() {
        let mut add = |workers, changes| {
            cases.push(Case {
                engine,
                workers,
                changes,
                rates: Vec::new(),
                changes_made: Vec::new(),
            });
        };
        for changes in CHANGES {
            add(cores, changes);
        }
        if cores > 1 {
            add(1, 0);
        }
    }
    cases
}

fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

fn measure(
    engines: &[MemoryEngine],
    case: &mut Case,
    cores: &[CoreId],
    frames: &Arc<port::memory::Replay>,
) -> Result<(), Failure> {
    let outcome = engines[case.engine].run_after(
        WARM_UP,
        &Trial {
            cores: &cores[..case.workers],
            frames,
            duration: TRIAL,
            route_changes_per_second: case.changes,
        },
    )?;
    case.rates.push(outcome.frames_per_second());
    case.changes_made.push(outcome.route_changes_per_second());
    Ok(())
}

/// Round by round.
fn ratios(of: &Case, to: &Case) -> Vec<f64> {
    of.rates.iter().zip(&to.rates).map(|(a, b)| a / b).collect()
}

fn row(what: String, values: &[f64], unit: &str, scale: f64, must: [&str; 2]) -> Vec<String> {
    let interval = median_interval(values, SEED);
    let [must, goal] = must.map(str::to_owned);
    vec![
        what,
        format!("{:.2}{unit}", median(values) * scale),
        format!(
            "{:.2} to {:.2}",
            interval.low * scale,
            interval.high * scale
        ),
        must,
        goal,
    ]
}

fn with_next_hops<A>(prefixes: Vec<Prefix<A>>) -> Vec<(Prefix<A>, fib::NextHop)> {
    let hops = generated::next_hops(SEED, prefixes.len(), NEXT_HOPS);
    prefixes.into_iter().zip(hops).collect()
}

fn prefixes() -> Result<(Prefixes, String), Failure> {
    let path = std::env::var("CORELANE_PREFIXES").unwrap_or_default();
    if path.is_empty() {
        return Ok((
            generated::internet(SEED),
            "generated table of the Internet's size and shape".into(),
        ));
    }
    let file = File::open(&path).map_err(|error| format!("CORELANE_PREFIXES={path}: {error}"))?;
    let reader: Box<dyn Read> = if Path::new(&path)
        .extension()
        .is_some_and(|kind| kind == "gz")
    {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let prefixes = prefix_file::read(BufReader::new(reader), &path)?;
    Ok((prefixes, path))
}
