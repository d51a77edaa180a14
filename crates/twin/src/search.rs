//! The search: configuration after configuration, frames through each, until the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use report::Progress;

use crate::Error;
use crate::case::Case;
use crate::configuration;
use crate::dice::Dice;
use crate::frame;
use crate::outcome::{Difference, Exception};
use crate::scene::Scene;
use crate::shrink::shrink;
use crate::twins::Twins;

/// Frames that go through each configuration.
const FRAMES: usize = 256;
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
    /// Pairs of a frame and a configuration that were compared.
    pub pairs: u64,
    /// Pairs whose end differed for good.
    pub different: u64,
    /// Configurations in which something differed, and not again when it was tried alone.
    pub unsteady: u64,
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
        self.unsteady += other.unsteady;
        for (exception, count) in other.excused {
            *self.excused.entry(exception).or_default() += count;
        }
        self.findings.extend(other.findings);
        self.forwarded += other.forwarded;
        self.elapsed += other.elapsed;
    }
}

/// Draws cases from `seed` and runs them for so long, at most so many, or until Ctrl-C is pressed.
/// What differs is shrunk, which takes its time beyond.
///
/// # Errors
/// When a bed cannot be configured, or the router does not start again.
pub fn search(
    twins: &mut Twins,
    seed: u64,
    duration: Duration,
    most: u64,
) -> Result<Summary, Error> {
    let mut dice = Dice::new(seed);
    let (macs, vlans) = (twins.macs()?, twins.has_vlans());
    let mut summary = Summary::default();
    let mut shapes = BTreeSet::new();
    let mut progress = Progress::new(0);
    let begin = Instant::now();
    let before = twins.forwarded();
    while summary.configurations < most
        && !host::interrupted()
        && begin.elapsed() < duration
        && summary.findings.len() < ENOUGH
    {
        let commands = configuration::draw(&mut dice, vlans);
        let scene = Scene::of(&commands);
        // Numbers that the last case did not have: its late frames are known by them.
        let first = summary.pairs as u16;
        let numbers = (0..FRAMES as u16).map(|number| first.wrapping_add(number));
        let frames = numbers.map(|number| frame::draw(&mut dice, &scene, macs, number));
        let case = Case {
            about: Vec::new(),
            frames: frames.collect(),
            commands,
        };
        run(twins, &case, &mut summary, &mut shapes)?;
        progress.step(&format!(
            "configurations, {} frames compared, {} different",
            summary.pairs, summary.different
        ));
    }
    summary.elapsed = begin.elapsed();
    summary.forwarded = twins.forwarded() - before;
    Ok(summary)
}

/// Runs a case that is there already; what differs is shrunk.
///
/// # Errors
/// As [`search`].
pub fn replay(twins: &mut Twins, case: &Case) -> Result<Summary, Error> {
    let (begin, before) = (Instant::now(), twins.forwarded());
    let mut summary = Summary::default();
    run(twins, case, &mut summary, &mut BTreeSet::new())?;
    summary.elapsed = begin.elapsed();
    summary.forwarded = twins.forwarded() - before;
    Ok(summary)
}

fn run(
    twins: &mut Twins,
    case: &Case,
    summary: &mut Summary,
    shapes: &mut BTreeSet<String>,
) -> Result<(), Error> {
    let (comparison, unsteady) = twins.compare(case)?;
    summary.configurations += 1;
    summary.pairs += case.frames.len() as u64;
    summary.unsteady += u64::from(unsteady);
    for (exception, count) in comparison.excused {
        *summary.excused.entry(exception).or_default() += count;
    }
    if comparison.differences.is_empty() {
        return Ok(());
    }
    let differ = comparison.differences.len() as u64;
    let numbers: Vec<u16> = comparison
        .differences
        .iter()
        .map(|one| one.number)
        .collect();
    let small = shrink(twins, case, &numbers)?;
    let differences = match &small {
        Some(small) => twins.compare(small)?.0.differences,
        None => Vec::new(),
    };
    let (Some(small), false) = (small, differences.is_empty()) else {
        summary.unsteady += 1;
        return Ok(());
    };
    summary.different += differ;
    if shapes.insert(shape(&small, &differences)) {
        summary.findings.push(Finding {
            case: small,
            differences,
        });
    }
    Ok(())
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
