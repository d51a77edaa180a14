//! What the study measures, in which order, and for how long each time.
//!
//! Rounds are interleaved: every round measures every case once, in an order of its own, so that a
//! machine that slows down for a while slows all cases and not one. What is compared with each
//! other is measured one after the other. Between the full rounds lie short ones, of the smallest
//! frames without route changes alone: what they compare, one core and several, is the study's
//! question. Pure: no clock, no machine.

use std::time::Duration;

use dut::case::{Case, FRAME_SIZES, SMALLEST};
use dut::device::Abilities;
use dut::kind::{Kind, Table};
use figures::Random;

use crate::no_loss::SEARCH;
use crate::transfers::plan::Extent;

/// Up to this many cores every number of workers is measured at every frame size; beyond it the
/// numbers between one and all are measured at the smallest size only.
const CORES_IN_FULL: usize = 4;
/// Route changes a second.
pub(crate) const CHANGE_RATES: [u64; 4] = [0, 1_000, 10_000, 100_000];
/// The frame sizes that are searched whatever the time, in this order; the smallest several times.
const SEARCHED: [u32; 2] = [SMALLEST, 1518];
/// Shortest trial: below it the start of the threads shows.
const TRIAL_MIN: Duration = Duration::from_millis(10);
/// Longest trial: more rounds say more than longer ones.
const TRIAL_MAX: Duration = Duration::from_millis(200);

/// Share of the time that is kept for waiting until nobody slows the cores, and for measuring again
/// what others disturbed.
pub(crate) const RESERVE: f64 = 0.4;

/// Share of the time that searches for rates without loss take again.
pub(crate) const SEARCH_SHARE: f64 = 0.6;
/// And transfers between hosts.
pub(crate) const TRANSFER_SHARE: f64 = 0.7;
/// What comes between and behind the measurements on a slow machine: hosts and cables come and go, and
/// pictures are made.
const AROUND: Duration = Duration::from_secs(25);
/// However long preparing takes, so long is measured.
const TIME_MIN: Duration = Duration::from_secs(20);

/// The cases and how they are measured.
pub(crate) struct Plan {
    /// What is measured.
    pub(crate) cases: Vec<Case>,
    /// How often each case is measured.
    pub(crate) rounds: usize,
    /// How often a speed-up with the smallest frames is measured: full rounds and short ones.
    pub(crate) pairs: usize,
    /// Length of one trial.
    pub(crate) trial: Duration,
    /// Time for all rounds, with waiting for calm cores and what is measured again.
    pub(crate) time: Duration,
    seed: u64,
}

/// What a study may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Time to spend measuring; rates without loss take 0.6 of it again, transfers 0.7.
    pub time: Duration,
    /// What comes before and after with it. Where preparing takes long, less is measured.
    pub whole: Duration,
    /// Interleaved rounds of every case.
    pub full: usize,
    /// These and those of the smallest frames alone; at least as many.
    pub all: usize,
    /// The frame sizes that are measured, where an engine takes them.
    pub(crate) sizes: &'static [u32],
    /// The most routes of each family of a generated table: the kernel's own table takes long to
    /// fill.
    pub(crate) routes: usize,
    /// Which transfers between hosts are made, in as many rounds as full ones; those that the answer
    /// is of in as many as all.
    pub(crate) extent: Extent,
    /// How long a trace counts of which a picture is made.
    pub(crate) picture: Duration,
}

impl Effort {
    /// Enough to see an order.
    pub const QUICK: Self = Self {
        time: Duration::from_secs(10),
        whole: Duration::from_mins(1),
        full: 2,
        all: 5,
        sizes: &SEARCHED,
        routes: 100_000,
        extent: Extent::Ordinary,
        picture: Duration::from_millis(200),
    };
    /// Enough for speed-ups with an interval.
    pub const THOROUGH: Self = Self {
        time: Duration::from_secs(56),
        whole: Duration::from_secs(172),
        full: 2,
        all: 11,
        sizes: &FRAME_SIZES,
        routes: usize::MAX,
        extent: Extent::All,
        picture: Duration::from_millis(600),
    };

    /// What is left when preparing took so long.
    pub(crate) fn after(self, prepared: Duration) -> Self {
        let left = self.whole.saturating_sub(prepared + AROUND);
        let shares = 1.0 + SEARCH_SHARE + TRANSFER_SHARE;
        let time = left.div_f64(shares).max(TIME_MIN).min(self.time);
        Self { time, ..self }
    }
}

impl Plan {
    /// Every case of `engines` on 1 to `cores` cores, in rounds that together take about the time
    /// of `effort`.
    pub(crate) fn new(engines: &[Abilities], cores: usize, effort: Effort, seed: u64) -> Self {
        let cases: Vec<Case> = engines
            .iter()
            .flat_map(|engine| cases(engine, cores, effort.sizes))
            .collect();
        let mut plan = Self {
            cases,
            rounds: effort.full,
            pairs: effort.all.max(effort.full),
            trial: TRIAL_MIN,
            time: effort.time,
            seed,
        };
        let orders: Vec<usize> = (0..plan.pairs)
            .flat_map(|round| plan.order(round))
            .collect();
        let overhead = |&index: &usize| {
            let own = |engine: &&Abilities| engine.kinds.contains(&plan.cases[index].kind);
            engines.iter().find(own).map(|engine| engine.overhead)
        };
        let overhead: Duration = orders.iter().filter_map(overhead).sum();
        let time = effort.time.mul_f64(1.0 - RESERVE);
        let trial = time.saturating_sub(overhead) / orders.len().max(1) as u32;
        plan.trial = trial.clamp(TRIAL_MIN, TRIAL_MAX);
        plan
    }

    /// Whether every case is measured in this round, of [`Plan::pairs`] counted from 0. The full
    /// ones are spread evenly.
    pub(crate) fn is_full(&self, round: usize) -> bool {
        let until = |round: usize| round * self.rounds / self.pairs.max(1);
        until(round + 1) > until(round)
    }

    /// The positions of the cases of one round, in its order: frame sizes in random order, for
    /// frames are made anew when the size changes; within a size engines with their tables in
    /// random order; and one after the other, for they are compared with each other, the
    /// numbers of workers of one of these, one and all of them neighbours, and the rates of route
    /// changes.
    pub(crate) fn order(&self, round: usize) -> Vec<usize> {
        self.groups(round).concat()
    }

    /// The same, apart where nothing is compared with each other: what others disturb is measured
    /// again behind what it is compared with.
    pub(crate) fn groups(&self, round: usize) -> Vec<Vec<usize>> {
        let mut random = Random::new(self.seed.wrapping_add(round as u64));
        let mut sizes = FRAME_SIZES;
        random.shuffle(&mut sizes);
        let full = self.is_full(round);
        let mut order = Vec::new();
        for size in sizes {
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for (index, case) in self.cases.iter().enumerate() {
                let wanted = (full || is_pair(case)) && self.is_due(case, round);
                if case.frame_bytes != size || !wanted {
                    continue;
                }
                let own = |group: &&mut Vec<usize>| self.cases[group[0]].kind == case.kind;
                match groups.iter_mut().find(own) {
                    Some(group) => group.push(index),
                    None => groups.push(vec![index]),
                }
            }
            random.shuffle(&mut groups);
            let groups = groups.into_iter();
            order.extend(groups.map(|group| self.arranged(group, &mut random)));
        }
        order
    }

    /// Whether calm cores are waited for, and disturbed trials made again, of such a group: the answer is
    /// of what is measured in every round.
    pub(crate) fn is_calm(&self, group: &[usize]) -> bool {
        group.iter().any(|&index| is_pair(&self.cases[index]))
    }

    /// Whether it is the turn of a case's core: up to [`CORES_IN_FULL`] cores are measured alone in
    /// every round, of more as many in each, in turn.
    fn is_due(&self, case: &Case, round: usize) -> bool {
        let most = self.most_workers();
        let begin = round * CORES_IN_FULL;
        let turns = (begin..begin + CORES_IN_FULL).any(|turn| turn % most == case.first);
        case.workers > 1 || most <= CORES_IN_FULL || turns
    }

    /// Route changes, all workers, one worker, the numbers between: or the other way round.
    fn arranged(&self, group: Vec<usize>, random: &mut Random) -> Vec<usize> {
        let most = group.iter().map(|&index| self.cases[index].workers).max();
        let mut parts: [Vec<usize>; 4] = Default::default();
        for index in group {
            let case = &self.cases[index];
            let part = match (case.changes, case.workers) {
                (1.., _) => 0,
                (0, workers) if Some(workers) == most => 1,
                (0, 1) => 2,
                (0, _) => 3,
            };
            parts[part].push(index);
        }
        for part in &mut parts {
            random.shuffle(part);
        }
        let mut arranged = parts.concat();
        if random.below(2) == 1 {
            arranged.reverse();
        }
        arranged
    }

    /// The positions of the cases whose rate without loss is searched for, on all cores, most
    /// telling first: the smallest frames, the largest; all others too where `time` is long enough
    /// for them.
    pub(crate) fn searches(&self, engines: &[Abilities], time: Duration) -> Vec<usize> {
        let searched = |case: &Case| {
            let same = self.cases.iter().filter(|other| other.kind == case.kind);
            let counts = same.map(|other| other.workers).max() == Some(case.workers);
            let counts = counts && case.first == 0;
            let own = |engine: &Abilities| engine.kinds.contains(&case.kind) && engine.searched;
            case.changes == 0 && counts && engines.iter().any(own)
        };
        let of = |sizes: &[u32]| -> Vec<usize> {
            let each = sizes.iter().flat_map(|&size| {
                let own = move |index: &usize| self.cases[*index].frame_bytes == size;
                (0..self.cases.len()).filter(own)
            });
            each.filter(|&index| searched(&self.cases[index])).collect()
        };
        let some = of(&SEARCHED);
        let others = FRAME_SIZES.iter().copied();
        let others: Vec<u32> = others.filter(|size| !SEARCHED.contains(size)).collect();
        let others = of(&others);
        if SEARCH * (some.len() + others.len()) as u32 <= time {
            [some, others].concat()
        } else {
            some
        }
    }

    /// The largest number of workers.
    pub(crate) fn most_workers(&self) -> usize {
        let workers = self.cases.iter().map(|case| case.workers);
        workers.max().unwrap_or(1)
    }

    /// Number of measurements in all rounds.
    pub(crate) fn measurements(&self) -> usize {
        (0..self.pairs).map(|round| self.order(round).len()).sum()
    }
}

/// What is measured in short rounds too.
fn is_pair(case: &Case) -> bool {
    case.frame_bytes == SMALLEST && case.changes == 0
}

/// What stands beside the lock to tell its price apart: with the smallest frames alone, at which it
/// shows most.
fn is_for_the_lock(kind: Kind) -> bool {
    matches!(kind.table(), Table::OneByOne | Table::LockedPerCore)
}

/// The cases of one engine, of the frame sizes that are wanted.
fn cases(engine: &Abilities, cores: usize, wanted: &[u32]) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |kind, first, workers, frame_bytes, changes| {
        cases.push(Case {
            kind,
            first,
            workers,
            frame_bytes,
            changes,
        });
    };
    for &kind in &engine.kinds {
        let most = cores.min(engine.most_workers);
        // One core is each in turn, for cores differ.
        let singles = (0..most).map(|first| (first, 1));
        for (first, workers) in singles.chain((2..=most).map(|workers| (0, workers))) {
            let every_size = (cores <= CORES_IN_FULL || workers == 1 || workers == cores)
                && !is_for_the_lock(kind);
            let sizes = if every_size {
                engine.sizes
            } else {
                &[SMALLEST][..]
            };
            for &frame_bytes in sizes.iter().filter(|size| wanted.contains(size)) {
                add(kind, first, workers, frame_bytes, 0);
            }
        }
        if engine.takes_changes && !is_for_the_lock(kind) {
            for changes in CHANGE_RATES.into_iter().filter(|&rate| rate > 0) {
                add(kind, 0, most, SMALLEST, changes);
            }
        }
    }
    cases
}

#[cfg(test)]
#[path = "../tests/unit/plan.rs"]
mod tests;
