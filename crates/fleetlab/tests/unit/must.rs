//! Of `src/must.rs`, and of runs that are joined.

use host::Environment;

use super::*;
use crate::daemon::Kind;
use crate::result::SCHEMA;
use crate::timeline::timeline;

fn lab(runs: Vec<Run>) -> FleetLab {
    FleetLab {
        schema: SCHEMA.to_owned(),
        environment: Environment::default(),
        nodes: 4,
        flows: 64,
        frames_per_second: 6400,
        daemon: Kind::Bird,
        bfd_ms: 100,
        resilient: true,
        engine: None,
        runs,
    }
}

fn run(event: Event, lost: u64, outage_ms: f64) -> Run {
    Run {
        event,
        forwarder: Forwarder::Corelane,
        repetition: 1,
        node: 1,
        sent: 1000,
        lost,
        duplicates: 0,
        reordered: 0,
        outage_ms,
        moved: 0,
        moved_needlessly: 0,
        noticed_ms: None,
        logged_ms: None,
        rerouted_ms: None,
        false_downs: 0,
        load_per_second: 0.0,
        healed_ms: None,
        took_ms: 0.0,
        by_kernel: 0,
        sender_pause_ms: 0.0,
        timeline: timeline(&[], 0, 0, 0, 1),
        note: None,
    }
}

/// What is said of the only event.
fn holds(row: Option<Row>) -> bool {
    row.unwrap().holds
}

#[test]
fn one_lost_frame_is_too_many_where_none_may_be() {
    let with = |lost| {
        lab(vec![
            run(Event::Drain, 0, 0.0),
            run(Event::Drain, lost, 0.0),
        ])
    };
    assert!(holds(without_loss(&with(0), Event::Drain)));
    assert!(!holds(without_loss(&with(1), Event::Drain)));
    assert!(without_loss(&with(0), Event::Add).is_none());
}

#[test]
fn what_the_kernel_alone_loses_does_not_count() {
    let mut of_kernel = run(Event::Drain, 9, 0.0);
    of_kernel.forwarder = Forwarder::Kernel;
    let lab = lab(vec![run(Event::Drain, 0, 0.0), of_kernel]);
    assert!(holds(without_loss(&lab, Event::Drain)));
}

#[test]
fn a_kill_may_cost_the_frames_of_a_millisecond() {
    assert!(holds(kill(&lab(vec![run(Event::Kill, 7, 1.0)]))));
    assert!(!holds(kill(&lab(vec![run(Event::Kill, 8, 1.0)]))));
}

#[test]
fn an_outage_may_be_50_ms_longer_than_bfd_needs() {
    let with = |outage, bfd_ms| {
        let lab = lab(vec![run(Event::Dead, 1, outage)]);
        FleetLab { bfd_ms, ..lab }
    };
    assert!(holds(dead(&with(350.0, 100))));
    assert!(!holds(dead(&with(351.0, 100))));
    assert!(!holds(dead(&with(201.0, 50))));
}

#[test]
fn flows_may_move_without_a_resilient_group() {
    let mut moved = run(Event::Dead, 0, 0.0);
    moved.moved_needlessly = 1;
    let mut lab = lab(vec![moved]);
    assert!(!holds(moves(&lab)));
    lab.resilient = false;
    assert!(moves(&lab).is_none());
}

#[test]
fn runs_of_one_fleet_are_joined_and_of_two_are_not() {
    let mut all = lab(vec![run(Event::Drain, 0, 0.0), run(Event::Kill, 0, 0.0)]);
    all.join(lab(vec![run(Event::Drain, 0, 0.0)])).unwrap();
    let numbers: Vec<u32> = all.runs.iter().map(|run| run.repetition).collect();
    assert_eq!(numbers, [1, 1, 2]);
    let other = FleetLab {
        nodes: 2,
        ..lab(Vec::new())
    };
    let error = all.join(other).unwrap_err();
    assert!(
        error.contains("nodes is \"4\"") && error.contains("\"2\""),
        "{error}"
    );
}
