//! The budget of a frame: what each step of its way through the router's program costs, in ns.
//!
//! One device stands between its cables with the Internet's table. Its port runs the router's
//! program as it ships, the same without a step or several, or a program that only redirects or
//! drops; which one is exchanged between trials. So all have the same tables at the same places in
//! memory. Programs are compiled from the sources of the one that ships, into a temporary
//! directory. Before anything is measured, each has to bring every frame to the sink, and those
//! that count have to count it. Trials wait for calm cores, and are made again where others slowed
//! them.
//!
//! `make bench-budget`, as root.

mod bed;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bed::{Failure, SEED, fill, lay, open};
use bpf::attach::Request;
use clap::Parser;
use dut::budget::{Budget, Case, Measured, Program, SCHEMA, Step};
use dut::routes::{self, Routes};
use fastpath::forward::Forwarder;
use figures::Rounds;
use host::Environment;
use host::counting::Counting;
use host::pace::Calmest;
use host::temporary::Directory;
use tester::sizes::{FAMILIES, Family};
use tester::veth::lanes::{Carried, Lanes, Load, Pace};

/// Bytes of a frame with FCS, and cores.
const WANTED: (u32, Range<usize>) = (64, 0..1);
/// Compiles one object.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fastpath/bpf/build.sh");
/// How often a trial is tried.
const ATTEMPTS: u32 = 5;
/// One frame in so many may take the kernel's way: one in 65,536 has a checksum that looks
/// unfinished.
const LEFT_TO_KERNEL: u64 = 10_000;

/// What each step of a frame's way costs, by programs that leave it out.
#[derive(Parser)]
struct Options {
    /// Rounds; every program is measured once in each
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Length of a trial in seconds
    #[arg(long, default_value_t = 0.25)]
    seconds: f64,
    /// Only one family: 4 or 6
    #[arg(long, value_parser = clap::value_parser!(u8).range(4..=6))]
    family: Option<u8>,
    /// Only so many destinations, in place of the whole table and of one
    #[arg(long)]
    destinations: Option<usize>,
    /// A file with routes; without, they are generated
    #[arg(long)]
    routes: Option<PathBuf>,
    /// Another object in the place of `forward.bpf.o`, held against the one that ships; any number
    #[arg(long)]
    object: Vec<PathBuf>,
    /// Where the result goes
    #[arg(long, default_value = "budget.json")]
    json: PathBuf,
    /// Print the tables of a result that was written before
    #[arg(long)]
    report: Option<PathBuf>,
}

/// The device between its cables.
struct Bed {
    // Ended before the interfaces that it uses.
    forwarder: Forwarder,
    programs: Vec<(Program, bpf::program::Program)>,
    lanes: Lanes,
    load: Load,
    trial: Duration,
}

/// What came of one trial.
struct Trial {
    nanoseconds: f64,
    sent: u64,
    arrived: u64,
    /// Frames as they were counted.
    counted: Counting,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.report {
        Some(path) => report::json::read(path, SCHEMA).map_err(Failure::from),
        None => host::cleanup::on_signal()
            .map_err(Failure::from)
            .and_then(|()| measure(&options)),
    };
    match done {
        Ok(budget) => {
            for table in budget.tables() {
                println!("{}", table.to_text());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("budget: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<Budget, Failure> {
    let trial = Duration::try_from_secs_f64(options.seconds)?;
    let routes = routes::load(options.routes.as_deref(), usize::MAX, SEED)?;
    let objects = Directory::new("budget")?;
    let mut cases = Vec::new();
    for family in FAMILIES {
        if options
            .family
            .is_some_and(|wanted| (wanted == 4) != (family == Family::Ipv4))
        {
            continue;
        }
        let given = options.destinations.map(|count| vec![count]);
        for destinations in given.unwrap_or_else(|| vec![routes::DESTINATIONS, 1]) {
            let mut bed = Bed::new(family, destinations, &routes, objects.path(), trial)?;
            for object in &options.object {
                bed.add(object)?;
            }
            bed.prove()?;
            eprintln!("{family}, destinations: {destinations}: every program does what it should");
            cases.push(bed.measure(family, destinations, options.rounds)?);
        }
    }
    let budget = Budget {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), SEED),
        frame_bytes: WANTED.0,
        seconds: options.seconds,
        cases,
    };
    report::json::write(&options.json, &budget)?;
    Ok(budget)
}

impl Bed {
    fn new(
        family: Family,
        destinations: usize,
        routes: &Routes,
        objects: &Path,
        trial: Duration,
    ) -> Result<Self, Failure> {
        let core = host::allowed_cores()?[0];
        let name = format!("budget-{family}-{destinations}").to_lowercase();
        let lanes = lay(&name, core, family, destinations, routes)?;
        let mut forwarder = lanes.dut().enter(|| open(&lanes, Request::Native))??;
        fill(&mut forwarder, &lanes, routes)?;
        let mut programs = Vec::new();
        for program in Program::all(family) {
            let port = lanes.ingress().index;
            let loaded = match (&program, program.flags()) {
                (Program::Dropped, _) => lanes.sink_program().clone(),
                (_, None) => forwarder.shipped(port)?,
                (_, Some(flags)) => {
                    let object = compile(&flags, objects)?;
                    let forwarder = &mut forwarder;
                    lanes
                        .dut()
                        .enter(move || forwarder.variant(port, &object))??
                }
            };
            programs.push((program, loaded));
        }
        Ok(Self {
            forwarder,
            programs,
            lanes,
            load: Load::default(),
            trial,
        })
    }

    /// Adds what this object has in the place of the program that ships.
    fn add(&mut self, object: &Path) -> Result<(), Failure> {
        let code = std::fs::read(object).map_err(|error| {
            format!("cannot read {}: {error}; name an object", object.display())
        })?;
        let (forwarder, port) = (&mut self.forwarder, self.lanes.ingress().index);
        let loaded = self
            .lanes
            .dut()
            .enter(move || forwarder.variant(port, &code))??;
        let program = Program::Object(object.display().to_string());
        self.programs.push((program, loaded));
        Ok(())
    }

    /// Has the port run a program, with the programs at tracepoints where it is to have them, and
    /// sends for the length of a trial.
    fn carry(&mut self, place: usize) -> Result<Carried, Failure> {
        let (program, loaded) = &self.programs[place];
        let listens = program.does(Step::Refusals);
        self.forwarder.listen(listens)?;
        if listens && !self.forwarder.is_told_of_refusals() {
            return Err(
                "this kernel does not tell of refused frames; it needs /sys/kernel/btf/vmlinux"
                    .into(),
            );
        }
        self.forwarder
            .exchange(self.lanes.ingress().index, loaded)?;
        Ok(self
            .load
            .carry(&self.lanes, WANTED, Pace::Call, self.trial)?)
    }

    /// A trial; again when the machine was too busy for one frame to arrive while it was counted.
    fn try_until_counted(&mut self, place: usize) -> Result<Trial, Failure> {
        for _ in 0..ATTEMPTS {
            let carried = self.carry(place)?;
            if carried.frames_per_second > 0.0 {
                return Ok(Trial {
                    nanoseconds: 1e9 / carried.frames_per_second,
                    sent: carried.counts.sent,
                    arrived: carried.counts.received,
                    counted: carried.counted,
                });
            }
        }
        Err(format!("nothing arrived in {ATTEMPTS} trials; is the first core taken?").into())
    }

    /// Every frame arrives, whatever the port runs, and is counted by the programs that count and
    /// by no other.
    fn prove(&mut self) -> Result<(), Failure> {
        // Warm: the first frames of a generator are counted elsewhere.
        self.carry(0)?;
        for place in 0..self.programs.len() {
            let before = self.counted();
            let carried = self.carry(place)?;
            let counted = self.counted() - before;
            let counts = &carried.counts;
            let (program, _) = &self.programs[place];
            let expected = if program.does(Step::Counters) {
                counts.sent
            } else {
                0
            };
            let left = expected.abs_diff(counted);
            if counts.sent == 0 || counts.lost > 0 || left > expected / LEFT_TO_KERNEL {
                return Err(format!(
                    "{program:?}: {} frames sent, {} arrived, {counted} counted as forwarded, \
                     where {expected} should be; is another program at the ports?",
                    counts.sent, counts.received
                )
                .into());
            }
        }
        Ok(())
    }

    /// Frames that the port's programs have counted as forwarded.
    fn counted(&self) -> u64 {
        let counters = self.forwarder.port_counters();
        counters.values().map(|port| port.forwarded).sum()
    }

    fn measure(
        mut self,
        family: Family,
        destinations: usize,
        rounds: u16,
    ) -> Result<Case, Failure> {
        let mut trials = Rounds::new(self.programs.len(), SEED);
        let core = host::allowed_cores()?[0];
        let mut calmest = Calmest::default();
        trials.run(rounds.into(), |place| {
            let (mut trial, calm) = calmest.calmly(
                &[core],
                || self.try_until_counted(place),
                |trial| trial.counted.clone(),
            )?;
            if let Some(rate) = calm.per_second {
                trial.nanoseconds = 1e9 / rate;
            }
            Ok::<_, Failure>(trial)
        })?;
        let measured = self
            .programs
            .into_iter()
            .enumerate()
            .map(|(place, (program, _))| Measured {
                program,
                nanoseconds: trials.values(place, |trial| trial.nanoseconds),
                sent: trials.of(place).map(|trial| trial.sent).sum(),
                arrived: trials.of(place).map(|trial| trial.arrived).sum(),
            });
        Ok(Case {
            family,
            destinations,
            programs: measured.collect(),
        })
    }
}

/// The object that these flags give.
fn compile(flags: &[&str], objects: &Path) -> Result<Vec<u8>, Failure> {
    let object = objects.join(format!("ablation{}.o", flags.concat()));
    if !object.exists() {
        let mut command = Command::new(BUILD);
        command
            .args(["--one", "ablation.c"])
            .arg(&object)
            .args(flags);
        if !command.status()?.success() {
            let flags = flags.join(" ");
            return Err(format!("{BUILD} cannot compile ablation.c {flags}; scripts/setup bpf installs what it needs").into());
        }
    }
    Ok(std::fs::read(&object)?)
}
