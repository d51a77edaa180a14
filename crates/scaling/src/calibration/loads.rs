//! What the threads of the calibration loads do.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use figures::Random;
use host::loops;
use host::pin::Pinned;
use host::pressure::Caches;
use host::topology::Topology;

/// Steps of the whole work: a third of a second on one core. Long enough that starting threads and
/// placing them is no part of the result, short enough for many rounds: where neighbours share the
/// processor, ratios of runs that follow each other closely scatter less, many of them give a
/// sharper median than few long ones.
pub(super) const STEPS: u64 = 150_000_000;
/// The work comes in so many phases, so that threads meet more than once.
const PHASES: u64 = 4;
/// The share of `lock-share` under the lock: so much that what is lost by waiting stands out from
/// what starting threads costs.
pub(super) const LOCKED: f64 = 0.5;

/// What the serial part is.
#[derive(Clone, Copy)]
pub(super) enum Serial {
    None,
    Work,
    Sleep,
}

/// Keeps thread `number` on a core of its own among the allowed ones, so that where the scheduler
/// puts a woken thread is no part of the truth.
fn own_core(number: usize) -> Option<Pinned> {
    let cores = host::cores::allowed_cores().ok()?;
    Pinned::to(*cores.get(number % cores.len().max(1))?).ok()
}

/// Runs `body` with the number of each of `threads` threads, each on a core of its own.
fn each_thread(threads: usize, body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let body = &body;
            scope.spawn(move || {
                let _pin = own_core(number);
                body(number);
            });
        }
    });
}

/// Phases of divided work, each after a serial part that one thread does alone.
pub(super) fn phases(threads: usize, share: f64, serial: Serial) {
    let meeting = Barrier::new(threads);
    let each = (STEPS as f64 * (1.0 - share)) as u64 / PHASES / threads as u64;
    let alone = (STEPS as f64 * share) as u64 / PHASES;
    let pause = match serial {
        Serial::Sleep => pause(share),
        Serial::None | Serial::Work => Duration::ZERO,
    };
    each_thread(threads, |number| {
        for phase in 0..PHASES {
            if number == 0 {
                match serial {
                    Serial::None => {}
                    Serial::Work => {
                        black_box(loops::spin(alone, phase));
                    }
                    Serial::Sleep => thread::sleep(pause),
                }
            }
            if threads > 1 {
                meeting.wait();
            }
            black_box(loops::spin(each, phase));
            if threads > 1 {
                meeting.wait();
            }
        }
    });
}

/// The sleep before each phase that makes `share` of the time on one core serial. How long that is,
/// is learned from the divided work; the learning is serial time too, and part of the share.
fn pause(share: f64) -> Duration {
    const SAMPLES: u32 = 5;
    let start = Instant::now();
    let sample = STEPS / 200;
    let timed = || {
        let start = Instant::now();
        loops::spin(sample, 1);
        start.elapsed()
    };
    let fastest = (0..SAMPLES).map(|_| timed()).min().unwrap_or_default();
    let serial = fastest.mul_f64(share * STEPS as f64 / sample as f64);
    serial.saturating_sub(start.elapsed()) / PHASES as u32
}

/// Work inside and outside a lock, both of random length with an exponential distribution, so that
/// the closed queue has a formula.
pub(super) fn lock(threads: usize) {
    const ITEMS: u64 = 8_000;
    let (held, left) = (AtomicBool::new(false), AtomicU64::new(ITEMS));
    let mean = STEPS as f64 / ITEMS as f64;
    each_thread(threads, |number| {
        let mut random = Random::new(7 + number as u64);
        let mut length = |share: f64| (-(1.0 - random.unit()).ln() * mean * share) as u64;
        while left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_ok()
        {
            black_box(loops::spin(length(1.0 - LOCKED), 1));
            while held
                .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                std::hint::spin_loop();
            }
            black_box(loops::spin(length(LOCKED), 1));
            held.store(false, Ordering::Release);
        }
    });
}

/// Where the counters are.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    One,
    OneLine,
    OwnLines,
}

/// Every thread adds to its counter.
pub(super) fn counters(threads: usize, layout: Layout) {
    const APART: usize = 32; // words: four lines, beyond what prefetchers pull in pairs
    // Alone on a line an addition costs a tenth of what it costs beside another thread's.
    let adds: u64 = match layout {
        Layout::One | Layout::OneLine => 20_000_000,
        Layout::OwnLines => 60_000_000,
    };
    // One buffer for all layouts, begun on a line: the first counter that starts one is taken as
    // the origin.
    let words: Vec<AtomicU64> = (0..APART * (threads + 1))
        .map(|_| AtomicU64::new(0))
        .collect();
    let origin = words
        .iter()
        .position(|w| std::ptr::from_ref(w).addr() % loops::LINE == 0)
        .unwrap_or(0);
    each_thread(threads, |number| {
        let place = match layout {
            Layout::One => 0,
            Layout::OneLine => number % (loops::LINE / 8),
            Layout::OwnLines => number * APART,
        };
        let word = &words[origin + place];
        for _ in 0..adds / threads as u64 {
            word.fetch_add(1, Ordering::Relaxed);
        }
    });
    black_box(&words);
}

/// Every thread reads a buffer of its own, four times the last-level cache, again and again for a
/// fixed time. Returns bytes a second from when all buffers are ready: making them is no reading,
/// and no thread reads alone because another has ended.
pub(super) fn stream(threads: usize) -> f64 {
    const TIME: Duration = Duration::from_millis(300);
    const PIECE: usize = 1 << 17; // words: a megabyte, so that all stop at once
    let size = Caches::read(&Topology::read()).stream();
    let (ready, stop, words_read) = (
        Barrier::new(threads + 1),
        AtomicBool::new(false),
        AtomicU64::new(0),
    );
    let seconds = thread::scope(|scope| {
        for number in 0..threads {
            let (ready, stop, words_read) = (&ready, &stop, &words_read);
            scope.spawn(move || {
                let _pin = own_core(number);
                let words = loops::buffer(size);
                ready.wait();
                let mut read = 0;
                for piece in words.chunks(PIECE).cycle() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    black_box(loops::read(piece));
                    read += piece.len() as u64;
                }
                words_read.fetch_add(read, Ordering::Relaxed);
            });
        }
        ready.wait();
        let start = Instant::now();
        thread::sleep(TIME);
        stop.store(true, Ordering::Relaxed);
        start.elapsed().as_secs_f64()
    });
    8.0 * words_read.into_inner() as f64 / seconds
}

/// One piece of the Makefile's work: so many steps by one thread.
pub(super) fn piece(steps: u64) {
    black_box(loops::spin(steps, 1));
}
