//! Programs whose serial share is known: every operation is a fixed number of steps, and a known
//! part of them is done by one thread at a time. Each measures what share of its time that was.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::clock::{self, Ledger, Steps};

/// What the threads take turns at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust's mutex.
    Mutex,
    /// glibc's mutex, which sleeps at once.
    Pthread,
    /// Rust's read-write lock, by its writers.
    RwLock,
    /// The same, where half of the other work is done by readers of the lock.
    Readers,
    /// glibc's spinlock: no thread ever sleeps at it.
    Spinlock,
    /// One thread prepares jobs, a pool behind a condition variable does them.
    Pool,
    /// Stretches in which one thread works alone, and others in which all do, without a lock.
    Phases,
    /// As `Phases`, beside a thread that sleeps and logs.
    Logger,
    /// glibc's mutex, beside a thread that waits for messages through a pipe.
    Io,
    /// glibc's mutex; somebody else takes a core again and again.
    Preempted,
    /// No lock at all: each thread works for itself.
    Free,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Mutex,
        Self::Pthread,
        Self::RwLock,
        Self::Readers,
        Self::Spinlock,
        Self::Pool,
        Self::Phases,
        Self::Logger,
        Self::Io,
        Self::Preempted,
        Self::Free,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Pthread => "pthread",
            Self::RwLock => "rwlock",
            Self::Readers => "readers",
            Self::Spinlock => "spinlock",
            Self::Pool => "pool",
            Self::Phases => "phases",
            Self::Logger => "logger",
            Self::Io => "io",
            Self::Preempted => "preempted",
            Self::Free => "free",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The variable of the lock that is to blame, where one is.
    pub(crate) fn guilty(self) -> Option<&'static str> {
        match self {
            Self::Mutex => Some("GUILTY"),
            Self::Pthread | Self::Io | Self::Preempted => Some("GUILTY_PTHREAD"),
            Self::RwLock | Self::Readers => Some("GUILTY_RW"),
            _ => None,
        }
    }
}

/// One program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) kind: Kind,
    /// Hundredths of the work that one thread does at a time.
    pub(crate) percent: u64,
    pub(crate) threads: usize,
    /// Microseconds of work of one operation, about.
    pub(crate) operation: u64,
    pub(crate) duration: Duration,
}

static GUILTY: Mutex<u64> = Mutex::new(0);
static GUILTY_RW: RwLock<u64> = RwLock::new(0);
static GUILTY_PTHREAD: Pthread = Pthread(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
static SPINLOCK: Spinlock = Spinlock(UnsafeCell::new(0));
/// Taken for a moment in one of sixteen operations.
static INNOCENT: Mutex<u64> = Mutex::new(0);
static JOBS: Mutex<(VecDeque<u64>, bool)> = Mutex::new((VecDeque::new(), false));
static WORK: Condvar = Condvar::new();
static ROOM: Condvar = Condvar::new();

struct Pthread(UnsafeCell<libc::pthread_mutex_t>);
// SAFETY: the cell is touched by the mutex functions alone.
unsafe impl Sync for Pthread {}

impl Pthread {
    fn with(&self, work: impl FnOnce()) {
        // SAFETY: a mutex that was initialised statically and never moves.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        work();
        // SAFETY: this thread locked it above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

struct Spinlock(UnsafeCell<libc::pthread_spinlock_t>);
// SAFETY: the cell is touched by the spinlock functions alone.
unsafe impl Sync for Spinlock {}

impl Spinlock {
    fn with(&self, work: impl FnOnce()) {
        // SAFETY: zero is an unlocked spinlock (x86 has one: initialised before any thread).
        unsafe { libc::pthread_spin_lock(self.0.get()) };
        work();
        // SAFETY: this thread locked it above.
        unsafe { libc::pthread_spin_unlock(self.0.get()) };
    }
}

/// Holders of a poisoned lock have ended the program already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does this many steps.
#[inline(never)]
fn work(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

/// Steps of a microsecond, about: the fastest of many tries.
fn pace() -> u64 {
    const STEPS: u64 = 20_000;
    let time = |_| {
        let start = Instant::now();
        work(STEPS);
        start.elapsed().as_nanos().max(1) as u64
    };
    let fastest = (0..50).map(time).min().unwrap_or(1);
    (STEPS * 1_000 / fastest).max(1)
}

impl Program {
    /// Runs it. The share of its time that one thread works at a time; nothing when it was too short
    /// to measure that.
    pub(crate) fn run(&self) -> Option<f64> {
        // SAFETY: nobody uses the lock yet.
        unsafe { libc::pthread_spin_init(SPINLOCK.0.get(), 0) };
        let steps = pace() * self.operation;
        let (serial, rest) = (
            steps * self.percent / 100,
            steps * (100 - self.percent) / 100,
        );
        match self.kind {
            Kind::Pool => self.pool(serial, rest),
            Kind::Phases => self.phases(serial, rest),
            Kind::Logger => self.beside(sleeper, |me| me.phases(serial, rest)),
            Kind::Io => self.beside(reader, |me| me.turns(serial, rest)),
            _ => self.turns(serial, rest),
        }
    }

    /// All threads do operations until the time is over.
    fn turns(&self, serial: u64, rest: u64) -> Option<f64> {
        let ledger = &Ledger::default();
        let start = Instant::now();
        let price = clock::price();
        let one = |seed: u64| {
            let mut chance = clock::Chance::new(seed);
            let mut random = chance.next();
            let (mut alone, mut together) = (Steps::default(), Steps::default());
            for round in 0_u64.. {
                if round.is_multiple_of(16) {
                    if start.elapsed() >= self.duration {
                        break;
                    }
                    *lock(&INNOCENT) += 1;
                }
                let timed = clock::chosen(random);
                let mut alone_work = || alone.of(serial, timed, price, || work(serial));
                match self.kind {
                    Kind::Mutex => {
                        let mut guard = lock(&GUILTY);
                        alone_work();
                        *guard += 1;
                    }
                    Kind::RwLock | Kind::Readers => {
                        let mut guard = GUILTY_RW.write().unwrap_or_else(PoisonError::into_inner);
                        alone_work();
                        *guard += 1;
                    }
                    Kind::Spinlock => SPINLOCK.with(alone_work),
                    Kind::Free => alone_work(),
                    _ => GUILTY_PTHREAD.with(alone_work),
                }
                // Half to one and a half of the mean: nothing in life is in step.
                random = chance.next();
                let rest = rest / 2 + random % rest.max(1);
                if self.kind == Kind::Readers {
                    let guard = GUILTY_RW.read().unwrap_or_else(PoisonError::into_inner);
                    together.of(rest / 2, timed, price, || work(rest / 2));
                    drop(guard);
                    let other = rest - rest / 2;
                    together.of(other, timed, price, || work(other));
                } else {
                    together.of(rest, timed, price, || work(rest));
                }
            }
            ledger.add(alone, together);
        };
        std::thread::scope(|scope| {
            for seed in 0..self.threads as u64 {
                scope.spawn(move || one(seed + 1));
            }
        });
        ledger.serial_share()
    }

    /// This thread prepares, the pool does the rest.
    fn pool(&self, serial: u64, rest: u64) -> Option<f64> {
        const ROOMY: usize = 64;
        let (start, price, ledger) = (Instant::now(), clock::price(), &Ledger::default());
        let mut random = clock::Chance::new(0);
        std::thread::scope(|scope| {
            for seed in 1..self.threads.max(2) as u64 {
                scope.spawn(move || {
                    let (mut random, mut done) = (clock::Chance::new(seed), Steps::default());
                    loop {
                        let mut jobs = lock(&JOBS);
                        while jobs.0.is_empty() && !jobs.1 {
                            jobs = WORK.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                        }
                        let Some(steps) = jobs.0.pop_front() else {
                            break;
                        };
                        drop(jobs);
                        ROOM.notify_one();
                        let timed = clock::chosen(random.next());
                        done.of(steps, timed, price, || work(steps));
                    }
                    ledger.add(Steps::default(), done);
                });
            }
            let mut prepared = Steps::default();
            while start.elapsed() < self.duration {
                let timed = clock::chosen(random.next());
                prepared.of(serial, timed, price, || work(serial));
                let mut jobs = lock(&JOBS);
                while jobs.0.len() >= ROOMY {
                    jobs = ROOM.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                }
                jobs.0.push_back(rest);
                drop(jobs);
                WORK.notify_one();
            }
            lock(&JOBS).1 = true;
            WORK.notify_all();
            ledger.add(prepared, Steps::default());
        });
        ledger.serial_share()
    }

    /// One thread alone, then all. What it measures is the time for which one alone was there: the
    /// others start late, and one ends last.
    fn phases(&self, serial: u64, rest: u64) -> Option<f64> {
        /// Operations of one phase: long beside what the start of threads takes.
        const LONG: u64 = 100;
        let (start, threads) = (Instant::now(), self.threads as u64);
        let part = rest * LONG / threads;
        let mine = move || {
            let (from, before) = (Instant::now(), clock::processor_time());
            work(part);
            (from, Instant::now(), clock::processor_time() - before)
        };
        let (mut alone, mut all) = (0, 0);
        while start.elapsed() < self.duration {
            let (from, before) = (Instant::now(), clock::processor_time());
            work(serial * LONG);
            let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(mine)).collect();
            let own = clock::processor_time() - before;
            let mut parts = vec![mine()];
            parts.extend(others.into_iter().filter_map(|other| other.join().ok()));
            all += own + parts.iter().map(|(.., ran)| ran).sum::<u64>();
            parts.sort_by_key(|(from, ..)| *from);
            let second = parts.get(1)?.0;
            parts.sort_by_key(|(_, to, _)| *to);
            let [.., (_, last_but_one, _), (_, last, _)] = parts.as_slice() else {
                return None;
            };
            alone += (second - from + (*last - *last_but_one)).as_nanos() as u64;
        }
        (all > 0).then(|| alone as f64 / all as f64)
    }

    /// The program, and beside it another thread until it ends.
    fn beside<T>(&self, other: fn(&Mutex<bool>), program: impl FnOnce(&Self) -> T) -> T {
        let over = Mutex::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| other(&over));
            let found = program(self);
            *lock(&over) = true;
            found
        })
    }
}

/// Sleeps and logs.
fn sleeper(over: &Mutex<bool>) {
    while !*lock(over) {
        std::thread::sleep(Duration::from_millis(5));
        black_box(format!("{:?} all is well", Instant::now()));
    }
}

/// Waits for messages of itself, one after another, through a program's pipe.
fn reader(over: &Mutex<bool>) {
    let echo = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut echo) = echo else { return };
    if let (Some(mut to), Some(mut from)) = (echo.stdin.take(), echo.stdout.take()) {
        let mut byte = [0];
        while !*lock(over) && to.write_all(&byte).is_ok() && from.read_exact(&mut byte).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let _ = echo.wait();
}
