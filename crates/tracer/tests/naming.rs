//! Live programs with known locks: each is named and classified, and what only looks like a lock is not accused. Root only.

use std::sync::{Condvar, Mutex, RwLock};
use std::time::{Duration, Instant};

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::record::{self, Options};
use tracer::verdict::verdict;

static NAMED_TABLE: Mutex<u64> = Mutex::new(0);
static READ_MOSTLY: RwLock<u64> = RwLock::new(0);
static SIGNAL: (Mutex<u64>, Condvar) = (Mutex::new(0), Condvar::new());

/// A mutex of the C library.
struct Raw(std::cell::UnsafeCell<libc::pthread_mutex_t>);
// SAFETY: a pthread mutex is made to be used by several threads.
unsafe impl Sync for Raw {}
static GLIBC: Raw = Raw(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Only one recording at a time: each test's process is its own target.
static ONE: Mutex<()> = Mutex::new(());

fn root() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("skipped: needs root to open tracepoints");
    }
    root
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

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

fn traced(work: impl FnOnce()) -> (tracer::Trace, Analysis) {
    let _one = ONE.lock();
    let ((), trace) = record::record_while(&Options::default(), work).expect("root may record");
    let analysis = Analysis::new(&trace);
    (trace, analysis)
}

#[test]
fn a_static_mutex_is_blamed_by_its_name() {
    if !root() {
        return;
    }
    let (trace, analysis) = traced(|| {
        two(|| {
            let _table = NAMED_TABLE.lock();
            busy(Duration::from_micros(200));
        });
    });
    let found = verdict(&trace, &analysis);
    let lock = analysis
        .locks
        .iter()
        .find(|lock| lock.name.contains("NAMED_TABLE"));
    let lock = lock.unwrap_or_else(|| panic!("{:?}", found.sentences));
    assert_eq!(lock.class, Class::Mutex);
    assert!(
        found.sentences.iter().any(|s| s.contains("NAMED_TABLE")),
        "{:?}",
        found.sentences
    );
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
    assert!(
        lock.is_some_and(|lock| lock.class == Class::RwLock),
        "{:?}",
        analysis.classes
    );
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
