//! What the study measures, in which order, and for how long each time.
//!
//! Rounds are interleaved: every round measures every case once, in an order of its own, so that a machine that slows down for
//! a while slows all cases and not one. Pure: no clock, no machine.

use std::time::Duration;

use scaling::random::Random;

use super::case::{Case, FRAME_SIZES, SMALLEST};
use super::engine::Abilities;

/// Up to this many cores every number of workers is measured at every frame size; beyond it the numbers between one and all
/// are measured at the smallest size only.
const CORES_IN_FULL: usize = 4;
/// Route changes a second.
pub(crate) const CHANGE_RATES: [u64; 4] = [0, 1_000, 10_000, 100_000];
/// Shortest trial: below it the start of the threads shows.
const TRIAL_MIN: Duration = Duration::from_millis(10);
/// Longest trial: more rounds say more than longer ones.
const TRIAL_MAX: Duration = Duration::from_millis(200);

/// The cases and how they are measured.
pub(crate) struct Plan {
    /// What is measured.
    pub(crate) cases: Vec<Case>,
    /// How often each case is measured.
    pub(crate) rounds: usize,
    /// Length of one trial.
    pub(crate) trial: Duration,
    seed: u64,
}

impl Plan {
    /// Every case of `engines` on 1 to `cores` cores, in `rounds` rounds that together take about `time`.
    pub(crate) fn new(
        engines: &[Abilities],
        cores: usize,
        rounds: usize,
        time: Duration,
        seed: u64,
    ) -> Self {
        let cases: Vec<Case> = engines
            .iter()
            .flat_map(|engine| cases(engine, cores))
            .collect();
        let overhead: Duration = engines
            .iter()
            .map(|engine| {
                let own = cases.iter().filter(|case| case.engine == engine.name);
                engine.overhead * (own.count() * rounds) as u32
            })
            .sum();
        let trial = time.saturating_sub(overhead) / (cases.len() * rounds).max(1) as u32;
        Self {
            cases,
            rounds,
            trial: trial.clamp(TRIAL_MIN, TRIAL_MAX),
            seed,
        }
    }

    /// The positions of the cases of one round, in its order: frame sizes in random order, for frames are made anew when the size
    /// changes; within a size engines with their tables and workers in random order; and one after the other, in random order too,
    /// the rates of route changes of one of these, for they are compared with each other.
    pub(crate) fn order(&self, round: usize) -> Vec<usize> {
        let mut random = Random::new(self.seed.wrapping_add(round as u64));
        let mut sizes = FRAME_SIZES;
        random.shuffle(&mut sizes);
        let mut order = Vec::with_capacity(self.cases.len());
        for size in sizes {
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for index in (0..self.cases.len()).filter(|&at| self.cases[at].frame_bytes == size) {
                let case = &self.cases[index];
                match groups
                    .iter_mut()
                    .find(|group| self.cases[group[0]].differs_in_changes_only(case))
                {
                    Some(group) => group.push(index),
                    None => groups.push(vec![index]),
                }
            }
            random.shuffle(&mut groups);
            for group in &mut groups {
                random.shuffle(group);
                order.append(group);
            }
        }
        order
    }

    /// Number of measurements in all rounds.
    pub(crate) fn measurements(&self) -> usize {
        self.cases.len() * self.rounds
    }
}

/// The cases of one engine.
fn cases(engine: &Abilities, cores: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for &table in engine.tables {
        for workers in 1..=cores.min(engine.most_workers) {
            let every_size = cores <= CORES_IN_FULL || workers == 1 || workers == cores;
            let sizes = if every_size {
                engine.sizes
            } else {
                &[SMALLEST][..]
            };
            for &frame_bytes in sizes {
                cases.push(Case {
                    engine: engine.name,
                    table,
                    workers,
                    frame_bytes,
                    changes: 0,
                });
            }
        }
        if engine.takes_changes {
            let workers = cores.min(engine.most_workers);
            for changes in CHANGE_RATES.into_iter().filter(|&rate| rate > 0) {
                cases.push(Case {
                    engine: engine.name,
                    table,
                    workers,
                    frame_bytes: SMALLEST,
                    changes,
                });
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::super::case::Table;
    use super::*;

    const MEMORY: Abilities = Abilities {
        name: "memory",
        tables: &[Table::Locked, Table::PerCore],
        sizes: &FRAME_SIZES,
        most_workers: usize::MAX,
        takes_changes: true,
        overhead: Duration::from_millis(5),
    };

    fn plan(cores: usize, seconds: u64) -> Plan {
        Plan::new(&[MEMORY], cores, 3, Duration::from_secs(seconds), 1)
    }

    #[test]
    fn every_table_worker_and_size_is_there_once() {
        let plan = plan(2, 10);
        assert_eq!(plan.cases.len(), 2 * (2 * 8 + 3));
        for (index, case) in plan.cases.iter().enumerate() {
            assert!(!plan.cases[..index].contains(case), "{case} twice");
        }
    }

    #[test]
    fn many_cores_are_swept_at_the_smallest_size() {
        let plan = plan(64, 10);
        assert_eq!(plan.cases.len(), 2 * (62 + 2 * 8 + 3));
        assert!(
            plan.cases
                .iter()
                .any(|case| case.workers == 33 && case.frame_bytes == 64)
        );
    }

    #[test]
    fn a_round_is_a_permutation_and_rounds_differ() {
        let plan = plan(2, 10);
        let mut first = plan.order(0);
        assert_ne!(first, plan.order(1));
        assert_eq!(first, plan.order(0), "same seed, same order");
        first.sort_unstable();
        assert_eq!(first, (0..plan.cases.len()).collect::<Vec<_>>());
    }

    #[test]
    fn trials_share_the_time_within_bounds() {
        assert_eq!(plan(2, 0).trial, TRIAL_MIN);
        assert_eq!(plan(2, 1_000).trial, TRIAL_MAX);
        let plan = plan(2, 10);
        let total = (plan.trial + MEMORY.overhead) * plan.measurements() as u32;
        assert!(total <= Duration::from_secs(10) && total > Duration::from_secs(9));
    }

    #[test]
    fn rates_of_route_changes_are_measured_next_to_each_other() {
        let plan = plan(2, 10);
        for round in 0..3 {
            let order = plan.order(round);
            let place = |wanted: &Case| {
                order
                    .iter()
                    .position(|&index| plan.cases[index] == *wanted)
                    .unwrap()
            };
            for table in [Table::Locked, Table::PerCore] {
                let places = CHANGE_RATES.map(|changes| {
                    place(&Case {
                        engine: "memory",
                        table,
                        workers: 2,
                        frame_bytes: SMALLEST,
                        changes,
                    })
                });
                let (first, last) = (places.iter().min().unwrap(), places.iter().max().unwrap());
                assert_eq!(last - first, CHANGE_RATES.len() - 1, "round {round}");
            }
        }
    }

    #[test]
    fn an_engine_with_one_worker_is_measured_with_one() {
        let single = Abilities {
            most_workers: 1,
            takes_changes: false,
            ..MEMORY
        };
        let plan = Plan::new(&[single], 4, 1, Duration::from_secs(1), 1);
        assert!(plan.cases.iter().all(|case| case.workers == 1));
    }
}
