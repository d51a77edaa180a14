//! Cores that are set apart are apart.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use host::partition::{Partition, PartitionError};
use host::{CoreId, allowed_cores, process};

#[test]
fn isolating_all_cores_is_refused() {
    let all = [CoreId(0), CoreId(1)];
    let error = Partition::isolate(&all, &all).unwrap_err();
    assert!(matches!(error, PartitionError::All { .. }), "{error}");
}

/// The isolation claimed is the isolation measured: threads that may run anywhere keep off the
/// isolated core, and come back to it when the partition is gone.
#[test]
fn free_threads_stay_off_the_isolated_core() {
    let _alone = needs::cores();
    let all = allowed_cores().unwrap();
    if !process::is_root() || all.len() < 2 {
        needs::skipped!("needs root and two cores");
        return;
    }
    let isolated = *all.last().unwrap();
    let partition = match Partition::isolate(&[isolated], &all) {
        Err(PartitionError::None) => {
            needs::skipped!("{}", PartitionError::None);
            return;
        }
        made => made.unwrap(),
    };
    assert_eq!(cores_used_by_free_threads() & 1 << isolated.0, 0);
    drop(partition);
    assert_ne!(cores_used_by_free_threads() & 1 << isolated.0, 0);
}

/// A bit for every core that eight busy threads were seen on.
fn cores_used_by_free_threads() -> u64 {
    let (seen, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // SAFETY: takes nothing; a negative answer sets no bit below.
                    let core = unsafe { libc::sched_getcpu() };
                    seen.fetch_or(1 << core.clamp(0, 63), Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    seen.into_inner()
}
