//! What capturing and samples cost the frames that are forwarded, by turns on one device with the
//! Internet's table: nothing captured, a reason that no frame has, a filter that none passes, one frame
//! in a thousand, every frame; samples of one frame in a thousand.
//!
//! `make bench-capture`, as root. What each of these may cost at most is printed beside it. With
//! `ARGS=--programs`, the programs alone, without a device.

mod alone;
#[path = "../bed/mod.rs"]
mod bed;

use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bed::{Failure, SEED, fill, lay, open};
use bpf::attach::Request;
use bpf::classic::Filter;
use clap::Parser;
use dut::routes::{self, DESTINATIONS};
use fastpath::forward::capture::{Frames, Samples, Wanted};
use fastpath::forward::{Capturing, Forwarder, Reason};
use figures::{Estimate, Rounds};
use host::counting::Counting;
use host::pace::Calmest;
use report::Table;
use tester::sizes::Family;
use tester::veth::lanes::{Lanes, Load, Pace};

/// Bytes of a frame with FCS, and cores.
const WANTED: (u32, Range<usize>) = (64, 0..1);
/// How often whoever captures fetches frames, as `corelane capture` does.
const PAUSE: Duration = Duration::from_millis(10);
/// `ip and udp and dst port 65000`, as `tcpdump -ddd` prints it: read to its end for each of the tester's
/// frames, and passed by none.
const NOBODYS: &str = "\
11
40 0 0 12
21 0 8 2048
48 0 0 23
21 0 6 17
40 0 0 20
69 4 0 8191
177 0 0 14
72 0 0 16
21 0 1 65000
6 0 0 262144
6 0 0 0
";

/// What capturing costs.
#[derive(Parser)]
struct Options {
    /// Rounds; everything is measured once in each [default: 30; 300 with --programs]
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..))]
    rounds: Option<u16>,
    /// Length of a trial in seconds
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// The programs alone, on frames that the kernel makes: no generator, no cable
    #[arg(long, conflicts_with = "seconds")]
    programs: bool,
}

/// What is captured in a trial.
struct Setting {
    name: &'static str,
    /// How much slower frames may be.
    most: Option<f64>,
    shown: Shown,
}

/// What ports show.
enum Shown {
    Nothing,
    Captured(Wanted),
    /// One frame in so many.
    Samples(u32),
}

fn settings(port: u32) -> Result<Vec<Setting>, Failure> {
    let forwarded = || Wanted {
        reasons: Vec::new(),
        forwarded: true,
        every: 1,
        snap: 256,
        filter: None,
        ports: vec![port],
    };
    let filter: Filter = NOBODYS.parse()?;
    let setting = |name, most, shown| Setting { name, most, shown };
    let no_route = Wanted {
        reasons: vec![Reason::NoRoute],
        forwarded: false,
        ..forwarded()
    };
    let filtered = Wanted {
        filter: Some(filter),
        ..forwarded()
    };
    let sampled = Wanted {
        every: 1000,
        ..forwarded()
    };
    Ok(vec![
        setting("nothing", None, Shown::Nothing),
        setting("nothing, again", Some(0.005), Shown::Nothing),
        setting(
            "a reason that no frame has",
            Some(0.05),
            Shown::Captured(no_route),
        ),
        setting(
            "a filter that no frame passes",
            Some(0.05),
            Shown::Captured(filtered),
        ),
        setting("one frame in 1000", Some(0.02), Shown::Captured(sampled)),
        setting("every frame", None, Shown::Captured(forwarded())),
        setting(
            "samples, one frame in 1000",
            Some(0.02),
            Shown::Samples(1000),
        ),
    ])
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = host::cleanup::on_signal().map_err(Failure::from);
    let measure = if options.programs {
        alone::measure
    } else {
        measure
    };
    match done.and_then(|()| measure(&options)) {
        Ok(table) => {
            println!("{}", table.to_text());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("capture_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<Table, Failure> {
    let trial = Duration::try_from_secs_f64(options.seconds)?;
    let routes = routes::load(None, usize::MAX, SEED)?;
    let core = host::allowed_cores()?[0];
    let lanes = lay("capture-cost", core, Family::Ipv4, DESTINATIONS, &routes)?;
    let mut forwarder = lanes.dut().enter(|| open(&lanes, Request::Native))??;
    fill(&mut forwarder, &lanes, &routes)?;
    let settings = settings(lanes.ingress().index)?;
    let mut load = Load::default();
    let mut rounds = Rounds::new(settings.len(), SEED);
    // Warm: the first frames of a generator are counted elsewhere.
    carry(&mut forwarder, &lanes, &mut load, &settings[0], trial)?;
    let count = options.rounds.unwrap_or(30);
    let mut calmest = Calmest::default();
    rounds.run(count.into(), |place| {
        let setting = &settings[place];
        let one = || carry(&mut forwarder, &lanes, &mut load, setting, trial);
        let ((took, _), calm) = calmest.calmly(&[core], one, |(_, counted)| counted.clone())?;
        let took = calm.per_second.map_or(took, |rate| 1e9 / rate);
        Ok::<_, Failure>((took, calm.slowed))
    })?;
    let title = format!("IPv4, 64-byte frames, rounds: {count}");
    let mut table = Table::new(title)
        .text("captured")
        .number("ns a frame")
        .text("slower by (95 %)")
        .text("at most")
        .number("calm rounds");
    for (place, setting) in settings.iter().enumerate() {
        let all = figures::median(&rounds.judged(place).values);
        let ratios = rounds.judged_ratios(place, 0);
        let slower = Estimate::of(&ratios.values, SEED);
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let interval = &slower.interval;
        table.push([
            setting.name.to_owned(),
            format!("{all:.1}"),
            format!(
                "{} ({} to {})",
                percent(slower.value),
                percent(interval.low),
                percent(interval.high)
            ),
            setting
                .most
                .map_or_else(String::new, |most| percent(1.0 + most)),
            format!("{} of {count}", ratios.calm),
        ]);
    }
    Ok(table)
}

/// What a frame took in one trial, ns, and the frames as they were counted.
type Took = (f64, Counting);

/// One trial.
fn carry(
    forwarder: &mut Forwarder,
    lanes: &Lanes,
    load: &mut Load,
    setting: &Setting,
    trial: Duration,
) -> Result<Took, Failure> {
    host::cleanup::check()?;
    let wanted = match &setting.shown {
        Shown::Captured(wanted) => wanted,
        Shown::Nothing => {
            // What loading leaves in caches is the same for all.
            let forwarded = Wanted {
                reasons: Vec::new(),
                forwarded: true,
                every: 1,
                snap: 256,
                filter: None,
                ports: vec![lanes.ingress().index],
            };
            arm(forwarder, &forwarded)?;
            forwarder.end_capture();
            return nanoseconds(lanes, load, trial);
        }
        Shown::Samples(every) => {
            let mut samples = sample(forwarder, *every)?;
            let outcome = beside(
                || while samples.next_sample().is_some() {},
                || nanoseconds(lanes, load, trial),
            );
            forwarder.end_samples();
            return outcome;
        }
    };
    let mut frames = arm(forwarder, wanted)?;
    let outcome = beside(
        || while frames.next_frame().is_some() {},
        || nanoseconds(lanes, load, trial),
    );
    forwarder.end_capture();
    outcome
}

/// Measures while another thread reads what is shown.
fn beside(
    mut read: impl FnMut() + Send,
    measure: impl FnOnce() -> Result<Took, Failure>,
) -> Result<Took, Failure> {
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                read();
                std::thread::sleep(PAUSE);
            }
        });
        let outcome = measure();
        over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Goes on until every port runs its program.
fn settle(
    forwarder: &mut Forwarder,
    tend: impl Fn(&mut Forwarder) -> Option<Capturing>,
) -> Result<Capturing, Failure> {
    let capturing = loop {
        let capturing = tend(forwarder).ok_or("nothing is shown")?;
        if !capturing.comes {
            break capturing;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    match capturing.failed.first() {
        Some((_, why)) => Err(why.clone().into()),
        None => Ok(capturing),
    }
}

fn sample(forwarder: &mut Forwarder, every: u32) -> Result<Samples, Failure> {
    forwarder.take_samples()?;
    settle(forwarder, Forwarder::tend_samples)?;
    let [ring, counts] = forwarder.sampled().ok_or("no samples")?;
    let (ring, counts) = (ring.try_clone_to_owned()?, counts.try_clone_to_owned()?);
    let mut samples = Samples::new(ring, counts, bpf::map::possible_cpus()?)?;
    samples.set_rate(every, 100, || 0);
    Ok(samples)
}

fn arm(forwarder: &mut Forwarder, wanted: &Wanted) -> Result<Frames, Failure> {
    forwarder.capture(wanted.clone())?;
    let capturing = settle(forwarder, Forwarder::tend_capture)?;
    if !capturing.filtered {
        return Err("the kernel refuses the filter".into());
    }
    let [ring, counts] = forwarder.captured().ok_or("no capture")?;
    let (ring, counts) = (ring.try_clone_to_owned()?, counts.try_clone_to_owned()?);
    Ok(Frames::new(ring, counts, bpf::map::possible_cpus()?)?)
}

fn nanoseconds(lanes: &Lanes, load: &mut Load, trial: Duration) -> Result<Took, Failure> {
    let carried = load.carry(lanes, WANTED, Pace::Call, trial)?;
    if carried.counts.lost > 0 || carried.frames_per_second <= 0.0 {
        return Err(format!(
            "of {} frames {} were lost",
            carried.counts.sent, carried.counts.lost
        )
        .into());
    }
    Ok((1e9 / carried.frames_per_second, carried.counted))
}
