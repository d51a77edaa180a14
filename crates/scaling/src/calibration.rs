//! Loads whose scaling is known by construction: the instrument's own test, to be run before it is believed.
//!
//! Every load is a process with as many threads as cores that does a fixed amount of work; how the threads meet sets the
//! serial fraction. The truth is a formula, not a figure from another machine.

use crate::{loops, random::Random};
use host::pin::Pinned;
use std::{
    hint::black_box,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// What a calibration load must show.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// This serial fraction on so many cores, within this error (absolute).
    Fraction {
        /// The formula.
        at: fn(u32) -> f64,
        /// The stated error.
        error: f64,
    },
    /// A speed-up below this, at any number of cores above one.
    Below(f64),
}

/// Which part of the exact split has to carry the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing is lost.
    Nothing,
    /// Idle cores.
    Idle,
    /// Dearer user work.
    User,
}

/// A load with its truth.
pub struct Load {
    /// What it is called.
    pub name: &'static str,
    /// How its threads meet.
    pub sentence: &'static str,
    /// What must come out.
    pub truth: Truth,
    /// Where the loss must be found.
    pub carrier: Carrier,
    /// Does the work with this many threads.
    pub run: fn(usize),
}

/// Share of the work that is serial in the loads that have a share.
pub const SHARE: f64 = 0.2;

/// All loads.
pub fn all() -> &'static [Load] {
    const NONE: fn(u32) -> f64 = |_| 0.0;
    const AMDAHL: fn(u32) -> f64 = |_| SHARE;
    &[
        Load {
            name: "spin",
            sentence: "arithmetic in registers, divided evenly",
            truth: Truth::Fraction {
                at: NONE,
                error: 0.03,
            },
            carrier: Carrier::Nothing,
            run: |threads| phases(threads, 0.0, Serial::None),
        },
        Load {
            name: "serial-share",
            sentence: "a fifth of the work done by one thread while the others wait",
            truth: Truth::Fraction {
                at: AMDAHL,
                error: 0.04,
            },
            carrier: Carrier::Idle,
            run: |threads| phases(threads, SHARE, Serial::Work),
        },
        Load {
            name: "sleep-share",
            sentence: "a fifth of the time on one core spent asleep",
            truth: Truth::Fraction {
                at: AMDAHL,
                error: 0.04,
            },
            carrier: Carrier::Idle,
            run: |threads| phases(threads, SHARE, Serial::Sleep),
        },
        Load {
            name: "lock-share",
            sentence: "a third of the work under one lock, of random lengths, waiting by spinning",
            truth: Truth::Fraction {
                at: |n| closed_queue(LOCKED, n),
                error: 0.05,
            },
            carrier: Carrier::User,
            run: lock,
        },
        Load {
            name: "shared-counter",
            sentence: "every step adds to one counter that all share",
            truth: Truth::Below(1.5),
            carrier: Carrier::User,
            run: |threads| counters(threads, Layout::One),
        },
        Load {
            name: "false-sharing",
            sentence: "every thread adds to its own counter, all in one cache line",
            truth: Truth::Below(1.5),
            carrier: Carrier::User,
            run: |threads| counters(threads, Layout::OneLine),
        },
        Load {
            name: "own-lines",
            sentence: "every thread adds to its own counter, each in a line of its own",
            truth: Truth::Fraction {
                at: NONE,
                error: 0.04,
            },
            carrier: Carrier::Nothing,
            run: |threads| counters(threads, Layout::OwnLines),
        },
    ]
}

/// The load with this name.
pub fn find(name: &str) -> Option<&'static Load> {
    all().iter().find(|load| load.name == name)
}

/// Steps of the whole work: half a second on one core, so that starting threads and placing them is no part of the result.
const STEPS: u64 = 400_000_000;
/// The work comes in so many phases, so that threads meet more than once.
const PHASES: u64 = 8;
/// The share of `lock-share` under the lock.
const LOCKED: f64 = 1.0 / 3.0;

#[derive(Clone, Copy)]
enum Serial {
    None,
    Work,
    Sleep,
}

/// Keeps thread `number` on a core of its own among the allowed ones, so that where the scheduler puts a woken thread is no part of
/// the truth.
fn own_core(number: usize) -> Option<Pinned> {
    let cores = host::cores::allowed_cores().ok()?;
    Pinned::to(*cores.get(number % cores.len().max(1))?).ok()
}

/// Phases of divided work, each after a serial part that one thread does alone.
fn phases(threads: usize, share: f64, serial: Serial) {
    let meeting = Barrier::new(threads);
    let each = (STEPS as f64 * (1.0 - share)) as u64 / PHASES / threads as u64;
    let alone = (STEPS as f64 * share) as u64 / PHASES;
    // How long the serial part takes by sleeping is learned from the divided part, so that the share is one of time.
    let pause = match serial {
        Serial::Sleep => {
            let sample = STEPS / 50;
            let timed = || {
                let start = std::time::Instant::now();
                loops::spin(sample, 1);
                start.elapsed()
            };
            let fastest = (0..5).map(|_| timed()).min().unwrap_or_default();
            fastest.mul_f64(alone as f64 / sample as f64)
        }
        Serial::None | Serial::Work => Duration::ZERO,
    };
    thread::scope(|scope| {
        for number in 0..threads {
            let (meeting, serial) = (&meeting, &serial);
            scope.spawn(move || {
                let _pin = own_core(number);
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
    });
}

/// Work inside and outside a lock, both of random length with an exponential distribution, so that the closed queue has a formula.
fn lock(threads: usize) {
    const ITEMS: u64 = 16_000;
    let (held, left) = (AtomicBool::new(false), AtomicU64::new(ITEMS));
    let mean = STEPS as f64 / ITEMS as f64;
    thread::scope(|scope| {
        for number in 0..threads {
            let (held, left) = (&held, &left);
            scope.spawn(move || {
                let _pin = own_core(number);
                let mut random = Random::new(7 + number as u64);
                let mut length = |share: f64| {
                    let u = (random.below(1 << 30) as f64 + 1.0) / f64::from(1 << 30);
                    (-u.ln() * mean * share) as u64
                };
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
    });
}

/// The serial fraction of a closed queue: `cores` customers think for `1 - share` and are served one by one for `share`
/// (exact mean value analysis; Reiser and Lavenberg, JACM 27(2), 1980).
pub fn closed_queue(share: f64, cores: u32) -> f64 {
    let (mut queue, mut rate) = (0.0, 1.0);
    for customers in 1..=cores {
        let response = share * (1.0 + queue);
        rate = f64::from(customers) / (1.0 - share + response);
        queue = rate * response;
    }
    let n = f64::from(cores);
    if cores > 1 {
        (n / rate - 1.0) / (n - 1.0)
    } else {
        0.0
    }
}

#[derive(Clone, Copy)]
enum Layout {
    One,
    OneLine,
    OwnLines,
}

fn counters(threads: usize, layout: Layout) {
    const ADDS: u64 = 60_000_000;
    const APART: usize = 32; // words: four lines, beyond what prefetchers pull in pairs
    // One buffer for all layouts, begun on a line: the first counter that starts one is taken as the origin.
    let words: Vec<AtomicU64> = (0..APART * (threads + 1))
        .map(|_| AtomicU64::new(0))
        .collect();
    let origin = words
        .iter()
        .position(|w| std::ptr::from_ref(w).addr() % loops::LINE == 0)
        .unwrap_or(0);
    thread::scope(|scope| {
        for number in 0..threads {
            let place = match layout {
                Layout::One => 0,
                Layout::OneLine => number % (loops::LINE / 8),
                Layout::OwnLines => number * APART,
            };
            let word = &words[origin + place];
            scope.spawn(move || {
                let _pin = own_core(number);
                for _ in 0..ADDS / threads as u64 {
                    word.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    black_box(&words);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{
        Point,
        fit::{Form, Weighting, fit},
        usl::Usl,
    };

    #[test]
    fn the_closed_queue_has_its_known_values() {
        assert!(
            (closed_queue(0.2, 2) - 0.04).abs() < 1e-12,
            "two customers: the square of the share"
        );
        assert!(closed_queue(0.2, 1).abs() < 1e-12);
        let limit = 64.0 / (1.0 + 63.0 * closed_queue(0.2, 64));
        assert!(
            (limit - 5.0).abs() < 0.01,
            "many customers are served one by one"
        );
    }

    #[test]
    fn known_coefficients_are_recovered_through_noise() {
        let mut random = Random::new(9);
        for (sigma, kappa) in [(0.05, 0.0), (0.02, 0.003), (0.2, 0.0005)] {
            let truth = Usl {
                gamma: 50.0,
                sigma,
                kappa,
            };
            let points: Vec<Point> = [1, 2, 3, 4, 6, 8, 12, 16, 24]
                .into_iter()
                .flat_map(|cores| std::iter::repeat_n(cores, 9))
                .map(|cores| {
                    let noise = random.below(1000) as f64 / 1000.0 - 0.5;
                    Point {
                        cores,
                        rate: truth.rate(f64::from(cores)) * (1.0 + 0.02 * noise),
                    }
                })
                .collect();
            let found = fit(&points, Form::Usl, Weighting::Relative).unwrap().law;
            assert!((found.sigma - sigma).abs() < 0.005, "{truth:?} {found:?}");
            assert!((found.kappa - kappa).abs() < 0.0003, "{truth:?} {found:?}");
        }
    }

    #[test]
    fn loads_end_with_every_number_of_threads() {
        for threads in [1, 2] {
            counters(threads, Layout::OneLine);
            counters(threads, Layout::OwnLines);
        }
        assert!(find("spin").is_some() && find("none").is_none());
    }
}
