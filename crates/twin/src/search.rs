//! The search: configuration after configuration, frames through each, until the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use report::Progress;

use crate::Error;
use crate::capture::Captured;
use crate::case::Case;
use crate::cause::Cause;
use crate::configuration::{self, Mark};
use crate::dice::Dice;
use crate::frame;
use crate::outcome::{Difference, Exception};
use crate::program::Start;
use crate::scene::Scene;
use crate::shrink::shrink;
use crate::twins::{IN_DOUBT, Twins};

/// Frames that go through each configuration: fewer than a veth has room for, 256, so that none
/// is lost on a busy machine.
const FRAMES: u16 = 240;
/// Cases that the same twins run one after the other.
const TOGETHER: u64 = 8;
/// One in so many of these has policy rules, one VRFs where the kernel has them, one iptables.
const MARKED: usize = 12;
/// What configurations are counted by: its name, and a word of its commands.
const KINDS: [(&str, &str); 10] = [
    ("ipsec", "ip xfrm "),
    ("legacy-tables", "tables-legacy "),
    ("mtus", " mtu "),
    ("nftables", "nft add rule "),
    ("rules", " rule add "),
    ("several-ways", " nexthop via "),
    ("tc-filters", "tc filter add "),
    ("tc-programs", "tcx "),
    ("vlans", " type vlan "),
    ("vrfs", " type vrf "),
];
/// Different findings after which a search ends.
const ENOUGH: usize = 8;

/// A difference that nothing excuses, as small as it could be made.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What reproduces it.
    pub case: Case,
    /// What differs.
    pub differences: Vec<Difference>,
}

/// What a search has done.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Configurations.
    pub configurations: u64,
    /// Configurations with what they are counted by.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Pairs of a frame and a configuration that were compared.
    pub pairs: u64,
    /// Pairs whose end differed for good.
    pub different: u64,
    /// Configurations in which something differed in one of two tries, by cause.
    pub once: BTreeMap<Cause, u64>,
    /// What differed so without a cause, some of it.
    pub unexplained: Vec<Finding>,
    /// Pairs that differ as they may, by exception.
    pub excused: BTreeMap<Exception, u64>,
    /// Different ways to differ.
    pub findings: Vec<Finding>,
    /// Frames that the router forwarded itself.
    pub forwarded: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl Summary {
    /// Takes another search's figures in.
    pub fn add(&mut self, other: Self) {
        self.configurations += other.configurations;
        self.pairs += other.pairs;
        self.different += other.different;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        for (cause, count) in other.once {
            *self.once.entry(cause).or_default() += count;
        }
        let room = ENOUGH.saturating_sub(self.unexplained.len());
        self.unexplained
            .extend(other.unexplained.into_iter().take(room));
        for (exception, count) in other.excused {
            *self.excused.entry(exception).or_default() += count;
        }
        self.findings.extend(other.findings);
        self.forwarded += other.forwarded;
        self.elapsed += other.elapsed;
    }
}

/// What a search is to do.
#[derive(Clone, Debug)]
pub struct Order {
    /// Seed of everything random.
    pub seed: u64,
    /// How long to draw cases; shrinking takes its time beyond.
    pub duration: Duration,
    /// Configurations at most.
    pub most: u64,
    /// Twins that work side by side: most of their time they wait for a bed to be quiet.
    pub twins: usize,
    /// Packets of captures that are sent too.
    pub captured: Vec<Captured>,
}

/// What the twins of a search share.
struct Shared {
    /// The next configuration's number.
    next: AtomicU64,
    found: Mutex<Found>,
}

/// What they have found.
struct Found {
    summary: Summary,
    shapes: BTreeSet<String>,
    progress: Progress,
}

/// Draws cases and runs them until one of the order's bounds is reached, or Ctrl-C is pressed.
///
/// # Errors
/// When a bed cannot be laid or configured, or a router does not start.
pub fn search(start: &Start, order: &Order) -> Result<Summary, Error> {
    let shared = Shared {
        next: AtomicU64::new(0),
        found: Mutex::new(Found {
            summary: Summary::default(),
            shapes: BTreeSet::new(),
            progress: Progress::new(0),
        }),
    };
    let begin = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..order.twins.max(1))
            .map(|_| scope.spawn(|| work(start, order, &shared, begin)))
            .collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ends.collect::<Result<Vec<()>, Error>>()
    })?;
    let found = shared.found.into_inner();
    let mut summary = found.unwrap_or_else(PoisonError::into_inner).summary;
    summary.elapsed = begin.elapsed();
    Ok(summary)
}

/// What one pair of twins does of a search.
fn work(start: &Start, order: &Order, shared: &Shared, begin: Instant) -> Result<(), Error> {
    let mut twins = Twins::lay(start.clone())?;
    let (macs, vlans, vrfs) = (
        twins.macs(),
        twins.has("link e0 name probe type vlan id 5"),
        twins.has("name probe type vrf table 10"),
    );
    let found = || shared.found.lock().unwrap_or_else(PoisonError::into_inner);
    let mut frames_before: u16 = 0;
    let mut numbers = 0..0;
    let end = loop {
        let number = numbers.next().unwrap_or_else(|| {
            let first = shared.next.fetch_add(TOGETHER, Ordering::Relaxed);
            numbers = first + 1..first + TOGETHER;
            first
        });
        if number >= order.most
            || host::interrupted()
            || begin.elapsed() >= order.duration
            || found().summary.findings.len() >= ENOUGH
        {
            break Ok(());
        }
        // Whichever twins run it, and whatever ran before: the same.
        let mut dice = Dice::of_stream(order.seed, number);
        // A bed with any of them cannot be used for others, so these come together.
        let mark = match Dice::of_stream(!order.seed, number / TOGETHER).between(0, MARKED) {
            0 => Mark::Rules,
            1 if vrfs => Mark::Vrfs,
            2 => Mark::Tables,
            _ => Mark::None,
        };
        let commands = configuration::draw(&mut dice, mark, vlans);
        let scene = Scene::of(&commands);
        let mut case = Case {
            commands,
            ..Case::default()
        };
        // Whether the kernel would have a host know a better way depends on the way.
        let hosts = if case.has_several_ways() {
            &macs[..1]
        } else {
            &macs[..]
        };
        // Numbers that the last case did not have: its late frames are known by them.
        let numbers = (0..FRAMES).map(|number| frames_before.wrapping_add(number));
        let frames =
            numbers.map(|number| frame::draw(&mut dice, &scene, &order.captured, hosts, number));
        case.frames = frames.collect();
        frames_before = frames_before.wrapping_add(FRAMES);
        // A bed that somebody broke is laid anew, and what was found so far is kept.
        let outcome = run(&mut twins, &case).or_else(|_| {
            twins = Twins::lay(start.clone())?;
            run(&mut twins, &case)
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => break Err(error),
        };
        let mut found = found();
        found.take(outcome);
        let Found {
            summary, progress, ..
        } = &mut *found;
        progress.step(&format!(
            "configurations, {} frames compared, {} different",
            summary.pairs, summary.different
        ));
    };
    found().summary.forwarded += twins.forwarded();
    end
}

impl Found {
    /// Takes a case's figures in; of findings of one shape, the first.
    fn take(&mut self, mut one: Summary) {
        let shapes = &mut self.shapes;
        one.findings
            .retain(|finding| shapes.insert(shape(&finding.case, &finding.differences)));
        self.summary.add(one);
    }
}

/// Runs a case that is there already; what differs is shrunk.
///
/// # Errors
/// When a bed cannot be configured, or the router does not start again.
pub fn replay(twins: &mut Twins, case: &Case) -> Result<Summary, Error> {
    let (begin, before) = (Instant::now(), twins.forwarded());
    let mut summary = run(twins, case)?;
    summary.elapsed = begin.elapsed();
    summary.forwarded = twins.forwarded() - before;
    Ok(summary)
}

fn run(twins: &mut Twins, case: &Case) -> Result<Summary, Error> {
    let compared = twins.compare(case)?;
    let has = |word: &str| case.commands.iter().any(|line| line.contains(word));
    let kinds = KINDS.iter().filter(|(_, word)| has(word));
    let mut summary = Summary {
        configurations: 1,
        kinds: kinds.map(|(kind, _)| (*kind, 1)).collect(),
        pairs: case.frames.len() as u64,
        different: compared.lasting.len() as u64,
        excused: compared.excused,
        once: compared.cause.map(|cause| (cause, 1)).into_iter().collect(),
        ..Summary::default()
    };
    if compared.cause == Some(Cause::Unexplained) {
        summary.unexplained.push(Finding {
            case: case.only(&numbers(&compared.once)),
            differences: compared.once,
        });
    }
    if !compared.lasting.is_empty() {
        let numbers = numbers(&compared.lasting);
        let mut finding = Finding {
            case: case.clone(),
            differences: compared.lasting,
        };
        // On a busy machine a quick look sees differences of a moment and misses others; then it is
        // done slowly. What does not differ alone stays as it is.
        for pause in [Duration::ZERO, IN_DOUBT] {
            let Some(case) = shrink(twins, case, &numbers, pause)? else {
                continue;
            };
            let differences = twins.compare(&case)?.lasting;
            if !differences.is_empty() {
                finding = Finding { case, differences };
                break;
            }
        }
        summary.findings.push(finding);
    }
    Ok(summary)
}

fn numbers(differences: &[Difference]) -> Vec<u16> {
    differences.iter().map(|one| one.number).collect()
}

/// What findings of one cause have in common: their commands and ends without the numbers.
fn shape(case: &Case, differences: &[Difference]) -> String {
    let words = case.commands.join("\n");
    let words = words.replace(|letter: char| letter.is_ascii_hexdigit(), "");
    let ends = differences
        .first()
        .map(|one| (one.kernel.len(), one.router.len()));
    format!("{words}{ends:?}")
}
