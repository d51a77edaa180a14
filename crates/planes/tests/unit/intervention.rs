use clap::ValueEnum;

use super::*;
use crate::deployment::MODES;

#[test]
fn every_turn_is_one_intervention_with_its_control() {
    let victims = [Plane::User, Plane::Management];
    for variant in Variant::all(Deployment::value_variants(), &MODES) {
        let turns = turns(variant, &victims);
        for (index, turn) in turns.iter().enumerate() {
            assert!(!turns[..index].contains(turn), "{turn:?} twice");
        }
        for victim in victims {
            assert!(turns.contains(&Turn::Alone(victim)));
            assert!(turns.contains(&Turn::Pressed(victim, Channel::Clock)));
        }
    }
}

#[test]
fn nothing_is_removed_that_a_deployment_does_not_have() {
    let has = |deployment, mode, removal| {
        removals(Variant { deployment, mode }, Plane::User).contains(&removal)
    };
    let [kernel, user_space] = MODES;
    assert!(!has(Deployment::Partitioned, kernel, Removal::HostTasks));
    assert!(has(Deployment::SmpBound, kernel, Removal::HostTasks));
    assert!(!has(Deployment::SmpBound, kernel, Removal::Queue));
    assert!(has(Deployment::SmpBound, user_space, Removal::Queue));
    assert!(has(Deployment::Amp, kernel, Removal::Queue));
}
