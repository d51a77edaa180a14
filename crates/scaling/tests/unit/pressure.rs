use super::*;

use figures::Random;

fn estimate(ratios: [f64; 5]) -> Estimate {
    Estimate::of(&ratios, 1)
}

fn pressed(duty: f64, ratios: [f64; 5]) -> Pressed {
    Pressed {
        duty,
        slowdown: estimate(ratios),
        slower: true,
    }
}

/// Five rounds of two calm runs and 21 pressures, each of which makes the run `slowdown` times as
/// long; a run scatters by some 3 %, and one of thirty is held up.
fn experiment(random: &mut Random, slowdown: f64) -> Vec<Vec<f64>> {
    let mut second = |setting: usize| {
        let units: f64 = (0..12).map(|_| random.unit()).sum();
        let held_up = if random.below(30) == 0 { 1.3 } else { 1.0 };
        let pressed = if setting < 2 { 1.0 } else { slowdown };
        pressed * held_up * (1.0 + 0.03 * (units - 6.0))
    };
    (0..5).map(|_| (0..23).map(&mut second).collect()).collect()
}

#[test]
fn twenty_one_pressures_together_cry_wolf_in_less_than_one_experiment_of_twenty() {
    let mut random = Random::new(1);
    let alarms = (0..1000)
        .filter(|_| slower(&experiment(&mut random, 1.0)).contains(&true))
        .count();
    assert!(alarms <= 50, "{alarms} of 1000");
    let found = (0..100)
        .flat_map(|_| slower(&experiment(&mut random, 1.5)))
        .filter(|&slower| slower)
        .count();
    assert!(
        found >= 1600,
        "{found} of 2100 pressures of a half were felt"
    );
}

#[test]
fn an_effect_counts_only_if_it_clears_the_control() {
    let control = estimate([1.02, 0.98, 1.0, 1.03, 0.99]);
    let slow = [pressed(1.0, [1.5, 1.48, 1.52, 1.5, 1.49])];
    let same = [pressed(1.0, [1.02, 1.0, 0.99, 1.01, 1.03])];
    let felt = sensitivity(Channel::MemoryReads, &control, &slow, Some(2.0));
    assert!(felt.felt && (felt.share.unwrap() - 1.5_f64.ln() / 2.0_f64.ln()).abs() < 1e-9);
    let not = sensitivity(Channel::Cache, &control, &same, Some(2.0));
    assert!(!not.felt && not.share == Some(0.0));
    assert_eq!(strongest(&[not, felt]), Some("memory bandwidth (reads)"));
    let mut chance = slow;
    chance[0].slower = false;
    assert!(!sensitivity(Channel::Cache, &control, &chance, Some(2.0)).felt);
}

#[test]
fn the_working_set_lies_between_what_two_doses_leave() {
    let calm = estimate([1.0; 5]);
    let doses = [(0.25, 1.0), (0.5, 1.3), (1.0, 1.6)].map(|(dose, s)| pressed(dose, [s; 5]));
    let felt = sensitivity(Channel::Cache, &calm, &doses, None);
    assert_eq!(working_set(&[felt]), Some((0.5, 0.75)));
    let never = sensitivity(
        Channel::Cache,
        &calm,
        &[pressed(0.25, [1.0; 5]), pressed(1.0, [1.0; 5])],
        None,
    );
    assert_eq!(working_set(&[never]), None);
}

#[test]
fn a_channel_on_the_same_core_explains_nothing_about_more_cores() {
    let twice = [pressed(1.0, [2.0; 5])];
    let own = sensitivity(Channel::SameCore, &estimate([1.0; 5]), &twice, Some(2.0));
    assert!(own.felt && own.share.is_none());
    assert_eq!(strongest(&[own]), None);
}
