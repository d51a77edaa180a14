//! What is counted in stretches of some milliseconds, one behind the other: stretches in which the
//! machine was not itself can be left out afterwards.

use std::thread;
use std::time::Duration;

use crate::clock::{Span, now_ns};

/// From one reading to the next.
const STRETCH: Duration = Duration::from_millis(2);
/// Who reads was interrupted where a reading takes longer: nobody knows of which moment it is.
const READING: Duration = Duration::from_micros(100);
/// How often it is read again then.
const AGAIN: usize = 4;

/// Stretches of counting, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting(Vec<Stretch>);

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
        Ok(Self(stretches))
    }

    /// From the first reading to the last; `None` when nothing was counted.
    pub fn span(&self) -> Option<Span> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        Some(Span {
            from_ns: first.span.from_ns,
            to_ns: last.span.to_ns,
        })
    }

    /// Those stretches that are `wanted`.
    #[must_use]
    pub fn within(&self, wanted: impl Fn(Span) -> bool) -> Self {
        let stretches = self.0.iter().copied();
        Self(stretches.filter(|one| wanted(one.span)).collect())
    }

    /// How long all stretches are together, s.
    pub fn seconds(&self) -> f64 {
        let took = |one: &Stretch| one.span.to_ns - one.span.from_ns;
        self.0.iter().map(took).sum::<u64>() as f64 * 1e-9
    }

    /// The count of all stretches over their time; 0 without one.
    pub fn per_second(&self) -> f64 {
        let count = self.0.iter().map(|one| one.count).sum::<u64>() as f64;
        let seconds = self.seconds();
        if seconds > 0.0 { count / seconds } else { 0.0 }
    }
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
