//! Live programs with known locks: each is named and classified, and what only looks like a lock is
//! not accused. Root only.

use std::sync::{Condvar, Mutex, RwLock};
use std::time::{Duration, Instant};

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::record::{self, Options};
use tracer::verdict::verdict;

use crate::live_help::{BUSY, busy, root};

static NAMED_TABLE: Mutex<u64> = Mutex::new(0);
static READ_MOSTLY: RwLock<u64> = RwLock::new(0);
static SIGNAL: (Mutex<u64>, Condvar) = (Mutex::new(0), Condvar::new());

/// A mutex of the C library.
struct Raw(std::cell::UnsafeCell<libc::pthread_mutex_t>);
// SAFETY: a pthread mutex is made to be used by several threads.
unsafe impl Sync for Raw {}
static GLIBC: Raw = Raw(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Two threads repeat `work` for a fifth of a second.
fn two(work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(200) {
                    work();
                }
            });
        }
    });
}

/// Time on cores that all threads of this program have had.
fn process_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

fn traced(work: impl FnOnce()) -> (tracer::Trace, Analysis) {
    let _one = BUSY.lock();
    let ((), trace) = record::record_while(&Options::default(), work).expect("root may record");
    let analysis = Analysis::new(&trace);
    (trace, analysis)
}

#[test]
fn a_static_mutex_is_blamed_by_its_name() {
    if !root() {
        return;
    }
    let looked = || {
        let mut is_alone = false;
        let (trace, analysis) = traced(|| {
            let (begun, before) = (Instant::now(), process_time());
            two(|| {
                let _table = NAMED_TABLE.lock();
                busy(Duration::from_micros(200));
            });
            // Two that take turns never use more than a core: a test beside this one had the other,
            // or a program that it started, which only the trace counts.
            is_alone = process_time().saturating_sub(before) < begun.elapsed().mul_f64(1.25);
        });
        let found = verdict(&trace, &analysis);
        // Threads without a core wait for that, whatever they hold.
        let is_starved = found.sentences.iter().any(|s| s.starts_with("Starvation"));
        let is_alone = is_alone && analysis.budget.cores_used() < 1.25;
        (is_alone && !is_starved).then_some((found, analysis))
    };
    let looks: Vec<_> = (0..40).filter_map(|_| looked()).take(3).collect();
    if looks.len() < 3 {
        needs::skipped!("the machine is too busy to see who waits for a lock");
        return;
    }
    // Of three looks one may find too little, where the machine takes the holder's core away. None
    // may blame anything else.
    let mut told = 0;
    for (found, analysis) in &looks {
        for lock in found.blamed.iter().map(|&at| &analysis.locks[at]) {
            assert!(lock.name.contains("NAMED_TABLE"), "{}", lock.name);
            assert_eq!(lock.class, Class::Mutex);
        }
        let is_told = found.sentences.iter().any(|s| s.contains("NAMED_TABLE"));
        told += usize::from(found.blamed.len() == 1 && is_told);
    }
    let sentences: Vec<_> = looks.iter().map(|(found, _)| &found.sentences).collect();
    assert!(told >= 2, "{sentences:#?}");
}

#[test]
fn a_marked_mutex_on_the_heap_has_its_given_name() {
    if !root() {
        return;
    }
    let table = Box::new(Mutex::new(0_u64));
    let _name = marker::name_lock(&raw const *table as usize, 8, "the heap's table");
    let (_, analysis) = traced(|| {
        two(|| {
            let _table = table.lock();
            busy(Duration::from_micros(200));
        });
    });
    assert!(
        analysis
            .locks
            .iter()
            .any(|lock| lock.name == "the heap's table" && lock.class == Class::Mutex)
    );
}

#[test]
fn glibc_mutexes_are_mutexes() {
    if !root() {
        return;
    }
    let (_, analysis) = traced(|| {
        two(|| {
            // SAFETY: a static mutex, initialised, locked and unlocked by the same thread.
            unsafe { libc::pthread_mutex_lock(GLIBC.0.get()) };
            busy(Duration::from_micros(200));
            // SAFETY: as above.
            unsafe { libc::pthread_mutex_unlock(GLIBC.0.get()) };
        });
    });
    assert!(
        analysis
            .locks
            .iter()
            .any(|lock| lock.name.contains("GLIBC") && lock.class == Class::Mutex)
    );
}

#[test]
fn read_write_locks_are_read_write_locks() {
    if !root() {
        return;
    }
    // Where other programs have the cores, the two threads may never meet at the lock: then once
    // more.
    let mut classes = Vec::new();
    for _ in 0..12 {
        let (_, analysis) = traced(|| {
            two(|| {
                if let Ok(mut value) = READ_MOSTLY.write() {
                    busy(Duration::from_micros(200));
                    *value += 1;
                }
                let _value = READ_MOSTLY.read();
                busy(Duration::from_micros(50));
            });
        });
        let lock = analysis
            .locks
            .iter()
            .find(|lock| lock.name.contains("READ_MOSTLY"));
        if lock.is_some_and(|lock| lock.class == Class::RwLock) {
            return;
        }
        classes.push(format!("{:?}", analysis.classes));
    }
    panic!("no lock of the class in any trace: {classes:#?}");
}

#[test]
fn a_condition_variable_and_a_join_are_not_accused() {
    if !root() {
        return;
    }
    let (trace, analysis) = traced(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=100 {
                    busy(Duration::from_millis(1));
                    *SIGNAL.0.lock().unwrap() = round;
                    SIGNAL.1.notify_one();
                }
            });
            scope.spawn(|| {
                let mut seen = SIGNAL.0.lock().unwrap();
                while *seen < 100 {
                    seen = SIGNAL.1.wait(seen).unwrap();
                }
            });
        });
    });
    let found = verdict(&trace, &analysis);
    let blamed: Vec<_> = found
        .blamed
        .iter()
        .map(|index| &analysis.locks[*index])
        .filter(|l| !l.class.is_kernel())
        .collect();
    assert!(blamed.is_empty(), "{:?}", found.sentences);
}

#[test]
fn parking_lots_mutex_is_declared_unnamed() {
    if !root() {
        return;
    }
    let table = parking_lot::Mutex::new(0_u64);
    let (trace, analysis) = traced(|| {
        two(|| {
            let mut table = table.lock();
            busy(Duration::from_micros(300));
            *table += 1;
        });
    });
    let found = verdict(&trace, &analysis);
    assert!(
        analysis.classes.contains(&Class::Parking),
        "{:?}",
        analysis.classes
    );
    let all = found.sentences.join(" ");
    assert!(
        all.contains("the locks behind them have no address"),
        "{all}"
    );
    assert!(
        !found
            .blamed
            .iter()
            .any(|index| !analysis.locks[*index].class.is_kernel()),
        "{all}"
    );
}

#[test]
fn a_kernel_lock_has_the_name_of_its_variable_or_of_who_takes_it() {
    if !root() {
        return;
    }
    let directory =
        std::env::temp_dir().join(format!("corelane-kernel-lock-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    // Files are made and removed in one directory: its lock is the kernel's.
    let (trace, analysis) = traced(|| {
        std::thread::scope(|scope| {
            for number in 0..4 {
                let file = directory.join(number.to_string());
                scope.spawn(move || {
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_millis(300) {
                        let _ = std::fs::write(&file, b"");
                        let _ = std::fs::remove_file(&file);
                    }
                });
            }
        });
    });
    // The temporary directory is cleaned by the system if this fails.
    let _ = std::fs::remove_dir_all(&directory);
    if trace
        .header
        .missing
        .iter()
        .any(|missing| missing.contains("contention"))
    {
        needs::skipped!("this kernel tells nothing of its locks (5.19 does)");
        return;
    }
    let kernel: Vec<_> = analysis
        .locks
        .iter()
        .filter(|lock| lock.class.is_kernel())
        .collect();
    assert!(
        !kernel.is_empty(),
        "four threads in one directory never met"
    );
    for lock in kernel {
        assert!(
            lock.named_by.is_some() || lock.name.starts_with("0x"),
            "{}",
            lock.name
        );
    }
    assert!(
        analysis.locks.iter().any(|lock| lock.class.is_kernel()
            && (lock.name.starts_with("taken in ")
                || lock.named_by == Some(tracer::trace::NameSource::Symbol))),
        "no kernel lock has a name"
    );
}
