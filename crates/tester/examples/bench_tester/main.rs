//! The tester's speed table, in one run: `scripts/bench-tester` (root). The argument is the path of
//! the program `corelane`.
//!
//! Our generator is measured by its self-test, which checks every frame; the others as `peers`
//! says. All send 64-byte UDP frames from one core into a veth.

mod peers;

use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use tester::engine::Engine;
use tester::link::wire::Wire;
use tester::result::Report;
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Waits};

type Error = Box<dyn std::error::Error>;

/// Frames of the run over memory: half a second or so.
const WIRE_FRAMES: u64 = 20_000_000;
const SIZES: &str = "64,128,256,512,768,1024,1280,1518";

fn main() -> Result<(), Error> {
    let corelane = env::args()
        .nth(1)
        .ok_or("the first argument is the path of the program corelane")?;
    let wire = wire()?;
    row(
        "generated and checked over memory, one core",
        &format!("{:.1} M frames/s", wire / 1e6),
        "8",
        "15",
    );
    let selftest = run(&corelane, "selftest", "64")?;
    let ours = selftest
        .results
        .first()
        .and_then(|entry| entry.frames_per_second)
        .unwrap_or(0.0);
    println!(
        "our generator on veth, 64 bytes, one core: {:.2} M frames/s, every one checked",
        ours / 1e6
    );
    match peers::trafgen()? {
        Some(theirs) => row(
            "generator on veth against trafgen, 64 bytes, one core",
            &format!("{:.2} M: {:.1} times", theirs / 1e6, ours / theirs),
            "4",
            "7",
        ),
        None => println!("skipped: trafgen is not there (package netsniff-ng)"),
    }
    match peers::iperf3()? {
        Some(theirs) => {
            for (what, rate) in [("sent", theirs.sent), ("received", theirs.received)] {
                println!(
                    "{:<56} {:<36} for plausibility",
                    format!("the same against iperf3 -u -b 0, {what}"),
                    format!("{:.2} M: {:.1} times", rate / 1e6, ours / rate)
                );
            }
        }
        None => println!("skipped: iperf3 is not there (package iperf3)"),
    }
    let begun = Instant::now();
    let full = run(&corelane, "throughput", SIZES)?;
    row(
        "throughput of 8 sizes, quick",
        &format!("{:.1} s", begun.elapsed().as_secs_f64()),
        "60 s",
        "30 s",
    );
    let worst = full
        .results
        .iter()
        .flat_map(|entry| &entry.trials)
        .filter(|trial| trial.validity.counts())
        .filter_map(tester::trial::Trial::rate_error)
        .map(f64::abs)
        .fold(0.0, f64::max);
    row(
        "largest rate error of an accepted trial",
        &format!("{:.4} %", worst * 100.0),
        "0.1 %",
        "0.01 %",
    );
    for entry in full
        .results
        .iter()
        .filter(|entry| entry.test == tester::result::Test::Throughput)
    {
        println!("  {}", tester::render::sentence(entry));
    }
    Ok(())
}

fn row(what: &str, found: &str, must: &str, goal: &str) {
    println!("{what:<56} {found:<36} must {must:>6}, goal {goal:>7}");
}

fn wire() -> Result<f64, Error> {
    let mut engine = Engine::new(Wire::new(2), Vec::new(), 1518, 1e9, 1)?;
    let order = Order {
        sizes: vec![FrameSize::new(64, Family::Ipv4, 1500)?],
        family: Family::Ipv4,
        schedule: Schedule::burst(WIRE_FRAMES),
        direction: Direction::OneWay,
        destinations: 256,
        traffic: tester::traffic::Traffic::default(),
        time_every_frame: true,
        waits: Waits::QUICK,
    };
    let trial = engine.run(&order, "speed", None)?;
    if trial.counts.received != WIRE_FRAMES {
        return Err(format!("the wire lost frames: {:?}", trial.counts).into());
    }
    Ok(trial.offered_rate)
}

fn run(corelane: &str, test: &str, sizes: &str) -> Result<Report, Error> {
    let directory = host::temporary::Directory::new("bench-tester")?;
    let file = directory.path().join("result.json");
    let status = Command::new(corelane)
        .args(["test", test, "--quick", "--sizes", sizes, "--json"])
        .arg(&file)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("corelane test {test} ended with {status}").into());
    }
    Ok(serde_json::from_str(&fs::read_to_string(&file)?)?)
}
