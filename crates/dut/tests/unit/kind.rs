use clap::ValueEnum;

use super::*;

/// What is measured is what is shipped: beside the baseline and the engine without a network
/// every name is that of an engine that the router opens, and none of these is missing.
#[test]
fn every_engine_between_interfaces_is_one_that_the_router_opens() {
    let shipped: Vec<&str> = EngineKind::value_variants()
        .iter()
        .map(|kind| kind.name())
        .collect();
    let mut measured: Vec<&str> = Kind::ALL.map(Kind::engine).to_vec();
    measured.retain(|name| !["memory", "kernel"].contains(name));
    assert_eq!(measured, shipped);
}

#[test]
fn organisations_that_no_engine_ships_are_those_of_memory_alone() {
    for kind in Kind::ALL {
        if matches!(kind.table(), Table::Locked | Table::PerCore) {
            assert_eq!(kind.engine(), "memory");
        }
    }
}
