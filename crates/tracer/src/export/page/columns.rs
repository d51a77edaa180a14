//! The timeline's data: columns of variable-length numbers, deflated and in base64.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::analyse::Analysis;
use crate::event::Tid;
use crate::threads::Role;
use crate::timeline::{Cause, Doing, Timeline, UNKNOWN};
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
            columns.number(u64::from(*tid));
            columns.number(*role);
            columns.text(name);
        }
        columns.cores(timeline, &names);
        columns.threads(analysis, &names);
        columns.locks(analysis, &names);
        columns
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// For each core its runs without the idle ones: gap, length, thread.
    fn cores(&mut self, timeline: &Timeline, names: &Names) {
        self.number(timeline.cores.len() as u64);
        for (cpu, runs) in timeline.cores.iter().zip(&timeline.runs) {
            let busy: Vec<_> = runs.iter().filter(|run| run.tid != 0).collect();
            self.number(u64::from(*cpu));
            self.number(busy.len() as u64);
            let mut at = timeline.start;
            for run in &busy {
                self.number(run.start - at);
                at = run.end;
            }
            for run in &busy {
                self.number(run.end - run.start);
            }
            for run in &busy {
                self.number(names.index(run.tid));
            }
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
            self.number(names.index(life.tid));
            self.number(life.segments.len() as u64);
            let mut at = timeline.start;
            for segment in &life.segments {
                self.number(segment.start.saturating_sub(at));
                at = segment.end;
            }
            for segment in &life.segments {
                self.number(segment.end - segment.start);
            }
            for segment in &life.segments {
                self.number(match segment.doing {
                    Doing::Running(cpu) => 8 + u64::from(cpu),
                    Doing::Runnable => 0,
                    Doing::Blocked(Cause::Futex(object)) if is_lock(object) => 1,
                    Doing::Blocked(Cause::KernelLock(_)) => 2,
                    Doing::Blocked(Cause::Disk) => 3,
                    Doing::Blocked(Cause::Timer) => 4,
                    Doing::Blocked(Cause::Network | Cause::Device) => 5,
                    Doing::Blocked(Cause::Thread) => 6,
                    Doing::Blocked(Cause::Futex(_) | Cause::Stopped | Cause::Unknown) => 7,
                });
            }
            for segment in &life.segments {
                self.number(if segment.waker == UNKNOWN {
                    0
                } else {
                    names.index(segment.waker) + 1
                });
            }
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
            .filter(|lock| lock.contended_share >= WORTH_A_ROW)
            .take(MOST)
            .collect();
        self.number(locks.len() as u64);
        for lock in locks {
            let mut waits: Vec<(u64, u64, Tid)> = timeline
                .lives
                .iter()
                .filter(|life| timeline.threads.role(life.tid) == Role::Target)
                .flat_map(|life| life.segments.iter().map(|segment| (segment, life.tid)))
                .filter(|(segment, _)| {
                    matches!(
                        segment.doing,
                        Doing::Blocked(Cause::Futex(index) | Cause::KernelLock(index))
                            if index == lock.index
                    )
                })
                .map(|(segment, tid)| (segment.start, segment.end, tid))
                .collect();
            waits.sort_unstable();
            self.text(&title(lock));
            self.number(waits.len() as u64);
            let mut at = timeline.start;
            for (start, ..) in &waits {
                self.number(start - at);
                at = *start;
            }
            for (start, end, _) in &waits {
                self.number(end - start);
            }
            for (.., tid) in &waits {
                self.number(names.index(*tid));
            }
        }
    }
}

/// The threads with rows of their own: the program's, by time on a core.
fn rows(timeline: &Timeline) -> Vec<&crate::timeline::Life> {
    let ran = |life: &crate::timeline::Life| {
        life.segments
            .iter()
            .filter(|segment| matches!(segment.doing, Doing::Running(_)))
            .map(|segment| segment.end - segment.start)
            .sum::<u64>()
    };
    let mut rows: Vec<_> = timeline
        .lives
        .iter()
        .filter(|life| timeline.threads.role(life.tid) == Role::Target)
        .map(|life| (ran(life), life))
        .collect();
    rows.sort_by_key(|(time, life)| (std::cmp::Reverse(*time), life.tid));
    rows.truncate(ROWS);
    rows.into_iter().map(|(_, life)| life).collect()
}

/// Threads by their place in the page's list.
struct Names {
    list: Vec<(Tid, String, u64)>,
    places: crate::fast_map::FastMap<Tid, u64>,
}

impl Names {
    fn of(timeline: &Timeline) -> Self {
        let mut names = Self {
            list: vec![(UNKNOWN, "not known".to_owned(), 5)],
            places: crate::fast_map::FastMap::default(),
        };
        names.places.insert(UNKNOWN, 0);
        for life in &timeline.lives {
            let role = match timeline.threads.role(life.tid) {
                Role::Target => 0,
                Role::Other => 1,
                Role::Kernel => 2,
                Role::Recorder => 3,
                Role::Idle => 4,
            };
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
mod tests {
    use super::base64;

    #[test]
    fn base64_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
