//! A study made of plain values, for tests.

use dut::case::{Case, FRAME_SIZES, SMALLEST};
use dut::kind::{Kind, Table};
use fib::TableOrganisation;
use figures::Rounds;
use host::{Environment, Noise};
use report::units::FramesPerSecond;

use crate::against_kernel::AgainstKernel;
use crate::evidence::Measured;
use crate::no_loss::Search;
use crate::plan::CHANGE_RATES;
use crate::result::{SCHEMA, Study};
use crate::route_changes::RouteChanges;
use crate::row::Row;

/// Rounds of two cases from the rates of each; every sample made 900 route changes a second.
pub(crate) fn rounds<const N: usize>(rates: [[f64; N]; 2]) -> Rounds<Measured> {
    let mut rounds = Rounds::new(2, 1);
    for (one, other) in rates[0].into_iter().zip(rates[1]) {
        let rate = |case: usize| calm([one, other][case]);
        let measured: Result<(), ()> = rounds.round_in([0, 1], |case| Ok(rate(case)));
        assert_eq!(measured, Ok(()));
    }
    rounds
}

/// A rate that nobody disturbed, with 900 route changes a second.
pub(crate) fn calm(frames_per_second: f64) -> Measured {
    Measured {
        frames_per_second,
        changes_per_second: 900.0,
        disturbed: false,
    }
}

/// Two cores, engines `memory` and `kernel`: one core forwards 30 M frames/s of any size; see the
/// factors below.
pub(crate) fn study() -> Study {
    let mut forwarding = Vec::new();
    let mut add = |kind, workers, frame_bytes, changes, rate: f64| {
        let case = Case {
            kind,
            first: 0,
            workers,
            frame_bytes,
            changes,
        };
        let rates = [0.99, 1.0, 1.01].map(|scatter| rate * scatter);
        forwarding.push(Row::new(&case, &rates, 901_899, 1 << 20));
    };
    for (organisation, one, two) in [
        (None, 30e6, 59.4e6),
        (Some(TableOrganisation::Locked), 22.5e6, 9e6),
        (Some(TableOrganisation::Shared), 30e6, 58.5e6),
        (Some(TableOrganisation::PerCore), 30e6, 59.1e6),
    ] {
        let kind = Kind::Memory(organisation);
        for frame_bytes in FRAME_SIZES {
            add(kind, 1, frame_bytes, 0, one);
            add(kind, 2, frame_bytes, 0, two);
        }
        for changes in CHANGE_RATES.into_iter().filter(|&rate| rate > 0) {
            add(
                kind,
                2,
                SMALLEST,
                changes,
                two * if changes == 100_000 { 0.97 } else { 1.0 },
            );
        }
    }
    let mut route_changes = Vec::new();
    for table in [Table::Shipped, Table::Locked, Table::Shared, Table::PerCore] {
        for asked in CHANGE_RATES.into_iter().filter(|&rate| rate > 0) {
            let kept = if asked == 100_000 { 0.97 } else { 1.0 };
            route_changes.push(RouteChanges {
                engine: "memory".to_owned(),
                table,
                asked,
                made: asked as f64,
                kept,
                kept_low: kept - 0.01,
                kept_high: kept + 0.01,
                weak: None,
            });
        }
    }
    for frame_bytes in FRAME_SIZES {
        add(Kind::Kernel, 1, frame_bytes, 0, 0.8e6);
        add(Kind::Kernel, 2, frame_bytes, 0, 1.4e6);
    }
    Study {
        schema: SCHEMA.to_owned(),
        environment: Environment::read("0", 1),
        forwarding,
        cores: 2,
        rounds: 3,
        trial_milliseconds: 20.0,
        routes_from: "generated".to_owned(),
        methods: Vec::new(),
        route_changes,
        lock_prices: Vec::new(),
        speed_ups: Vec::new(),
        search_profile: None,
        searches: Vec::new(),
        without_device: Vec::new(),
        against_kernel: Vec::new(),
        model: None,
        transfers: None,
        noise: Noise::default(),
        traces: Vec::new(),
        left_out: Vec::new(),
    }
}

/// How engines of `study` compare with its kernel in the closed loop, or without loss.
pub(crate) fn against_kernel(
    engine: &str,
    without_loss: bool,
    [low, times, high]: [f64; 3],
) -> AgainstKernel {
    AgainstKernel {
        engine: engine.to_owned(),
        without_loss,
        frames_per_second: FramesPerSecond(1.4e6 * times),
        rounds: 9,
        times,
        low,
        high,
        weak: None,
    }
}

/// Searches of `study`'s engine `kernel` with the smallest frames: nothing found on one core, 90 %
/// of the closed loop's rate on two.
pub(crate) fn search_kernel(study: &mut Study) {
    for (workers, share, because) in [(1, None, "the device forwards nothing"), (2, Some(0.9), "")]
    {
        let row = study.forwarding.iter_mut().find(|row| {
            row.key.engine == "kernel"
                && (row.key.workers, row.key.frame_bytes) == (workers, SMALLEST)
        });
        let row = row.expect("the engine kernel has both rows");
        let found = share.map(|share: f64| FramesPerSecond(share * row.frames_per_second.0));
        row.no_loss_frames_per_second = found;
        study.searches.push(Search {
            key: row.key.clone(),
            no_loss_frames_per_second: found,
            low: found.map(|FramesPerSecond(rate)| rate * 0.99),
            high: found.map(|FramesPerSecond(rate)| rate * 1.02),
            rounds: 5,
            above: found.map(|FramesPerSecond(rate)| rate * 1.01),
            trials: 9,
            because: because.to_owned(),
            weak: None,
        });
    }
    study.search_profile = Some(crate::no_loss::PROFILE);
}
