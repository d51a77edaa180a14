//! Locks that lay at one address, one after another.

use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::trace::{AddressName, NameSource};

use crate::synthetic::{LOCK, MAIN, Workload};

fn name(name: &str, until: Option<u64>) -> AddressName {
    AddressName {
        process: MAIN,
        address: LOCK,
        length: 8,
        name: name.to_owned(),
        source: NameSource::Marker,
        until,
    }
}

#[test]
fn each_has_its_own_waits() {
    let (mut trace, truth) = Workload {
        threads: 3,
        hold: 10_000,
        think: 10_000,
        until: 100_000_000,
        spread: 0.3,
    }
    .run();
    let waits = |trace: &Trace| {
        let analysis = Analysis::new(trace);
        let mut found: Vec<_> = analysis
            .locks
            .iter()
            .map(|lock| (lock.name.clone(), lock.waited.waits.count))
            .collect();
        found.sort();
        found
    };
    trace.trailer.names = vec![name("only", None)];
    let only = waits(&trace);
    assert_eq!(only.len(), 1);
    // The first ended after a quarter; the second is named while it is in use.
    trace.trailer.names = vec![name("first", Some(25_000_000)), name("second", None)];
    let found = waits(&trace);
    let [(first, early), (second, late)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("first", "second"));
    let all = (early + late) as f64;
    // A wait that spans the end belongs to the lock at which it began.
    assert!((all - only[0].1 as f64).abs() <= 3.0, "{found:?} {only:?}");
    assert!((*early as f64 / all - 0.25).abs() < 0.02, "{found:?}");
    // What nobody named after the end of the last name has no name.
    trace.trailer.looks = vec![truth.looks(100_000_000)];
    trace.trailer.names = vec![name("first", Some(25_000_000))];
    let address = format!("{LOCK:#x}");
    assert_eq!(
        waits(&trace),
        [(address, *late), ("first".to_owned(), *early)]
    );
}
