use super::*;

fn estimate(ratios: [f64; 5]) -> Estimate {
    Estimate::of(&ratios, 1)
}

#[test]
fn an_effect_counts_only_if_it_clears_the_control() {
    let control = estimate([1.02, 0.98, 1.0, 1.03, 0.99]);
    let slow = [(1.0, estimate([1.5, 1.48, 1.52, 1.5, 1.49]))];
    let same = [(1.0, estimate([1.02, 1.0, 0.99, 1.01, 1.03]))];
    let felt = sensitivity(Channel::MemoryReads, &control, &slow, Some(2.0));
    assert!(felt.felt && (felt.share.unwrap() - 1.5_f64.ln() / 2.0_f64.ln()).abs() < 1e-9);
    let not = sensitivity(Channel::Cache, &control, &same, Some(2.0));
    assert!(!not.felt && not.share == Some(0.0));
    assert_eq!(strongest(&[not, felt]), Some("memory bandwidth (reads)"));
}

#[test]
fn the_working_set_lies_between_what_two_doses_leave() {
    let calm = estimate([1.0; 5]);
    let doses = [(0.25, 1.0), (0.5, 1.3), (1.0, 1.6)].map(|(dose, s)| (dose, estimate([s; 5])));
    let felt = sensitivity(Channel::Cache, &calm, &doses, None);
    assert_eq!(working_set(&[felt]), Some((0.5, 0.75)));
    let never = sensitivity(Channel::Cache, &calm, &[(0.25, calm), (1.0, calm)], None);
    assert_eq!(working_set(&[never]), None);
}

#[test]
fn a_channel_on_the_same_core_explains_nothing_about_more_cores() {
    let twice = [(1.0, estimate([2.0; 5]))];
    let own = sensitivity(Channel::SameCore, &estimate([1.0; 5]), &twice, Some(2.0));
    assert!(own.felt && own.share.is_none());
    assert_eq!(strongest(&[own]), None);
}
