//! Of `study/src/evidence.rs`.

use fib::TableOrganisation;
use figures::Random;
use host::Noise;
use host::pace::Calm;

use super::*;

fn case(kind: Kind, changes: u64) -> Case {
    Case {
        kind,
        first: 0,
        workers: 2,
        frame_bytes: 64,
        changes,
    }
}

const MEMORY: Kind = Kind::Memory(Some(TableOrganisation::Shared));

#[test]
fn steal_disturbs_and_so_does_who_has_the_cores_where_threads_of_ours_work_all_the_time() {
    let seen = |steal, missed, slowed| Seen {
        noise: Noise {
            steal,
            // So many on a silent machine, and beside another program.
            involuntary_switches: 30,
            ..Noise::default()
        },
        calm: Calm {
            slowed,
            per_second: None,
            missed,
        },
    };
    let disturbed = |kind, changes, seen| is_disturbed(&case(kind, changes), &seen);
    assert!(disturbed(MEMORY, 1_000, seen(0.05, 0.0, false)));
    assert!(disturbed(MEMORY, 1_000, seen(0.0, 0.0, true)));
    assert!(disturbed(MEMORY, 0, seen(0.0, 0.47, false)));
    assert!(!disturbed(MEMORY, 0, seen(0.0005, 0.05, false)));
    assert!(!disturbed(MEMORY, 1_000, seen(0.0, 0.5, false)));
    let packet = Kind::Router(EngineKind::AfPacket);
    assert!(!disturbed(packet, 0, seen(0.0, 0.5, false)));
}

/// What was disturbed on either side disturbs the ratio.
#[test]
fn ratios_are_of_a_round_with_its_disturbances() {
    let mut rounds = Rounds::new(3, 1);
    let table = [
        [(1.0, false), (3.0, false), (4.0, false)],
        [(1.0, false), (3.0, true), (6.0, false)],
        [(0.0, false), (3.0, false), (4.0, false)],
    ];
    for row in table {
        let sample = |place: usize| Measured {
            frames_per_second: row[place].0,
            changes_per_second: 0.0,
            disturbed: row[place].1,
        };
        let measured: Result<(), ()> = rounds.round_in(0..3, |place| Ok(sample(place)));
        assert_eq!(measured, Ok(()));
    }
    assert_eq!(
        ratios(&rounds, &[2], &[0, 1]),
        [(2.0, false), (3.0, true)],
        "the round in which a core forwarded nothing has no ratio"
    );
}

/// What attempts at two cases give, one after the other: rates, and whether they were disturbed; there
/// is time for so many more than the first.
fn attempts(attempts: &[&[(usize, f64, bool)]], mut more: usize) -> Vec<f64> {
    let mut left = attempts.iter();
    let attempt = |of: &[usize]| -> Result<Vec<(usize, Measured)>, ()> {
        let one = left.next().ok_or(())?;
        assert!(one.iter().map(|&(index, ..)| index).eq(of.iter().copied()));
        let measured = one.iter().map(|&(index, frames_per_second, disturbed)| {
            let measured = Measured {
                frames_per_second,
                changes_per_second: 0.0,
                disturbed,
            };
            (index, measured)
        });
        Ok(measured.collect())
    };
    let has_time = |_| more.checked_sub(1).map(|less| more = less).is_some();
    let all = calmer(&[4, 7], attempt, has_time).expect("no more attempts than there are");
    all.iter().map(|(_, of)| of.frames_per_second).collect()
}

#[test]
fn what_others_disturbed_is_measured_again_and_a_calm_attempt_counts() {
    let disturbed: &[_] = &[(4, 3.0, false), (7, 9.0, true)];
    let calm: &[_] = &[(7, 2.0, false)];
    let again: &[_] = &[(7, 8.0, true)];
    assert_eq!(attempts(&[disturbed, calm], 9), [3.0, 2.0]);
    assert_eq!(attempts(&[disturbed], 0), [3.0, 9.0], "there is no time");
    assert_eq!(
        attempts(&[disturbed, again], 1),
        [3.0, 9.0],
        "the first counts"
    );
    assert_eq!(attempts(&[disturbed, again, calm], 2), [3.0, 2.0]);
    let none: &[_] = &[(4, 3.0, false), (7, 2.0, false)];
    assert_eq!(attempts(&[none], 9), [3.0, 2.0], "there is no need");
    let mut all = vec![disturbed];
    all.extend([again; AGAIN]);
    assert_eq!(attempts(&all, 99), [3.0, 9.0], "some cores are never calm");
}

/// Rounds of a pair of cores and of each alone: calm trials have these rates and scatter by 3 %, others
/// are slowed by up to half.
fn noisy(true_rates: [f64; 3], calm: f64, random: &mut Random) -> Rounds<Measured> {
    let mut rounds: Rounds<Measured> = Rounds::new(3, 1);
    for _ in 0..11 {
        let measured: Result<(), ()> = rounds.round_in(0..3, |place| {
            let share = if place == 2 { calm * calm } else { calm };
            let disturbed = random.unit() > share;
            let scatter = 1.0 + 0.03 * (random.unit() + random.unit() - 1.0);
            let slowed = if disturbed {
                1.0 - 0.5 * random.unit()
            } else {
                1.0
            };
            Ok(Measured {
                frames_per_second: true_rates[place] * scatter * slowed,
                changes_per_second: 0.0,
                disturbed,
            })
        });
        assert_eq!(measured, Ok(()));
    }
    rounds
}

#[test]
fn calm_trials_tell_a_ratio_that_holds_the_truth_where_rounds_are_seldom_calm() {
    let mut random = Random::new(7);
    for times in [1.2, 1.93, 2.0] {
        let (mut told, mut held) = (0, 0);
        for seed in 0..400 {
            let rounds = noisy([1.1e6, 0.9e6, times * 1e6], 0.8, &mut random);
            if let Some((count, ratio)) = calm_ratio(&rounds, &[2], &[0, 1], seed) {
                assert!((FEWEST..=11).contains(&count));
                told += 1;
                held += usize::from(ratio.interval.contains(times));
            }
        }
        assert!(told > 200, "{told} of 400");
        assert!(held * 100 >= told * 95, "{times}: {held} of {told}");
    }
}

#[test]
fn few_calm_trials_tell_nothing() {
    let mut random = Random::new(7);
    for _ in 0..100 {
        let rounds = noisy([1e6, 1e6, 2e6], 0.2, &mut random);
        assert_eq!(calm_ratio(&rounds, &[2], &[0, 1], 1), None);
    }
}
