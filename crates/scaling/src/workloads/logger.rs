//! The logger of the article: clients fill a ring, a thread of low priority flushes it. On two
//! cores the flusher runs at the same time, and when it has nothing to write to, it is faster than
//! the clients.

use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::cores::CoreId;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "logger",
    sentence: "Puts 64-byte records into a 1 MB ring that a low-priority thread empties, into \
               nothing or a file, on one core and two.",
    then: "on two processors the ring never held more than a few kilobytes, because the flusher, \
           writing nothing yet, was faster than the clients",
    kind: Kind::Experiment { run, planned },
};

const RECORD: usize = 8; // words
const RECORDS: u64 = 16 * 1024;
/// Time of a setting.
const TIME: Duration = Duration::from_millis(450);

fn planned(bench: &Bench) -> Duration {
    4 * bench.time(TIME)
}

/// A ring for one writer and one reader; each side owns its own counter.
struct Ring {
    records: Vec<[AtomicU64; RECORD]>,
    written: AtomicU64,
    read: AtomicU64,
}

impl Ring {
    fn new() -> Self {
        Self {
            records: (0..RECORDS).map(|_| Default::default()).collect(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
        }
    }

    /// Puts a record in; how many are in the ring then, or `None` when it is full.
    fn put(&self, record: &[u64; RECORD]) -> Option<u64> {
        let written = self.written.load(Ordering::Relaxed);
        let held = written - self.read.load(Ordering::Acquire);
        if held == RECORDS {
            return None;
        }
        let place = &self.records[(written % RECORDS) as usize];
        for (word, value) in place.iter().zip(record) {
            word.store(*value, Ordering::Relaxed);
        }
        self.written.store(written + 1, Ordering::Release);
        Some(held + 1)
    }

    /// Takes a record out.
    fn take(&self) -> Option<[u64; RECORD]> {
        let read = self.read.load(Ordering::Relaxed);
        if read == self.written.load(Ordering::Acquire) {
            return None;
        }
        let place = &self.records[(read % RECORDS) as usize];
        let record = place.each_ref().map(|word| word.load(Ordering::Relaxed));
        self.read.store(read + 1, Ordering::Release);
        Some(record)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) records: u64,
    fullest: u64,
    waits: u64,
    lost: u64,
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let (first, second) = bench.two()?;
    let time = bench.time(TIME);
    let mut findings = Findings::of(&[
        "most in the ring",
        "waits for room",
        "million records a second",
    ]);
    let mut filled = Vec::new();
    let settings = [
        ("one core, flusher writes nothing", first, first, false),
        ("two cores, flusher writes nothing", first, second, false),
        ("one core, flusher writes to a file", first, first, true),
        ("two cores, flusher writes to a file", first, second, true),
    ];
    for (place, (name, client, flusher, writes)) in settings.into_iter().enumerate() {
        let seen = measure(client, flusher, writes, time);
        bench.go_on()?;
        filled.push(seen);
        let then = if place == 1 {
            "a few kilobytes at most"
        } else {
            ""
        };
        findings.line(
            name,
            then,
            [
                report::units::Bytes(seen.fullest * 64).to_string(),
                seen.waits.to_string(),
                format!("{:.2}", seen.records as f64 / time.as_secs_f64() / 1e6),
            ],
        );
        if seen.lost > 0 {
            findings.notes.push(format!(
                "{name}: {} records were lost or out of order; the ring is at fault",
                seen.lost
            ));
        }
    }
    if let [one, two, ..] = &filled[..] {
        findings.sentence = told(one, two);
    }
    Ok(findings)
}

/// The author's lesson in words, from a flusher that writes nothing on the client's core and on
/// another.
fn told(one: &Seen, two: &Seen) -> String {
    if two.waits > 0 {
        return format!(
            "On two cores too the ring fills here, {} times: the flusher is not faster than the \
             client.",
            two.waits
        );
    }
    let most = report::units::Bytes(two.fullest * 64);
    let alone = if one.waits > 0 {
        "it fills while the flusher waits for its turn"
    } else {
        "it does not fill either"
    };
    format!(
        "On two cores the ring never fills, at most {most} are in it: the flusher keeps up with \
         the client; on one core {alone}."
    )
}

pub(super) fn measure(client: CoreId, flusher: CoreId, writes: bool, time: Duration) -> Seen {
    let (ring, stop) = (Ring::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        let flush = scope.spawn(|| {
            let _pin = Pinned::to(flusher);
            realtime::give_way();
            flush(&ring, &stop, writes)
        });
        let log = scope.spawn(|| {
            let _pin = Pinned::to(client);
            let seen = log(&ring, time);
            stop.store(true, Ordering::Release);
            seen
        });
        let mut seen = log.join().unwrap_or_default();
        stop.store(true, Ordering::Release);
        seen.lost = flush
            .join()
            .map_or(seen.records, |taken| seen.records.abs_diff(taken));
        seen
    })
}

/// The client: makes a record, puts it in, waits when there is no room.
fn log(ring: &Ring, time: Duration) -> Seen {
    let mut seen = Seen::default();
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..64 {
            let made = black_box(host::loops::spin(20, seen.records));
            let record = [seen.records, made, 2, 3, 4, 5, 6, 7];
            loop {
                if let Some(held) = ring.put(&record) {
                    seen.fullest = seen.fullest.max(held);
                    break;
                }
                seen.waits += 1;
                thread::yield_now();
            }
            seen.records += 1;
        }
    }
    seen
}

/// The flusher: returns how many records it took in their order.
fn flush(ring: &Ring, stop: &AtomicBool, writes: bool) -> u64 {
    // Without a name the file goes away with this thread.
    let mut file = writes.then(tempfile::tempfile).and_then(Result::ok);
    let mut expected = 0;
    loop {
        let ended = stop.load(Ordering::Acquire);
        while let Some(record) = ring.take() {
            expected += u64::from(record[0] == expected);
            if let Some(file) = &mut file {
                let _ = file.write_all(record.map(u64::to_le_bytes).as_flattened());
            } else {
                black_box(record);
            }
        }
        if ended {
            return expected;
        }
        thread::yield_now();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/logger.rs"]
mod tests;
