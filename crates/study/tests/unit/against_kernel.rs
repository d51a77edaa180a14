//! Of `study/src/against_kernel.rs`.

use dut::kind::Kind;
use router::engine::EngineKind;

use super::*;
use crate::testing::calm;

fn case(kind: Kind) -> Case {
    Case {
        kind,
        first: 0,
        workers: 2,
        frame_bytes: SMALLEST,
        changes: 0,
    }
}

/// The machine changes its pace from round to round; the engine brings `times` the kernel's.
fn compared(times: [f64; 6]) -> AgainstKernel {
    let cases = [case(Kind::Kernel), case(Kind::Router(EngineKind::Xdp))];
    let mut rounds = Rounds::new(2, 1);
    for (pace, times) in [1.0, 0.8, 1.2, 0.9, 1.1, 1.0].into_iter().zip(times) {
        let rate = |place: usize| calm(pace * [1e6, 1e6 * times][place]);
        let measured: Result<(), ()> = rounds.round_in([1, 0], |place| Ok(rate(place)));
        assert_eq!(measured, Ok(()));
    }
    let all = AgainstKernel::all(&cases, &rounds, &Rounds::new(2, 1), 1);
    assert_eq!(all.len(), 2, "nothing was searched");
    assert!((all[0].times - 1.0).abs() < 1e-12 && all[0].engine == "kernel");
    all[1].clone()
}

#[test]
fn engines_are_compared_within_rounds() {
    let three = compared([3.0; 6]);
    assert!((three.low - 3.0).abs() < 1e-9 && (three.high - 3.0).abs() < 1e-9);
    assert!(three.is_told() && three.differs());
}

#[test]
fn an_interval_that_holds_one_is_no_difference() {
    let near = compared([0.95, 1.05, 1.0, 0.98, 1.1, 1.02]);
    assert!(near.is_told() && !near.differs(), "{near:?}");
    assert!(
        near.low < 0.96 && near.high > 1.09,
        "the range of six rounds"
    );
    let apart = compared([0.5, 2.0, 1.0, 0.9, 1.8, 1.2]);
    assert!(!apart.is_told(), "{apart:?}");
}
