//! What is counted in short stretches of time: those in which the machine was not itself can be left
//! out afterwards.

use std::thread;
use std::time::Duration;

use crate::clock::{Span, now_ns};

/// From one reading to the next.
const STRETCH: Duration = Duration::from_millis(2);
/// Who counts looks ten times as often. Where it did not for so long, another had its core, ns.
const AWAY_NS: u64 = 1_000_000;
/// Who reads was interrupted where a reading takes longer: nobody knows of which moment it is.
const READING: Duration = Duration::from_micros(100);
/// How often it is read again then.
const AGAIN: usize = 4;

/// A piece of work that a core did while it counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it began ([`now_ns`]).
    pub begun_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// What had been counted by then.
    pub count: u64,
}

/// Who times pieces of work; theirs are not as long as each other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Threads that do nothing else, while nothing is counted.
    Waiting,
    /// Threads that look every two milliseconds.
    Lookers,
    /// The threads that count.
    Counting,
    /// The program in the kernel that counts.
    Program,
}

/// Stretches of counting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// Those of each core that counted for itself, or of all cores together.
    parts: Vec<Vec<Stretch>>,
    /// Where cores counted for themselves, who timed their pieces of work, and these.
    own: Option<(Timer, Vec<Vec<Mark>>)>,
}

/// One stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    span: Span,
    count: u64,
}

impl Counting {
    /// Reads a count, which only grows, every two milliseconds for about `length`, or until the user
    /// interrupts.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn of<E>(length: Duration, mut read: impl FnMut() -> Result<u64, E>) -> Result<Self, E> {
        let mut stretches = Vec::new();
        let (mut from_ns, mut before) = timed(&mut read)?;
        let end_ns = from_ns + length.as_nanos() as u64;
        while from_ns < end_ns && !crate::interrupted() {
            thread::sleep(STRETCH.min(Duration::from_nanos(end_ns - from_ns)));
            let (to_ns, after) = timed(&mut read)?;
            stretches.push(Stretch {
                span: Span { from_ns, to_ns },
                count: after.saturating_sub(before),
            });
            (from_ns, before) = (to_ns, after);
        }
        Ok(Self {
            parts: vec![stretches],
            own: None,
        })
    }

    /// What each core counted from one of its marks to the next, the pieces of work left out; `None`
    /// where one has fewer than two.
    pub fn by_cores(timer: Timer, marks: Vec<Vec<Mark>>) -> Option<Self> {
        let between = |pair: &[Mark]| {
            let [one, next] = pair else { return None };
            let (from_ns, to_ns) = (one.begun_ns + one.took_ns, next.begun_ns);
            (from_ns < to_ns).then(|| Stretch {
                span: Span { from_ns, to_ns },
                count: next.count.saturating_sub(one.count),
            })
        };
        let of = |marks: &Vec<Mark>| marks.windows(2).filter_map(between).collect();
        let parts: Vec<Vec<Stretch>> = marks.iter().map(of).collect();
        let is_told = !parts.is_empty() && parts.iter().all(|part| !part.is_empty());
        is_told.then_some(Self {
            parts,
            own: Some((timer, marks)),
        })
    }

    /// Where cores counted for themselves, who timed their pieces of work, and these.
    pub fn own(&self) -> Option<(Timer, &[Vec<Mark>])> {
        self.own.as_ref().map(|(timer, marks)| (*timer, &marks[..]))
    }

    /// From the first reading to the last; `None` when nothing was counted.
    pub fn span(&self) -> Option<Span> {
        let spans = || self.parts.iter().flatten().map(|one| one.span);
        Some(Span {
            from_ns: spans().map(|span| span.from_ns).min()?,
            to_ns: spans().map(|span| span.to_ns).max()?,
        })
    }

    /// Those stretches that are `wanted`.
    #[must_use]
    pub fn within(&self, wanted: impl Fn(Span) -> bool) -> Self {
        let of = |part: &Vec<Stretch>| {
            let stretches = part.iter().copied();
            stretches.filter(|one| wanted(one.span)).collect()
        };
        Self {
            parts: self.parts.iter().map(of).collect(),
            own: None,
        }
    }

    /// How much of the time of `all` this has, of which it is stretches: of the core with the least.
    pub fn share_of(&self, all: &Self) -> f64 {
        let pairs = self.parts.iter().zip(&all.parts);
        let shares = pairs.map(|(part, all)| seconds(part) / seconds(all));
        shares.reduce(f64::min).unwrap_or(0.0)
    }

    /// How much of the time another had a core that counts for itself: of the core with the most. 0 where
    /// cores do not count for themselves.
    pub fn missed(&self) -> f64 {
        let parts = self.parts.iter().filter(|_| self.own.is_some());
        let shares = parts.map(|part| {
            let away = part.iter().copied();
            let away = away.filter(|one| one.span.to_ns - one.span.from_ns >= AWAY_NS);
            seconds(&away.collect::<Vec<_>>()) / seconds(part)
        });
        shares.fold(0.0, f64::max)
    }

    /// The count over the time, all cores together; 0 where nothing was counted.
    pub fn per_second(&self) -> f64 {
        let rate = |part: &Vec<Stretch>| {
            let count = part.iter().map(|one| one.count).sum::<u64>() as f64;
            let seconds = seconds(part);
            if seconds > 0.0 { count / seconds } else { 0.0 }
        };
        self.parts.iter().map(rate).sum()
    }
}

fn seconds(part: &[Stretch]) -> f64 {
    let took = part.iter().map(|one| one.span.to_ns - one.span.from_ns);
    took.sum::<u64>() as f64 * 1e-9
}

/// What `read` gives, and when it was so.
fn timed<E>(read: &mut impl FnMut() -> Result<u64, E>) -> Result<(u64, u64), E> {
    let mut once = || {
        let before = now_ns();
        let count = read()?;
        let took = now_ns() - before;
        Ok((before + took / 2, count, took))
    };
    let mut best = once()?;
    for _ in 0..AGAIN {
        if best.2 <= READING.as_nanos() as u64 {
            break;
        }
        best = once()?;
    }
    Ok((best.0, best.1))
}

#[cfg(test)]
#[path = "../tests/unit/counting.rs"]
pub(crate) mod tests;
