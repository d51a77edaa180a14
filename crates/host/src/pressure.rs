//! Aggressors: threads of ours that press on one shared resource each, for a share of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{CoreId, Pinned, Topology, loops};

/// One working slice and the pause after it take this long together.
const PERIOD: Duration = Duration::from_millis(2);
/// Wake-ups a second that the interrupt channel makes at full dose.
pub const WAKEUPS: f64 = 10_000.0;

/// A way in which one core's work can disturb another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Another core computes in registers: only the clock and the power are shared.
    Clock,
    /// Another core changes lines all over a share of the last-level cache.
    Cache,
    /// Another core reads memory as fast as it can.
    MemoryReads,
    /// Another core writes memory as fast as it can.
    MemoryWrites,
    /// The second thread of the same core computes.
    Sibling,
    /// A timer interrupts the same core, ten thousand times a second at full dose.
    Interrupts,
    /// Another task wants the same core.
    SameCore,
}

impl Channel {
    /// All of them, mildest first.
    pub const ALL: [Self; 7] = [
        Self::Clock,
        Self::Cache,
        Self::MemoryReads,
        Self::MemoryWrites,
        Self::Sibling,
        Self::Interrupts,
        Self::SameCore,
    ];

    /// What is shared, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock and power",
            Self::Cache => "last-level cache",
            Self::MemoryReads => "memory bandwidth (reads)",
            Self::MemoryWrites => "memory bandwidth (writes)",
            Self::Sibling => "execution units of the core",
            Self::Interrupts => "interrupts on the core",
            Self::SameCore => "the core itself",
        }
    }

    /// Whether the pressure comes from another core, as that of more copies or threads does.
    pub const fn from_another_core(self) -> bool {
        matches!(
            self,
            Self::Clock | Self::Cache | Self::MemoryReads | Self::MemoryWrites
        )
    }
}

/// Sizes that the channels need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caches {
    /// Bytes of the largest cache of a core.
    pub last: usize,
    /// Bytes of its second level.
    pub second: usize,
}

impl Caches {
    /// Most bytes that a stream uses: more shows no more.
    const STREAM_MOST: usize = 512 << 20;

    /// Reads the sizes of the first core, or guesses what is common where the kernel does not say.
    pub fn read(topology: &Topology) -> Self {
        let sizes = |level| {
            let caches = topology.cores.first().map(|core| &core.caches)?;
            caches
                .iter()
                .filter(|c| c.level == level && c.kind != "Instruction")
                .map(|c| c.bytes as usize)
                .max()
        };
        let second = sizes(2).unwrap_or(1 << 20);
        Self {
            last: sizes(3).unwrap_or(second).max(second),
            second,
        }
    }

    /// A buffer four times the last-level cache (STREAM's rule), at most 512 MiB.
    pub fn stream(&self) -> usize {
        (4 * self.last).min(Self::STREAM_MOST)
    }
}

/// A resting aggressor looks this often whether it is to go on.
const REST: Duration = Duration::from_micros(200);

/// A running aggressor; dropping it stops the thread.
pub struct Aggressor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What an aggressor and its thread tell each other.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    resting: AtomicBool,
    /// The buffer is there.
    ready: AtomicBool,
    work: AtomicU64,
}

impl Aggressor {
    /// Starts pressing on `channel` from `core` for the share `duty` (0 to 1) of the time; on the
    /// cache all the time, on that share of it. The buffer is ready when this returns.
    pub fn start(channel: Channel, core: CoreId, duty: f64, caches: Caches) -> Self {
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // A core that is not ours to use presses on nothing; the caller chooses among the
            // allowed ones.
            let _pin = Pinned::to(core);
            let mut body = body(channel, caches, duty);
            theirs.ready.store(true, Ordering::Release);
            if channel == Channel::Interrupts {
                wake_often(duty, &theirs);
            } else {
                let duty = if channel == Channel::Cache { 1.0 } else { duty };
                let mut body = || {
                    if theirs.resting.load(Ordering::Relaxed) {
                        thread::sleep(REST);
                        return 0;
                    }
                    body()
                };
                work_and_pause(duty, &theirs, &mut body);
            }
        });
        while !shared.ready.load(Ordering::Acquire) && !thread.is_finished() {
            thread::sleep(Duration::from_micros(200));
        }
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Lets it rest, or go on. The channel of interrupts does not rest.
    pub fn rest(&self, resting: bool) {
        self.shared.resting.store(resting, Ordering::Relaxed);
    }

    /// Bytes moved (or steps done) so far.
    pub fn work(&self) -> u64 {
        self.shared.work.load(Ordering::Relaxed)
    }
}

impl Drop for Aggressor {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A piece of work of some ten microseconds; returns the bytes moved or steps done.
fn body(channel: Channel, caches: Caches, dose: f64) -> Box<dyn FnMut() -> u64> {
    const PIECE: usize = 16 * 1024; // words
    match channel {
        Channel::Cache => {
            let bytes = (caches.last as f64 * dose.clamp(0.0, 1.0)) as usize;
            let mut words = loops::buffer(bytes.max(2 * loops::LINE));
            let mut place = 0;
            Box::new(move || {
                loops::thrash(&mut words, 1024, &mut place);
                1024 * loops::LINE as u64
            })
        }
        Channel::MemoryReads | Channel::MemoryWrites => {
            let mut words = loops::buffer(caches.stream());
            let mut at = 0;
            Box::new(move || {
                let end = (at + PIECE).min(words.len());
                let piece = &mut words[at..end];
                let bytes = 8 * piece.len() as u64;
                if channel == Channel::MemoryReads {
                    std::hint::black_box(loops::read(piece));
                } else {
                    loops::fill(piece, 1);
                }
                at = if end == words.len() { 0 } else { end };
                bytes
            })
        }
        Channel::Clock | Channel::Sibling | Channel::SameCore | Channel::Interrupts => {
            let mut value = 1;
            Box::new(move || {
                value = loops::spin(5_000, value);
                5_000
            })
        }
    }
}

fn work_and_pause(duty: f64, shared: &Shared, body: &mut dyn FnMut() -> u64) {
    let busy = PERIOD.mul_f64(duty.clamp(0.0, 1.0));
    while !shared.stop.load(Ordering::Acquire) {
        let begin = Instant::now();
        while begin.elapsed() < busy {
            shared.work.fetch_add(body(), Ordering::Relaxed);
        }
        let pause = PERIOD.saturating_sub(begin.elapsed());
        if duty < 1.0 && !pause.is_zero() {
            thread::sleep(pause);
        }
    }
}

fn wake_often(duty: f64, shared: &Shared) {
    // SAFETY: PR_SET_TIMERSLACK takes a number of nanoseconds and concerns this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let pause = Duration::from_secs_f64(1.0 / (WAKEUPS * duty.max(0.01)));
    while !shared.stop.load(Ordering::Acquire) {
        thread::sleep(pause);
        shared.work.fetch_add(1, Ordering::Relaxed);
    }
}
