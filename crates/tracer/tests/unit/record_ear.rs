//! Of `tracer/src/record/ear.rs`.

use super::*;
use crate::event::Left;
use crate::format::write::FileWriter;
use crate::trace::{Header, Trailer};

fn switch(next: Tid) -> Kind {
    Kind::Switch {
        left: Left::Sleeping,
        next,
    }
}

fn written(mut ear: Ear) -> Vec<(u64, Kind)> {
    let mut file = FileWriter::new(Vec::new(), &Header::default()).expect("memory");
    file.core(&mut ear.writer).expect("memory");
    let bytes = file.finish(&Trailer::default()).expect("memory");
    crate::Trace::from_bytes(&bytes)
        .expect("a trace")
        .events
        .into_iter()
        .map(|event| (event.time, event.kind))
        .collect()
}

#[test]
fn both_streams_come_out_by_time_and_the_newest_waits() {
    let mut ear = Ear::new(0);
    ear.switches = vec![(10, 1, switch(2)), (30, 2, switch(1))];
    ear.perf = vec![
        (5, 1, Kind::FutexExit(0)),
        (20, 2, Kind::FutexExit(1)),
        (40, 1, Kind::FutexExit(2)),
        (60, 1, Kind::FutexExit(3)),
    ];
    ear.merge(50);
    assert_eq!(ear.perf.len(), 1);
    ear.switches = vec![(55, 1, switch(2))];
    ear.merge(u64::MAX);
    let times: Vec<u64> = written(ear).into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, [5, 10, 20, 30, 40, 55, 60]);
}

#[test]
fn a_wake_up_inside_an_interrupt_is_the_interrupts() {
    let waking = Kind::Waking {
        woken: 7,
        target: 0,
        by: Context::Thread,
        new: false,
    };
    let mut ear = Ear::new(0);
    ear.perf = vec![
        (10, 1, Kind::InterruptBegin(Interrupt::Timer)),
        (20, 1, Kind::InterruptEnd(Interrupt::Timer)),
        (20, 1, Kind::InterruptBegin(Interrupt::Soft(3))),
        (30, 1, Kind::InterruptEnd(Interrupt::Soft(3))),
    ];
    ear.switches = vec![
        (15, 1, waking),
        (25, 1, waking),
        (35, 1, waking),
        (40, 1, switch(0)),
        (45, 0, waking),
    ];
    ear.merge(u64::MAX);
    let by: Vec<Context> = written(ear)
        .into_iter()
        .filter_map(|(_, kind)| match kind {
            Kind::Waking { by, .. } => Some(by),
            _ => None,
        })
        .collect();
    let none = Context::Thread;
    assert_eq!(
        by,
        [Context::Hardirq, Context::Softirq, none, Context::Hardirq],
        "the last one on an idle core"
    );
}
