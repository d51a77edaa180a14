//! Which deployment is advised.

use agent::protocol::UserPlaneMode;
use host::Environment;
use planes::advise::{AdviceError, Requirements, advise};
use planes::deployment::{Deployment, Variant};
use planes::result::{Cell, Comparison, Plane, Protocol, SCHEMA};
use planes::routes::Origin;

/// A cell without figures at 1464 bytes.
fn empty(deployment: Deployment, plane: Plane, other_plane_load: bool) -> Cell {
    Cell {
        variant: Variant {
            deployment,
            mode: UserPlaneMode::Kernel,
        },
        plane,
        protocol: Protocol::Udp,
        payload_bytes: 1_464,
        other_plane_load,
        ..Cell::default()
    }
}

/// SMP free: 1 Gbit/s, jitter 50 µs, response 40 ms; AMP: 100 Mbit/s, 10 µs, 5 ms; both loaded,
/// 1464 bytes, in the kernel.
fn comparison() -> Comparison {
    let cells = |deployment, bps, jitter, response| {
        let user = |load| Cell {
            throughput_bps: Some(bps),
            frames_per_second: Some(bps / 8.0 / 1_464.0),
            jitter_ns: Some(jitter),
            delay_p99_ns: Some(100_000),
            ..empty(deployment, Plane::User, load)
        };
        let asked = Cell {
            response_p50_ms: Some(response / 2.0),
            response_p99_ms: Some(response),
            timeouts: Some(0),
            requests: Some(1_000),
            ..empty(deployment, Plane::Management, true)
        };
        [user(false), user(true), asked]
    };
    Comparison {
        schema: SCHEMA.to_owned(),
        environment: Environment::read("test", 1),
        cells: [
            cells(Deployment::SmpFree, 1e9, 5e4, 40.0),
            cells(Deployment::Amp, 1e8, 1e4, 5.0),
        ]
        .concat(),
        channels: Vec::new(),
        causes: Vec::new(),
        not_measured: vec!["nothing in particular".to_owned()],
        user_core: 1,
        cores: vec![0, 1],
        requests_per_second: 20.0,
        route_changes_per_second: 500,
        delay_frames_per_second: 10_000.0,
        route_origin: Origin::Generated,
        routes: Vec::new(),
        guests: None,
        quick: true,
    }
}

fn requirements(rate: f64, jitter: f64, response: f64) -> Requirements {
    Requirements {
        user_plane_bps: Some(rate),
        jitter_ns: Some(jitter),
        response_ms: Some(response),
        ..Requirements::default()
    }
}

#[test]
fn the_largest_smallest_margin_wins() {
    // SMP free: 1 Gbit/s, 50 µs, 40 ms. AMP: 100 Mbit/s, 10 µs, 5 ms.
    let comparison = comparison();
    let fast = advise(&comparison, &requirements(5e8, 1e5, 50.0)).unwrap();
    assert_eq!(fast.candidates[0].variant.deployment, Deployment::SmpFree);
    assert!(fast.candidates[0].fits() && !fast.candidates[1].fits());
    assert!(fast.sentences()[0].starts_with("Take SMP free, packets in kernel: 1.00 Gbit/s"));

    let calm = advise(&comparison, &requirements(5e7, 2e4, 10.0)).unwrap();
    assert_eq!(calm.candidates[0].variant.deployment, Deployment::Amp);
    assert_eq!(calm.sentences()[1], "No other fits.");
    assert_eq!(calm.table().rows.len(), 2);
}

#[test]
fn when_none_fits_it_says_what_is_missing() {
    let comparison = comparison();
    let advice = advise(&comparison, &requirements(5e9, 1e5, 50.0)).unwrap();
    let sentence = &advice.sentences()[0];
    assert!(
        sentence.starts_with("None fits at 1464 bytes"),
        "{sentence}"
    );
    assert!(
        sentence.contains("instead of at least 5.00 Gbit/s"),
        "{sentence}"
    );
}

#[test]
fn what_was_not_measured_is_not_met() {
    let mut comparison = comparison();
    for cell in &mut comparison.cells {
        cell.response_p99_ms = None;
        cell.timeouts = Some(3);
    }
    let advice = advise(&comparison, &requirements(1.0, 1e9, 1e6)).unwrap();
    assert!(advice.candidates.iter().all(|candidate| !candidate.fits()));
    assert!(advice.sentences()[0].contains("p99 among 3 timeouts"));

    // Too few for a percentile: the median is said to be one.
    for cell in &mut comparison.cells {
        (cell.requests, cell.timeouts) = (Some(70), Some(0));
    }
    let advice = advise(&comparison, &requirements(1.0, 1e9, 1e6)).unwrap();
    let said = advice.sentences().concat();
    assert!(said.contains("response median at most"), "{said}");

    let elsewhere = Requirements {
        payload_bytes: Some(9_000),
        ..requirements(1.0, 1.0, 1.0)
    };
    let error = advise(&comparison, &elsewhere).unwrap_err().to_string();
    assert!(
        error.contains("9000 bytes") && error.contains("1464"),
        "{error}"
    );
    assert_eq!(
        advise(&comparison, &Requirements::default()),
        Err(AdviceError::Nothing)
    );
}
