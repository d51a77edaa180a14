//! Builds of `corelane run` side by side: which of them forwards faster?
//!
//! Each program stands between cables of its own, with the Internet's table in its kernel's, and
//! forwards 64-byte frames on the first core, or on several. All take turns in interleaved rounds, so
//! that heat, clock and neighbours fall on all alike. Trials wait for calm cores. Ratios are to the first program,
//! within rounds; calm ones alone count where there are enough.
//!
//! All routers keep their programs at the kernel's tracepoints, so each pays for all: with two programs
//! the ratio to Linux is lower than that of a router by itself.
//!
//! `make bench-builds WITH=PROGRAM`, as root.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Error};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Parser;
use dut::device::Setting;
use dut::{kernel, routes};
use figures::{Estimate, Rounds};
use host::pace::Calmest;
use host::process::{Signal, end_with_thread, signal};
use host::temporary::Directory;
use report::Table;
use report::units::grouped;
use tester::sizes::Family;
use tester::veth::lanes::{Carried, Lanes, Load, Pace};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of a frame with FCS.
const FRAME_BYTES: u32 = 64;
/// Time for the routers to take the kernel's routes over; nothing is measured before.
const SETTLING: Duration = Duration::from_secs(8);

/// Builds of `corelane run` side by side, and Linux alone.
#[derive(Parser)]
struct Options {
    /// Programs `corelane`; the first is what the others are held against
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    /// The engine of all
    #[arg(long, default_value = "xdp")]
    engine: String,
    /// `rp_filter` of the ports: 0, 1 or 2
    #[arg(long, default_value = "1")]
    sources: String,
    /// Rounds; every program is measured once in each
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Length of a trial in seconds
    #[arg(long, default_value_t = 0.35)]
    seconds: f64,
    /// Forward on so many cores
    #[arg(long, default_value_t = 1)]
    cores: usize,
    /// Of the frames: 4 or 6
    #[arg(long, default_value_t = 4)]
    family: u8,
    /// Send to so many destinations only
    #[arg(long)]
    destinations: Option<usize>,
}

/// A router between its cables.
struct Running {
    name: String,
    // Ended before the interfaces that it uses.
    _router: Option<Router>,
    lanes: Lanes,
    load: Load,
}

/// The process, asked to end when this is dropped.
struct Router(Child);

impl Drop for Router {
    fn drop(&mut self) {
        let _ = signal(self.0.id(), Signal::INT);
        let _ = self.0.wait();
    }
}

fn main() -> ExitCode {
    let measured = host::cleanup::on_signal()
        .map_err(Failure::from)
        .and_then(|()| measure(&Options::parse()));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("builds: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), Failure> {
    let mut routes = routes::load(None, usize::MAX, 1)?;
    let most = options.destinations.unwrap_or(usize::MAX);
    routes.destinations.truncate(most);
    let allowed = host::allowed_cores()?;
    let cores = allowed
        .get(..options.cores)
        .filter(|cores| !cores.is_empty())
        .ok_or_else(|| format!("--cores {}: choose 1 to {}", options.cores, allowed.len()))?;
    let setting = Setting {
        family: match options.family {
            4 => Family::Ipv4,
            6 => Family::Ipv6,
            other => return Err(format!("--family {other}: choose 4 or 6").into()),
        },
        ..Setting::new(cores, &Arc::new(routes), 1)
    };
    let files = Directory::new("builds")?;
    let programs = options.programs.iter().map(|path| Some(path.as_path()));
    let mut running = Vec::new();
    for (number, program) in [None].into_iter().chain(programs).enumerate() {
        let name = format!("build-{number}");
        let files = files.path().join(&name);
        running.push(start(
            program,
            options,
            setting.lanes(&name)?,
            &setting,
            &files,
        )?);
    }
    thread::sleep(SETTLING);

    let mut rounds = Rounds::new(running.len(), 1);
    let trial = Duration::try_from_secs_f64(options.seconds)?;
    let mut calmest = Calmest::default();
    rounds.run(options.rounds.into(), |place| {
        let Running { lanes, load, .. } = &mut running[place];
        let trial = || load.carry(lanes, (FRAME_BYTES, 0..options.cores), Pace::Call, trial);
        let counted = |carried: &Carried| carried.counted.clone();
        let (carried, calm) = calmest.calmly(cores, trial, counted)?;
        let rate = calm.per_second.unwrap_or(carried.frames_per_second);
        Ok::<_, Failure>((rate, calm.slowed))
    })?;
    let title = format!(
        "engine {}, rp_filter {}, {FRAME_BYTES}-byte frames, {}, cores: {}, {} rounds of {} s",
        options.engine,
        options.sources,
        setting.family,
        options.cores,
        options.rounds,
        options.seconds
    );
    let mut table = Table::new(title).text("router").numbers([
        "frames/s",
        "to the first",
        "middle half",
        "to Linux",
        "calm rounds",
    ]);
    for (place, one) in running.iter().enumerate() {
        let own = rounds.judged(place);
        let rate = figures::median(&own.values);
        let to_first = rounds.judged_ratios(place, 1).values;
        let first = Estimate::of(&to_first, 1);
        let [low, high] = [0.25, 0.75].map(|share| figures::quantile(&to_first, share));
        let linux = Estimate::of(&rounds.judged_ratios(place, 0).values, 1);
        table.push([
            one.name.clone(),
            grouped(rate as u64),
            format!("{:.3} ({:.3})", first.value, first.interval),
            format!("{low:.3} to {high:.3}"),
            format!("{:.2} ({:.2})", linux.value, linux.interval),
            format!("{} of {}", own.calm, rounds.count()),
        ]);
    }
    print!("{}", table.to_text());
    Ok(())
}

/// Loads the routes and starts the program, or none.
fn start(
    program: Option<&Path>,
    options: &Options,
    lanes: Lanes,
    setting: &Setting,
    files: &Path,
) -> Result<Running, Failure> {
    for interface in ["all", "in", "out"] {
        let key = format!("net.ipv4.conf.{interface}.rp_filter");
        lanes.dut().set(&key, &options.sources)?;
    }
    kernel::load(lanes.dut(), setting)?;
    let router = program.map(|program| run(program, options, &lanes, files));
    Ok(Running {
        name: program.map_or("Linux alone".to_owned(), |path| path.display().to_string()),
        _router: router.transpose()?,
        lanes,
        load: Load::default(),
    })
}

/// Starts `corelane run` and waits for its ready line.
fn run(program: &Path, options: &Options, lanes: &Lanes, files: &Path) -> Result<Router, Failure> {
    std::fs::create_dir(files)?;
    let log = files.join("log");
    let mut command = lanes.dut().command(program);
    command
        .args(["run", "--metrics=", "--engine", &options.engine])
        .args(["--port", "in", "--port", "out", "--run-directory"])
        .arg(files)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?);
    let mut router = Router(end_with_thread(&mut command).spawn()?);
    let said = router
        .0
        .stdout
        .take()
        .ok_or_else(|| Error::other("no pipe"))?;
    let mut lines = BufReader::new(said).lines();
    let ready = lines.next().transpose()?;
    if ready.is_none_or(|line| line.contains("=none")) {
        let log = std::fs::read_to_string(&log)?;
        return Err(format!("{} did not start: {log}", program.display()).into());
    }
    thread::spawn(move || lines.for_each(drop));
    Ok(router)
}
