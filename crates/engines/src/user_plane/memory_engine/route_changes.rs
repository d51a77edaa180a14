//! The route changes of a trial, and the thread that makes them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fib::organisation::Organisation;
use fib::{NextHop, Prefix};
use figures::Random;

use super::EngineError;

/// How often the control thread applies the changes that are due.
const TICK: Duration = Duration::from_millis(10);
/// Changes that are applied at once: as many as the kernel tells of in some messages.
const BATCH: usize = 1024;
/// Changes that are drawn; then they come again, with other next hops.
const DRAWN: usize = 1 << 20;
const SEED: u64 = 1;

/// Changes of the prefixes of a table.
#[derive(Debug)]
pub(super) struct RouteChanges {
    prefixes: Vec<(Prefix<u32>, NextHop)>,
    /// Their next hops are 1 to this.
    next_hops: u16,
    drawn: OnceLock<Vec<(Prefix<u32>, NextHop)>>,
}

impl RouteChanges {
    pub(super) fn new(prefixes: &[(Prefix<u32>, NextHop)], next_hops: u16) -> Self {
        Self {
            prefixes: prefixes.to_vec(),
            next_hops,
            drawn: OnceLock::new(),
        }
    }

    /// Changes routes at the given rate until told to stop.
    pub(super) fn make<O: Organisation>(
        &self,
        tables: &O,
        per_second: u32,
        stop: &AtomicBool,
        made: &AtomicU64,
    ) -> Result<(), EngineError> {
        let drawn = self.draw();
        let mut batch = Vec::with_capacity(BATCH);
        let (begun, mut done) = (Instant::now(), 0_u64);
        while !stop.load(Ordering::Relaxed) && !self.prefixes.is_empty() {
            let due = (begun.elapsed().as_secs_f64() * f64::from(per_second)) as u64;
            while done < due {
                let (pass, at) = (done / DRAWN as u64, (done % DRAWN as u64) as usize);
                let by = (pass % u64::from(self.next_hops.max(1))) as u16;
                let next = &drawn[at..];
                let next = &next[..next.len().min(BATCH).min((due - done) as usize)];
                batch.clear();
                batch.extend(
                    next.iter()
                        .map(|&(prefix, hop)| (prefix, self.moved(hop, by))),
                );
                tables.apply_v4(&batch)?;
                done += next.len() as u64;
            }
            made.store(done, Ordering::Relaxed);
            thread::sleep(TICK);
        }
        Ok(())
    }

    /// In each pass a prefix has another next hop than in the one before, the one `by` numbers on.
    /// Without a branch: nobody can foresee which it would take.
    fn moved(&self, hop: NextHop, by: u16) -> NextHop {
        let last = u32::from(self.next_hops);
        let moved = u32::from(hop.0) + u32::from(by);
        let moved = moved - last * u32::from(moved > last);
        NextHop(moved as u16 * u16::from(hop != NextHop::NONE))
    }

    /// Changes of random prefixes, drawn once: who makes them would pay for their random reads of
    /// the list, which nobody does to whom they come from a neighbour. Most announcements move a
    /// prefix to another next hop, one in four withdraws it and announces it again.
    pub(super) fn draw(&self) -> &[(Prefix<u32>, NextHop)] {
        self.drawn.get_or_init(|| {
            let mut random = Random::new(SEED);
            let mut changes = Vec::with_capacity(DRAWN + 1);
            while changes.len() < DRAWN && !self.prefixes.is_empty() {
                let (prefix, _) = self.prefixes[random.below(self.prefixes.len())];
                let hop = NextHop(1 + random.below(usize::from(self.next_hops)) as u16);
                if random.below(4) == 0 {
                    changes.push((prefix, NextHop::NONE));
                }
                changes.push((prefix, hop));
            }
            changes.truncate(DRAWN);
            changes
        })
    }
}
