//! The serial share of a read-write lock by its writers, from looks at the lock.

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::event::Kind;
use tracer::trace::Probe;

use crate::synthetic::{LOCK, MAIN, Workload};

/// Rust's state: a writer has it, and writers wait.
const WRITTEN: u32 = 0x3fff_ffff;
const WRITERS_WAIT: u32 = 1 << 31;

#[test]
fn the_state_before_the_writers_word_tells_how_long_it_is_held() {
    for (hold, think) in [(4_000, 16_000), (10_000, 10_000), (16_000, 4_000)] {
        let until = 300_000_000;
        let (mut trace, truth) = Workload {
            threads: 2,
            hold,
            think,
            until,
            spread: 0.5,
        }
        .run();
        // Writers wait for a number that counts wake-ups: never 0 for long, held or not.
        for (count, event) in (1_u32..).zip(&mut trace.events) {
            if let Kind::FutexEnter(call) = &mut event.kind
                && call.operation.waits()
            {
                call.value = count;
            }
        }
        trace.trailer.probes = vec![Probe {
            process: MAIN,
            address: LOCK,
            words: [0, 0, 0, WRITTEN | WRITERS_WAIT, 7, 0, 0, 0],
        }];
        let mut looks = truth.looks(until);
        for look in &mut looks.looks {
            look.before = if look.word == 0 { 0 } else { WRITTEN };
            (look.word, look.after) = (7, 0);
        }
        trace.trailer.looks = vec![looks];
        let analysis = Analysis::new(&trace);
        let lock = &analysis.locks[0];
        assert_eq!(lock.class, Class::RwLock);
        let share = truth.held as f64 / (truth.held + truth.worked) as f64;
        let range = lock.demand.expect("thousands of looks").serial_range;
        assert!(range.contains(share), "{range:?} {share}");
        assert!(range.high - range.low < 0.3, "{range:?} {share}");
    }
}
