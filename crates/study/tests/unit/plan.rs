//! Of `study/src/plan.rs`.

use dut::kind::Kind;
use fib::TableOrganisation;

use super::*;

const TABLES: [Kind; 2] = [
    Kind::Memory(Some(TableOrganisation::Locked)),
    Kind::Memory(Some(TableOrganisation::PerCore)),
];

fn memory() -> Abilities {
    Abilities {
        kinds: TABLES.to_vec(),
        sizes: &FRAME_SIZES,
        most_workers: usize::MAX,
        takes_changes: true,
        searched: true,
        overhead: Duration::from_millis(5),
    }
}

#[test]
fn where_preparing_takes_long_less_is_measured() {
    let after = |seconds| Effort::THOROUGH.after(Duration::from_secs(seconds)).time;
    let whole = Effort::THOROUGH.time;
    assert_eq!((after(0), after(15)), (whole, whole));
    let late = after(40);
    assert!(late < whole && late > whole / 2, "{late:?}");
    // What is left is shared with searches and transfers.
    assert_eq!(late, Duration::from_secs(172 - 25 - 40).div_f64(2.3));
    assert_eq!(after(1000), TIME_MIN);
    let asked = Effort {
        time: Duration::from_mins(5),
        whole: Duration::MAX,
        ..Effort::THOROUGH
    };
    assert_eq!(asked.after(Duration::from_mins(1)), asked);
}

fn three(seconds: u64) -> Effort {
    Effort {
        time: Duration::from_secs(seconds),
        full: 3,
        all: 3,
        ..Effort::THOROUGH
    }
}

fn plan(cores: usize, seconds: u64) -> Plan {
    Plan::new(&[memory()], cores, three(seconds), 1)
}

#[test]
fn every_table_worker_and_size_is_there_once() {
    let plan = plan(2, 10);
    assert_eq!(plan.cases.len(), 2 * (3 * 8 + 3));
    let alone = plan.cases.iter().filter(|case| case.workers == 1);
    let first: usize = alone.map(|case| case.first).sum();
    assert_eq!(first, 2 * 8, "each of the two cores alone");
    for (index, case) in plan.cases.iter().enumerate() {
        assert!(!plan.cases[..index].contains(case), "{case} twice");
    }
}

#[test]
fn many_cores_are_swept_at_the_smallest_size() {
    let plan = plan(64, 10);
    assert_eq!(plan.cases.len(), 2 * (62 + 64 * 8 + 8 + 3));
    for round in 0..3 {
        let order = plan.order(round);
        assert_eq!(order.len(), 2 * (62 + 4 * 8 + 8 + 3), "four cores alone");
        let cases = order.iter().map(|&index| &plan.cases[index]);
        let alone = cases.filter(|case| case.workers == 1 && case.frame_bytes == 64);
        let mut cores: Vec<usize> = alone.map(|case| case.first).collect();
        cores.sort_unstable();
        cores.dedup();
        assert_eq!(cores, (4 * round..4 * round + 4).collect::<Vec<_>>());
    }
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
    let total = (plan.trial + memory().overhead) * plan.measurements() as u32;
    let planned = Duration::from_secs(10).mul_f64(1.0 - RESERVE);
    assert!(total <= planned && total > planned.mul_f64(0.9));
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
        for kind in TABLES {
            let places = CHANGE_RATES.map(|changes| {
                place(&Case {
                    kind,
                    first: 0,
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
fn one_and_all_workers_are_neighbours_in_every_round_and_short_rounds_have_them_alone() {
    let seven = Effort {
        all: 7,
        ..three(10)
    };
    let plan = Plan::new(&[memory()], 3, seven, 1);
    let full: Vec<bool> = (0..7).map(|round| plan.is_full(round)).collect();
    assert_eq!(full.iter().filter(|&&full| full).count(), 3);
    let mut measured = 0;
    for (round, full) in full.into_iter().enumerate() {
        let order = plan.order(round);
        measured += order.len();
        assert_eq!(order.len(), if full { plan.cases.len() } else { 2 * 5 });
        for kind in TABLES {
            let places = |wanted: usize| -> Vec<usize> {
                let own = |&place: &usize| {
                    let case = &plan.cases[order[place]];
                    is_pair(case) && case.kind == kind && case.workers == wanted
                };
                (0..order.len()).filter(own).collect()
            };
            let (ones, all) = (places(1), places(3));
            assert_eq!((ones.len(), all.len()), (3, 1));
            let apart = ones.iter().map(|one| one.abs_diff(all[0]));
            assert_eq!(apart.max(), Some(3), "round {round}, {kind:?}");
        }
    }
    assert_eq!(plan.measurements(), measured);
}

#[test]
fn searches_begin_with_the_telling_sizes_and_take_all_when_there_is_time() {
    let plan = plan(2, 10);
    let sizes = |seconds| -> Vec<u32> {
        let found = plan.searches(&[memory()], Duration::from_secs(seconds));
        found
            .iter()
            .map(|&index| plan.cases[index].frame_bytes)
            .collect()
    };
    assert_eq!(sizes(0), [64, 64, 1518, 1518], "all cores, each table");
    assert_eq!(sizes(100).len(), 2 * FRAME_SIZES.len());
    let unsearched = Abilities {
        searched: false,
        ..memory()
    };
    assert!(
        plan.searches(&[unsearched], Duration::from_secs(100))
            .is_empty()
    );
}

#[test]
fn an_engine_with_one_worker_is_measured_with_one() {
    let single = Abilities {
        most_workers: 1,
        takes_changes: false,
        ..memory()
    };
    let plan = Plan::new(&[single], 4, three(1), 1);
    assert!(
        plan.cases
            .iter()
            .all(|case| (case.first, case.workers) == (0, 1))
    );
}

/// As root with every engine on two cores. What is not planned here is opening them with the
/// Internet's routes, and the pictures.
#[test]
fn a_whole_study_is_planned_within_three_minutes() {
    const BESIDE: Duration = Duration::from_secs(40);
    let between = |kind: Kind| Abilities {
        kinds: vec![kind],
        takes_changes: false,
        overhead: Duration::from_millis(60),
        ..memory()
    };
    let (networked, own): (Vec<Kind>, Vec<Kind>) =
        Kind::ALL.into_iter().partition(|kind| kind.needs_root());
    let memory = Abilities {
        kinds: own,
        overhead: Duration::from_millis(30),
        searched: false,
        ..memory()
    };
    let mut engines = vec![memory];
    engines.extend(networked.into_iter().map(between));
    let effort = Effort::THOROUGH;
    let plan = Plan::new(&engines, 2, effort, 1);
    let overhead: Duration = (0..plan.pairs)
        .flat_map(|round| plan.order(round))
        .map(|index| engines[usize::from(plan.cases[index].kind.needs_root())].overhead)
        .sum();
    let rounds = overhead + plan.trial * plan.measurements() as u32;
    assert!(rounds <= effort.time, "{rounds:?}");
    let shares = 1.0 + SEARCH_SHARE + TRANSFER_SHARE;
    let whole = effort.time.mul_f64(shares) + BESIDE;
    assert!(whole <= Duration::from_mins(3), "{whole:?}");
}

#[test]
fn a_quick_study_measures_the_ends_of_the_frame_sizes() {
    let plan = Plan::new(&[memory()], 2, Effort::QUICK, 1);
    assert!(
        plan.cases
            .iter()
            .all(|case| SEARCHED.contains(&case.frame_bytes))
    );
    for size in SEARCHED {
        assert!(
            plan.cases.iter().any(|case| case.frame_bytes == size),
            "{size}"
        );
    }
}
