//! The sink: an XDP program that counts frames at their destination, checks their signatures, and
//! drops them.
//!
//! What it looks at is chosen when it is loaded ([`Checks`]); what is not asked for is not in the
//! program. Reading is done from outside and costs the packets nothing.
//!
//! # What it cannot do
//! Uniqueness is known within the last [`Checks::window`] sequence numbers of a stream: a duplicate
//! that comes later is counted as late. A stream that arrives on several CPUs at once can have its
//! reordering miscounted by a few frames. Latency needs one clock: generator and sink on one
//! machine.

use bpf::attach::{Attachment, Mode, Request};
use bpf::map::{Map, MappedArray, Plain};
use bpf::program::Program;

use crate::packed::{Packed, packed};
use crate::{Error, Result};

const OBJECT: Packed = packed!("sink");
const SUB_BITS: u32 = 7;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// What the sink examines in each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Look for the signature; frames without one go to the kernel and are counted apart. Off:
    /// every frame is counted and dropped.
    pub signature: bool,
    /// Find duplicates, reordering, lateness (needs `signature`).
    pub sequence: bool,
    /// Fill the latency histograms from stamped frames (needs `signature`).
    pub latency: bool,
    /// Streams told apart (by stream number modulo this), 1 to 4096.
    pub streams: u32,
    /// Sequence numbers remembered per stream; a power of two.
    pub window: u32,
}

impl Checks {
    /// Counts and drops everything.
    pub const COUNT: Self = Self {
        signature: false,
        sequence: false,
        latency: false,
        streams: 1,
        window: 1,
    };
    /// Everything, for up to 64 streams.
    pub const ALL: Self = Self {
        signature: true,
        sequence: true,
        latency: true,
        streams: 64,
        window: 1 << 14,
    };
}

/// Sums over all CPUs since the start or the last [`Sink::clear`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames with a signature (all frames when signatures are not checked).
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Frames without a signature, passed to the kernel.
    pub other: u64,
    /// Their bytes.
    pub other_bytes: u64,
    /// Frames whose sequence number had come before, within the window.
    pub duplicate: u64,
    /// Frames older than the window.
    pub late: u64,
    /// Frames with a sequence number smaller than the largest so far (RFC 4737), late ones among
    /// them.
    pub reordered: u64,
    /// Frames with a departure time, in the latency histogram.
    pub stamped: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_sum_ns: u64,
    /// Smallest latency in nanoseconds; 0 when nothing was stamped.
    pub latency_min_ns: u64,
    /// Largest latency in nanoseconds.
    pub latency_max_ns: u64,
    /// Latency of the stamped frame that came last, in nanoseconds; 0 when nothing was stamped.
    pub last_latency_ns: u64,
    /// Stamps from the future: the sender's clock is another one.
    pub negative: u64,
    /// Stamped frames that left before the time of [`Sink::restart`]; counted nowhere else.
    pub before: u64,
}

impl Counts {
    /// Different frames received: every one that is not a duplicate. Late frames count as unique.
    pub fn unique(&self) -> u64 {
        self.frames - self.duplicate
    }
}

/// Sequence numbers of a stream that never came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Missing numbers.
    pub missing: u64,
    /// Runs of consecutive missing numbers.
    pub runs: u64,
    /// Length of the longest run.
    pub longest: u32,
    /// Largest missing number.
    pub last: Option<u32>,
    /// First number that was looked at: of those before nothing is remembered.
    pub from: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Counters {
    frames: u64,
    bytes: u64,
    other: u64,
    other_bytes: u64,
    duplicate: u64,
    late: u64,
    reordered: u64,
    stamped: u64,
    latency_sum: u64,
    latency_min: u64,
    latency_max: u64,
    previous: u64,
    last_ns: u64,
    negative: u64,
    before: u64,
}

// SAFETY: repr(C), fifteen u64, no hole.
unsafe impl Plain for Counters {}

/// Frames by nanoseconds, in buckets at most 0.8 % wide: below 128 one each, above 128 for each power
/// of two. A bucket holds at most 2^32 - 1 frames for each core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Frames in it.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Buckets that are not empty: smallest and largest nanoseconds that belong there, and the
    /// frames.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| {
                let (low, high) = bounds(index);
                (low, high, count)
            })
    }

    /// The smallest bucket's upper bound, in nanoseconds, below or at which `fraction` (0 to 1) of
    /// the frames lie; `None` when empty.
    pub fn quantile(&self, fraction: f64) -> Option<u64> {
        let wanted = (fraction * self.total() as f64).ceil().max(1.0) as u64;
        let mut sum = 0;
        self.buckets().find_map(|(_, high, count)| {
            sum += count;
            (sum >= wanted).then_some(high)
        })
    }
}

/// Smallest and largest value of a bucket.
fn bounds(index: usize) -> (u64, u64) {
    let sub = 1_u64 << SUB_BITS;
    let (block, within) = (index as u64 >> SUB_BITS, index as u64 & (sub - 1));
    if block == 0 {
        return (within, within);
    }
    let shift = block - 1;
    let low = (sub + within) << shift;
    (low, low + ((1 << shift) - 1))
}

/// A sink program with its counters; attached to any number of interfaces.
#[derive(Debug)]
pub struct Sink {
    program: Program,
    counters: Map,
    latencies: Map,
    variations: Map,
    streams: MappedArray<[u32; 16]>,
    seen: MappedArray<u64>,
    since: MappedArray<u64>,
    attachments: Vec<Attachment>,
}

impl Sink {
    /// Loads a sink.
    ///
    /// # Errors
    /// [`Error::Value`] for a setting out of range, else the loader's errors.
    pub fn new(checks: Checks) -> Result<Self> {
        let slots = u64::from(checks.streams) * u64::from(checks.window);
        if checks.streams == 0
            || checks.streams > 4096
            || !checks.window.is_power_of_two()
            || slots > 1 << 26
        {
            let value = format!("{} × {}", checks.streams, checks.window);
            let remedy = "give 1 to 4096 streams, a window that is a power of two, and at most \
                         2^26 together";
            return Err(Error::value("streams × window of the sink", value, remedy));
        }
        let loaded = OBJECT
            .loader()?
            .constant("CHECK", u64::from(checks.signature))
            .constant("SEQUENCE", u64::from(checks.sequence))
            .constant("LATENCY", u64::from(checks.latency))
            .constant("STREAMS", u64::from(checks.streams))
            .constant("WINDOW", u64::from(checks.window))
            .entries("streams", checks.streams)?
            .entries("seen", slots as u32)?
            .load()?;
        Ok(Self {
            program: loaded.program("sink")?,
            counters: loaded.map("counters")?,
            latencies: loaded.map("latencies")?,
            variations: loaded.map("variations")?,
            streams: loaded.map("streams")?.mapped()?,
            seen: loaded.map("seen")?.mapped()?,
            since: loaded.map("since")?.mapped()?,
            attachments: Vec::new(),
        })
    }

    /// Attaches it to `interface` of the calling thread's network namespace, and says in which
    /// mode.
    ///
    /// # Errors
    /// As [`Attachment::new`].
    pub fn attach(&mut self, interface: &str, request: Request) -> Result<Mode> {
        let attachment = Attachment::new(&self.program, interface, request)?;
        let mode = attachment.mode();
        self.attachments.push(attachment);
        Ok(mode)
    }

    /// The program itself, to be put in another's place.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Sums over all CPUs.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn counts(&self) -> Result<Counts> {
        let mut sum = Counts::default();
        let mut last_ns = 0;
        for cpu in self.counters.get_per_cpu::<u32, Counters>(0)? {
            sum.frames += cpu.frames;
            sum.bytes += cpu.bytes;
            sum.other += cpu.other;
            sum.other_bytes += cpu.other_bytes;
            sum.duplicate += cpu.duplicate;
            sum.late += cpu.late;
            sum.reordered += cpu.reordered;
            sum.negative += cpu.negative;
            sum.before += cpu.before;
            if cpu.stamped > 0 {
                sum.latency_min_ns = if sum.stamped == 0 {
                    cpu.latency_min
                } else {
                    sum.latency_min_ns.min(cpu.latency_min)
                };
                sum.latency_max_ns = sum.latency_max_ns.max(cpu.latency_max);
                if cpu.last_ns > last_ns {
                    (last_ns, sum.last_latency_ns) = (cpu.last_ns, cpu.previous);
                }
            }
            sum.stamped += cpu.stamped;
            sum.latency_sum_ns += cpu.latency_sum;
        }
        Ok(sum)
    }

    /// Frames received on each CPU.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn frames_per_cpu(&self) -> Result<Vec<u64>> {
        Ok(self
            .counters
            .get_per_cpu::<u32, Counters>(0)?
            .iter()
            .map(|cpu| cpu.frames)
            .collect())
    }

    /// One-way delays of stamped frames.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn latencies(&self) -> Result<Histogram> {
        histogram(&self.latencies)
    }

    /// Differences (without sign) between the delays of consecutive stamped frames on a CPU: the
    /// variation (IPDV) of RFC 5481.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn variations(&self) -> Result<Histogram> {
        histogram(&self.variations)
    }

    /// Largest sequence number of a stream so far; 0 before the first. One read of shared memory.
    pub fn largest(&self, stream: u16) -> u32 {
        let slot = usize::from(stream) % self.streams.len().max(1);
        self.streams.read(slot)[0]
    }

    /// Which of the numbers `first..=last` of a stream never came, as far back from `last` as the
    /// window remembers ([`Gaps::from`]).
    pub fn gaps(&self, stream: u16, first: u32, last: u32) -> Gaps {
        let window = self.seen.len() / self.streams.len().max(1);
        let oldest = (last + 1).saturating_sub(window as u32);
        let first = first.max(oldest);
        let base = usize::from(stream) % self.streams.len().max(1) * window;
        let mut gaps = Gaps {
            from: first,
            ..Gaps::default()
        };
        let mut run = 0;
        for number in first..=last {
            // The slot's first four bytes: elements of a mapped array are eight apart.
            let seen = self.seen.read(base + (number as usize & (window - 1))) as u32;
            if seen == number {
                run = 0;
                continue;
            }
            run += 1;
            gaps.missing += 1;
            gaps.runs += u64::from(run == 1);
            gaps.longest = gaps.longest.max(run);
            gaps.last = Some(number);
        }
        gaps
    }

    /// Sets everything to zero, for frames that leave from now on: stamped ones that left before
    /// `since_ns` of `CLOCK_MONOTONIC`, which a queue on the way still holds, are counted as
    /// [`Counts::before`] and nowhere else (needs [`Checks::latency`]). They may arrive
    /// meanwhile; but a frame that is in the program at this very moment may be counted either way.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn restart(&self, since_ns: u64) -> Result<()> {
        self.since.write(0, since_ns);
        for map in [&self.counters, &self.latencies, &self.variations] {
            map.clear_per_cpu(0_u32)?;
        }
        self.streams.clear();
        self.seen.clear();
        Ok(())
    }

    /// Sets everything to zero and counts frames whenever they left; call it while nothing arrives.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn clear(&self) -> Result<()> {
        self.restart(0)
    }

    /// Runs it on one frame by hand; nothing needs to be attached.
    ///
    /// # Errors
    /// [`bpf::Error::Run`].
    pub fn run(&self, frame: &[u8]) -> Result<bpf::sys::RunResult> {
        Ok(self.program.run(frame, 0, 1)?)
    }
}

fn histogram(map: &Map) -> Result<Histogram> {
    let mut counts = vec![0; BUCKETS];
    for cpu in map.get_per_cpu::<u32, [u32; BUCKETS]>(0)? {
        for (sum, count) in counts.iter_mut().zip(cpu) {
            *sum += u64::from(count);
        }
    }
    Ok(Histogram { counts })
}

#[cfg(test)]
#[path = "../tests/unit/sink.rs"]
mod tests;
