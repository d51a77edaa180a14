//! Route changes beside the forwarding: random prefixes move to other next hops at a rate, made by
//! a thread of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fib::{NextHop, Prefix};
use figures::Random;
use tester::veth::lanes::NEXT_HOPS;

use crate::error::Error;

/// How often route changes that are due are made.
const TICK: Duration = Duration::from_millis(1);
/// Most changes made at once.
const AT_ONCE: u64 = 16 << 10;

/// Runs `work` while `rate` routes a second change; what it gave, and the rate really made. A rate
/// of 0 changes nothing.
///
/// # Errors
/// Those of `work`, else the first of `apply`.
pub fn while_routes_change<T>(
    rate: u64,
    prefixes: &[Prefix<u32>],
    apply: impl FnMut(&[(Prefix<u32>, NextHop)]) -> Result<(), Error> + Send,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<(T, f64), Error> {
    if rate == 0 || prefixes.is_empty() {
        return Ok((work()?, 0.0));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let changer: ScopedJoinHandle<'_, Result<f64, Error>> =
            scope.spawn(|| change(rate, prefixes, apply, &stop));
        let given = work();
        stop.store(true, Ordering::Relaxed);
        let made = changer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((given?, made?))
    })
}

fn change(
    rate: u64,
    prefixes: &[Prefix<u32>],
    mut apply: impl FnMut(&[(Prefix<u32>, NextHop)]) -> Result<(), Error>,
    stop: &AtomicBool,
) -> Result<f64, Error> {
    let mut random = Random::new(rate);
    let begun = Instant::now();
    let mut made = 0;
    loop {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64 - made;
        let changes: Vec<(Prefix<u32>, NextHop)> = (0..due.min(AT_ONCE))
            .map(|_| {
                let next_hop = 1 + random.below(usize::from(NEXT_HOPS)) as u16;
                (prefixes[random.below(prefixes.len())], NextHop(next_hop))
            })
            .collect();
        apply(&changes)?;
        made += changes.len() as u64;
        if stop.load(Ordering::Relaxed) {
            return Ok(made as f64 / begun.elapsed().as_secs_f64());
        }
        thread::sleep(TICK);
    }
}

#[cfg(test)]
#[path = "../tests/unit/changer.rs"]
mod tests;
