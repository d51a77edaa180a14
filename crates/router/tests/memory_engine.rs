//! The memory engine on a small table: everything is forwarded, whoever shares the tables how, also
//! while routes change; what cannot be run is refused with the reason.

use std::sync::Arc;
use std::time::Duration;

use fib::{NextHop, Prefix, TableOrganisation};
use host::CoreId;
use router::user_plane::memory_engine::{EngineError, MemoryEngine, Outcome, Routes, Trial};
use router::user_plane::test_traffic::{self, Destinations};

fn routes() -> Routes {
    let v4 = (0..200_u32).map(|number| {
        (
            Prefix::containing(0x0a00_0000 | number << 16, 16),
            NextHop(1 + number as u16 % 3),
        )
    });
    // What is withdrawn for a moment is still covered.
    let v4 = v4.chain([(Prefix::containing(0x0a00_0000, 7), NextHop(1))]);
    let v6 = [(Prefix::containing(0x2001_0db8 << 96, 32), NextHop(3))];
    Routes {
        v4: v4.collect(),
        v6: v6.into(),
        next_hops: 3,
    }
}

fn run(
    organisation: Option<TableOrganisation>,
    cores: &[CoreId],
    destinations: Destinations,
    frame_bytes: usize,
    changes: u32,
) -> Result<Outcome, EngineError> {
    let engine = match organisation {
        Some(organisation) => MemoryEngine::build(organisation, &routes(), 2)?,
        None => MemoryEngine::as_shipped(&routes(), 2)?,
    };
    assert_eq!(engine.organisation(), organisation);
    assert!(engine.memory().used() > 0);
    let frames = Arc::new(test_traffic::frames(destinations, frame_bytes).expect("a right size"));
    let trial = Trial {
        cores,
        frames: &frames,
        duration: Duration::from_millis(40),
        route_changes_per_second: changes,
    };
    // Nothing is measured, so caches need not be warm.
    engine.run_after(Duration::from_millis(10), &trial)
}

#[test]
fn every_organisation_forwards_everything() {
    let cores = host::allowed_cores().expect("cores");
    let cores = &cores[..cores.len().min(2)];
    let v4: Vec<u32> = (0..200).map(|number| 0x0a00_0001 | number << 16).collect();
    let v6: Vec<u128> = (0..200).map(|number| 0x2001_0db8 << 96 | number).collect();
    let experiments = TableOrganisation::ALL.map(Some);
    for organisation in experiments.into_iter().chain([None]) {
        for (destinations, frame_bytes, changes) in [
            (Destinations::V4(&v4), 64, 0),
            (Destinations::V4(&v4), 1518, 10_000),
            (Destinations::V6(&v6), 66, 0),
        ] {
            // A worker that gets no core within a trial says nothing.
            let outcome = (0..20)
                .map(|_| {
                    run(organisation, cores, destinations, frame_bytes, changes).expect("runs")
                })
                .find(|of| of.workers.iter().all(|worker| worker.count.forwarded > 0))
                .expect("a trial of twenty in which every worker had its core");
            assert_eq!(outcome.workers.len(), cores.len());
            for worker in &outcome.workers {
                // The counters are read in the middle of a burst.
                assert!(
                    worker.count.received.abs_diff(worker.count.forwarded) <= 128,
                    "{worker:?}"
                );
                assert_eq!(worker.count.not_forwarded(), 0, "{worker:?}");
            }
            assert_eq!(outcome.route_changes > 0, changes > 0, "{outcome:?}");
        }
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let cores = host::allowed_cores().expect("cores");
    let destinations = [0x0a00_0001];
    let run = |cores: &[CoreId]| {
        run(
            Some(TableOrganisation::Shared),
            cores,
            Destinations::V4(&destinations),
            64,
            0,
        )
    };
    assert!(matches!(
        run(&[]),
        Err(EngineError::Workers { wanted: 0, most: 2 })
    ));
    assert!(matches!(
        run(&[cores[0], cores[0]]),
        Err(EngineError::CoreTwice(_))
    ));
    assert!(matches!(run(&[CoreId(1023)]), Err(EngineError::Pin(_))));
    let mut bad = routes();
    bad.v4[0].1 = NextHop(4);
    let error =
        MemoryEngine::build(TableOrganisation::Shared, &bad, 1).expect_err("no such next hop");
    assert_eq!(
        error.to_string(),
        "a route goes to next hop 4, but the next hops are 1 to 3"
    );
}
