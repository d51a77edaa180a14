//! The tester's speed table, in one run: `scripts/bench-tester` (root). The argument is the path of the program `corelane`.
//!
//! trafgen is measured at the far end of a cable of its own, by that interface's counter; our generator by its self-test, which
//! checks every frame. Both send 64-byte UDP frames from one core.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use host::{CoreId, Namespace, Veth};
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
/// How long trafgen is counted.
const PEER_TIME: Duration = Duration::from_secs(2);
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
    match trafgen()? {
        Some(theirs) => row(
            "generator on veth against trafgen, 64 bytes, one core",
            &format!(
                "{:.2} M against {:.2} M: {:.1} times",
                ours / 1e6,
                theirs / 1e6,
                ours / theirs
            ),
            "4",
            "7",
        ),
        None => println!(
            "skipped: trafgen is not there (package netsniff-ng); ours: {:.2} M frames/s",
            ours / 1e6
        ),
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

/// Frames per second that trafgen brings to the far end of a cable; `None` where there is no trafgen.
fn trafgen() -> Result<Option<f64>, Error> {
    let sender = Namespace::new("trafgen0")?;
    let receiver = Namespace::new("trafgen1")?;
    let cable = Veth::new((&sender, "tg0"), (&receiver, "tg1"), 1)?;
    let mac = |bytes: [u8; 6]| bytes.map(|byte| format!("0x{byte:02x}")).join(", ");
    let directory = host::temporary::Directory::new("trafgen")?;
    let file = directory.path().join("frame.cfg");
    fs::write(
        &file,
        format!(
            "{{ {}, {}, const16(0x0800), 0x45, 0, const16(46), const16(0), const16(0), 10, 17, csumip(14, 33), \
             198, 18, 1, 2, 198, 19, 64, 2, const16(49184), const16(7), const16(26), const16(0), fill(0x55, 18) }}\n",
            mac(cable.b.mac),
            mac(cable.a.mac)
        ),
    )?;
    let core = host::allowed_cores()?.first().copied().unwrap_or(CoreId(0));
    let mut command = sender.command("taskset");
    command
        .args([
            "-c",
            &core.to_string(),
            "trafgen",
            "--dev",
            "tg0",
            "--cpus",
            "1",
            "--qdisc-path",
            "--conf",
        ])
        .arg(&file);
    let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return Ok(None);
    };
    thread::sleep(Duration::from_millis(700));
    let count = || -> Result<f64, Error> {
        let text = receiver.ip(["-s", "-o", "link", "show", "tg1"])?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| *word == "RX:")
            .ok_or("no counters")?;
        // "RX: bytes packets errors dropped missed mcast \ N N": the numbers follow the headings.
        let numbers: Vec<f64> = words[at..]
            .iter()
            .filter_map(|word| word.parse().ok())
            .collect();
        Ok(*numbers.get(1).ok_or("no packet counter")?)
    };
    let (before, begun) = (count()?, Instant::now());
    thread::sleep(PEER_TIME);
    let rate = (count()? - before) / begun.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    Ok((rate > 0.0).then_some(rate))
}
