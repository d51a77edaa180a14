//! Throughput by cores (`--cores`): the device of the study, on one core and on several, in
//! interleaved rounds.
//!
//! The study's devices have a lane for each core: a queue of each cable, its interrupt, a generator
//! and a sink. There is no core apart for the generator: where all cores forward, none is left. So
//! it shares the cores everywhere, and what it does alone is measured on the same cores.

use std::time::Duration;

use dut::bare::Bare;
use dut::case::Case;
use dut::device::{Device, Setting};
use dut::kind::Kind;
use dut::offer::Wanted;
use dut::routes;
use figures::Rounds;
use host::cores::write_list;
use host::{CoreId, Environment, Topology};
use report::Progress;
use tester::bench::Subject;
use tester::by_cores;
use tester::honest::Grade;
use tester::profile::Profile;
use tester::result::{Entry, Report, SCHEMA, Test};
use tester::trial::Direction;

use super::items::Item;
use super::measure::Measured;
use super::options::{Dut, Options};
use super::plan::Plan;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Rounds, unless --repeats says otherwise: fewer would make no interval.
const ROUNDS: u32 = 5;
/// A search begins this far above what comes through in a closed loop.
const ABOVE: f64 = 1.3;

/// Measures the throughput of the plan's sizes on so many cores.
///
/// # Errors
/// Nothing could be set up. What fails later is in what is returned, beside all that was measured
/// before.
pub(super) fn run(plan: &Plan, options: &Options, counts: &[usize]) -> Result<Measured, Error> {
    let kind = kind(options)?;
    let mut cores = Topology::read().physical_first(&host::allowed_cores()?);
    cores.truncate(counts.iter().copied().max().unwrap_or(1));
    let profile = Profile {
        // Nothing between the generators and the sink holds frames for long.
        look_seconds: 0.0,
        ..plan.profile
    };
    let mut report = report(plan, options, kind, &cores, profile);
    let seed = options.output.seed;
    let routes = routes::of_benchmarks(options.destinations, seed)?;
    let mut setting = Setting::new(&cores, &routes.into(), seed);
    setting.family = plan.family;
    if plan.direction == Direction::BothWays {
        setting.back = Some(routes::of_benchmarks_back(options.destinations, seed)?.into());
    }
    let mut bench = Bench {
        kind,
        device: dut::open::open(kind, &setting)?,
        bare: Bare::open(&setting)?,
        places: places(counts),
        cores,
        senders: plan.direction.streams(2).len(),
        profile,
        rounds: options.repeats.unwrap_or(ROUNDS),
        seed,
    };
    let mut progress = Progress::new(plan.items.len());
    let mut failure = None;
    for item in &plan.items {
        progress.step(&format!("throughput by cores: {}", item.label));
        let say = |words: &str| progress.note(&format!("{}: {words}", item.label));
        if let Err(error) = bench.size(item, &mut report.results, say) {
            failure = Some(error);
            break;
        }
    }
    if host::interrupted() {
        report.stopped = Some("interrupted".to_owned());
        failure = None;
    } else if let Some(error) = &failure {
        report.stopped = Some(error.to_string());
    }
    Ok(Measured { report, failure })
}

/// What is measured.
fn kind(options: &Options) -> Result<Kind, Error> {
    if !host::process::is_root() {
        return Err("--cores needs root, to make network namespaces: run it with sudo".into());
    }
    if options.dut == Dut::Kernel {
        return Ok(Kind::Kernel);
    }
    let routers = Kind::ALL.into_iter();
    let mut routers = routers.filter(|kind| matches!(kind, Kind::Router(_)));
    let found = routers.clone().find(|kind| kind.engine() == options.engine);
    found.ok_or_else(|| {
        let names: Vec<&str> = routers.by_ref().map(Kind::engine).collect();
        let (engine, names) = (&options.engine, names.join(", "));
        format!("--engine {engine}: there is no such engine; the engines are: {names}").into()
    })
}

/// The first core of each measurement and how many there are: each alone, where one is asked for,
/// and the first of them together.
fn places(counts: &[usize]) -> Vec<(usize, usize)> {
    let most = counts.iter().copied().max().unwrap_or(1);
    let of = |&count: &usize| match count {
        1 => (0..most).map(|first| (first, 1)).collect(),
        count => vec![(0, count)],
    };
    counts.iter().flat_map(of).collect()
}

fn report(
    plan: &Plan,
    options: &Options,
    kind: Kind,
    cores: &[CoreId],
    profile: Profile,
) -> Report {
    let fact = |name: &str, words: String| (name.to_owned(), words);
    let device = match kind {
        Kind::Kernel => "Linux's own forwarding".to_owned(),
        _ => format!("our router's engine {}", kind.engine()),
    };
    let shared = "generator, device and sink share every core: each makes, forwards and counts its \
                  own frames, on one core as on all";
    let mut deviations = tester::deviations::of(&profile, &plan.traffic);
    deviations.push(
        "rates by cores are kept within 0.1 %, and what leaves later than that counts as lost, for \
         the generator shares its core with the device"
            .to_owned(),
    );
    Report {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), options.output.seed),
        setup: vec![
            fact("Device", device),
            fact("Cores", format!("{}: {shared}", write_list(cores))),
        ],
        family: plan.family,
        direction: plan.direction,
        destinations: options.destinations,
        profile,
        deviations,
        results: Vec::new(),
        stopped: None,
    }
}

/// A device, and no device, on the same cores.
struct Bench {
    kind: Kind,
    device: Box<dyn Device>,
    bare: Bare,
    /// The first core of each measurement and how many there are.
    places: Vec<(usize, usize)>,
    cores: Vec<CoreId>,
    /// How many ends send, each at the rate that is found.
    senders: usize,
    profile: Profile,
    rounds: u32,
    seed: u64,
}

impl Bench {
    /// One size on all the places: what the generators do alone, then the rounds. What was searched
    /// before an error makes rows too.
    fn size(
        &mut self,
        item: &Item,
        results: &mut Vec<Entry>,
        mut say: impl FnMut(&str),
    ) -> Result<(), Error> {
        let bytes = item.sizes.first().map_or(0, |size| u32::from(size.bytes()));
        let mut limits = Vec::new();
        for place in self.places.clone() {
            say(&format!("the generators of {}", self.named(place)));
            let entry = self.selftest(item, place, bytes)?;
            limits.push(entry.frames_per_second);
            results.push(entry);
        }
        let mut searched: Rounds<Entry> = Rounds::new(self.places.len(), self.seed);
        let mut rounds = 0;
        let outcome = searched.run(self.rounds as usize, |place| {
            host::cleanup::check()?;
            let (round, of) = (rounds / self.places.len() + 1, self.rounds);
            rounds += 1;
            let words = self.named(self.places[place]);
            say(&format!("round {round} of {of}: {words}"));
            self.search(item, place, bytes, limits[place])
        });
        for (place, limit) in limits.iter().enumerate() {
            let entries: Vec<Entry> = searched.of(place).cloned().collect();
            let cores = self.numbers(self.places[place]);
            results.extend(by_cores::row(
                &item.label,
                &cores,
                *limit,
                entries,
                self.seed,
            ));
        }
        outcome
    }

    /// How long a closed loop is measured.
    fn trial(&self) -> Duration {
        Duration::from_secs_f64(self.profile.search_seconds)
    }

    /// The numbers of some cores.
    fn numbers(&self, (first, count): (usize, usize)) -> Vec<u32> {
        let cores = self.cores.iter().skip(first).take(count);
        cores.map(|core| core.0).collect()
    }

    /// Some cores in words.
    fn named(&self, place: (usize, usize)) -> String {
        let numbers = self.numbers(place);
        let names: Vec<String> = numbers.iter().map(u32::to_string).collect();
        format!("core {}", names.join(" and "))
    }

    /// The most that the generators of some cores bring to a sink without a device between them.
    fn selftest(
        &mut self,
        item: &Item,
        (first, count): (usize, usize),
        bytes: u32,
    ) -> Result<Entry, Error> {
        host::cleanup::check()?;
        let cores = first..first + count;
        let most = self.bare.measure(cores.clone(), bytes, self.trial())?.0 / self.senders as f64;
        let wanted = Wanted {
            ceiling: ABOVE * most,
            subject: Subject {
                label: by_cores::label(&item.label, &self.numbers((first, count))),
                selftest: None,
            },
            profile: self.profile,
            until: None,
        };
        let entry = self.bare.search(cores, bytes, &wanted)?;
        // A search that others disturbed is no limit of the tester.
        let entry = by_cores::beside_closed_loop(entry, most);
        let (verdict, because) = match entry.frames_per_second {
            Some(_) => (
                Grade::Clean,
                "the highest rate without loss and without a device, on the same cores".to_owned(),
            ),
            None => (Grade::Invalid, entry.because),
        };
        Ok(Entry {
            test: Test::Selftest,
            selftest_frames_per_second: entry.frames_per_second,
            verdict,
            because,
            ..entry
        })
    }

    /// One search of the device.
    fn search(
        &mut self,
        item: &Item,
        place: usize,
        bytes: u32,
        limit: Option<f64>,
    ) -> Result<Entry, Error> {
        let (first, workers) = self.places[place];
        let case = Case {
            kind: self.kind,
            first,
            workers,
            frame_bytes: bytes,
            changes: 0,
        };
        // Far above what a device takes nothing comes through that says where to look next.
        let most = self.device.measure(&case, self.trial())?.frames_per_second;
        let most = most / self.senders as f64;
        let ceiling = if most > 0.0 {
            ABOVE * most
        } else {
            limit.unwrap_or(ABOVE)
        };
        let wanted = Wanted {
            ceiling,
            subject: Subject {
                label: item.label.clone(),
                selftest: limit,
            },
            profile: self.profile,
            until: None,
        };
        let entry = self.device.search(&case, &wanted)?;
        match &entry.stopped {
            Some(reason) if !host::interrupted() => Err(reason.as_str().into()),
            _ => Ok(by_cores::beside_closed_loop(entry, most)),
        }
    }
}
