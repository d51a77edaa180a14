//! The timeline's data: columns of variable-length numbers, deflated and in base64.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::analyse::Analysis;
use crate::event::Tid;
use crate::fast_map::FastMap;
use crate::timeline::{Cause, Doing, Life, Timeline, UNKNOWN};
use crate::varint::{put, put_bytes};
use crate::verdict::title;

/// Threads with a row of their own; the rest is seen on the cores.
const ROWS: usize = 64;

/// The timeline's data: see `timeline.js`, which reads it in the same order.
pub(super) struct Columns(Vec<u8>);

impl Columns {
    /// Deflated, in base64; and their length before that.
    pub(super) fn packed(&self) -> (String, usize) {
        (base64(&deflate(&self.0)), self.0.len())
    }

    /// The columns of an analysis.
    pub(super) fn of(analysis: &Analysis) -> Self {
        let timeline = &analysis.timeline;
        let mut columns = Self(Vec::new());
        let names = Names::of(timeline);
        columns.number(timeline.wall());
        columns.number(names.list.len() as u64);
        for (tid, name, role) in &names.list {
            columns.number(*tid);
            columns.number(*role);
            columns.text(name);
        }
        columns.cores(timeline, &names);
        columns.threads(analysis, &names);
        columns.locks(analysis, &names);
        columns
    }

    fn number(&mut self, value: impl Into<u64>) {
        put(&mut self.0, value);
    }

    /// A column: its values.
    fn column(&mut self, values: impl Iterator<Item = u64>) {
        values.for_each(|value| self.number(value));
    }

    /// The starts of `spans` (start, end), each from the end of the one before.
    fn gaps(&mut self, mut at: u64, spans: impl Iterator<Item = (u64, u64)>) {
        self.column(
            spans.map(|(start, end)| start.saturating_sub(std::mem::replace(&mut at, end))),
        );
    }

    fn text(&mut self, text: &str) {
        put_bytes(&mut self.0, text.as_bytes());
    }

    /// For each core its runs without the idle ones: gap, length, thread.
    fn cores(&mut self, timeline: &Timeline, names: &Names) {
        self.number(timeline.cores.len() as u64);
        for (cpu, runs) in timeline.cores.iter().zip(&timeline.runs) {
            let busy: Vec<_> = runs.iter().filter(|run| run.tid != 0).collect();
            self.number(*cpu);
            self.number(busy.len() as u64);
            self.gaps(timeline.start, busy.iter().map(|run| (run.start, run.end)));
            self.column(busy.iter().map(|run| run.end - run.start));
            self.column(busy.iter().map(|run| names.index(run.tid)));
        }
    }

    /// For each thread with a row its segments: gap, length, state, who woke it.
    fn threads(&mut self, analysis: &Analysis, names: &Names) {
        let timeline = &analysis.timeline;
        let is_lock = |object: u32| {
            analysis
                .classes
                .get(object as usize)
                .is_some_and(|class| class.is_lock())
        };
        let rows = rows(timeline);
        self.number(rows.len() as u64);
        for life in rows {
            let segments = || life.segments.iter();
            self.number(names.index(life.tid));
            self.number(life.segments.len() as u64);
            self.gaps(
                timeline.start,
                segments().map(|segment| (segment.start, segment.end)),
            );
            self.column(segments().map(|segment| segment.end - segment.start));
            self.column(segments().map(|segment| match segment.doing {
                Doing::Running(cpu) => 8 + u64::from(cpu),
                Doing::Runnable => 0,
                Doing::Blocked(Cause::Futex(object)) if is_lock(object) => 1,
                Doing::Blocked(Cause::KernelLock(_)) => 2,
                Doing::Blocked(Cause::Disk) => 3,
                Doing::Blocked(Cause::Timer) => 4,
                Doing::Blocked(Cause::Network | Cause::Device) => 5,
                Doing::Blocked(Cause::Thread) => 6,
                Doing::Blocked(Cause::Futex(_) | Cause::Stopped | Cause::Unknown) => 7,
            }));
            self.column(segments().map(|segment| match segment.waker {
                UNKNOWN => 0,
                waker => names.index(waker) + 1,
            }));
        }
    }

    /// For each lock worth a row the waits before it: gap between starts, length, thread.
    fn locks(&mut self, analysis: &Analysis, names: &Names) {
        const MOST: usize = 8;
        const WORTH_A_ROW: f64 = 0.002;
        let timeline = &analysis.timeline;
        let locks: Vec<_> = analysis
            .locks
            .iter()
            .filter(|lock| lock.cost.contended_share >= WORTH_A_ROW)
            .take(MOST)
            .collect();
        self.number(locks.len() as u64);
        for lock in locks {
            let mut waits: Vec<(u64, u64, Tid)> = timeline
                .waits()
                .filter(|(.., object)| *object == lock.index)
                .map(|(tid, segment, _)| (segment.start, segment.end, tid))
                .collect();
            waits.sort_unstable();
            self.text(&title(lock));
            self.number(waits.len() as u64);
            self.gaps(
                timeline.start,
                waits.iter().map(|(start, ..)| (*start, *start)),
            );
            self.column(waits.iter().map(|(start, end, _)| end - start));
            self.column(waits.iter().map(|(.., tid)| names.index(*tid)));
        }
    }
}

/// The threads with rows of their own: the program's, by time on a core.
fn rows(timeline: &Timeline) -> Vec<&Life> {
    let mut rows: Vec<_> = timeline.targets().map(|life| (life.ran(), life)).collect();
    rows.sort_by_key(|(time, life)| (std::cmp::Reverse(*time), life.tid));
    rows.truncate(ROWS);
    rows.into_iter().map(|(_, life)| life).collect()
}

/// Threads by their place in the page's list.
struct Names {
    list: Vec<(Tid, String, u64)>,
    places: FastMap<Tid, u64>,
}

impl Names {
    fn of(timeline: &Timeline) -> Self {
        let mut names = Self {
            list: vec![(UNKNOWN, "not known".to_owned(), 5)],
            places: FastMap::default(),
        };
        names.places.insert(UNKNOWN, 0);
        for life in &timeline.lives {
            let role = timeline.threads.role(life.tid) as u64;
            names.places.insert(life.tid, names.list.len() as u64);
            names
                .list
                .push((life.tid, timeline.threads.name(life.tid), role));
        }
        names
    }

    fn index(&self, tid: Tid) -> u64 {
        self.places.get(&tid).copied().unwrap_or(0)
    }
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    // A vector takes everything; were it not so, the page would have an empty timeline.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(LETTERS[(word >> (18 - 6 * place) & 63) as usize] as char);
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "../../../tests/unit/columns.rs"]
mod tests;
