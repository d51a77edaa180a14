//! Looks at the locks that threads wait for: is it held now, and by whom?
//!
//! A lock that is taken without waiting makes no event, so events alone do not tell how long it is
//! held. The words themselves do: read at instants that have nothing to do with the program, the
//! share of looks that find a lock taken is the share of time for which it is. Only words that
//! somebody waited at are looked at; a program that never waits is left alone.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use host::clock::now_ns;

use crate::event::Tid;
use crate::trace::{Look, Looks};

/// Between two looks, on average, at first.
const PAUSE: Duration = Duration::from_millis(4);
/// Words that are looked at: those that are waited for most.
const WORDS: usize = 16;
/// Looks that are kept. When there are more, every second one goes and the pauses double.
const KEPT: usize = 16_384;
/// A look that comes later than this after its instant does not count. The scheduler let it wait,
/// often until a thread went to sleep, perhaps at the lock: that is no instant of its own.
const LATE: Duration = Duration::from_micros(250);
/// When more than one look in so many was late, the others are not believed either.
const FEW: u64 = 20;
/// A word that threads waited at fewer times is not looked at: every look takes a core for a moment,
/// and nothing is said of a lock with fewer waits.
const OFTEN: u64 = 20;
/// Words whose waits are counted.
const COUNTED: usize = 8_192;

/// See the file's beginning.
pub(crate) struct Lookout {
    waits: HashMap<(Tid, u64), u64>,
    hot: Vec<(Tid, u64)>,
    memories: HashMap<Tid, Option<File>>,
    found: HashMap<(Tid, u64), Vec<Look>>,
    kept: usize,
    pause: Duration,
    random: u64,
    all: u64,
    late: u64,
    /// Looks older than this, ns, are forgotten before others go.
    pub(crate) last: Option<u64>,
}

impl Default for Lookout {
    fn default() -> Self {
        Self {
            waits: HashMap::new(),
            hot: Vec::new(),
            memories: HashMap::new(),
            found: HashMap::new(),
            kept: 0,
            pause: PAUSE,
            random: now_ns() | 1,
            all: 0,
            late: 0,
            last: None,
        }
    }
}

impl Lookout {
    /// A thread of `process` begins to wait at a word.
    pub(crate) fn waits(&mut self, process: Tid, address: u64) {
        let room = self.waits.len() < COUNTED;
        match self.waits.get_mut(&(process, address)) {
            Some(count) => *count += 1,
            None if room => {
                self.waits.insert((process, address), 1);
            }
            None => {}
        }
    }

    /// Chooses the words to look at from now on.
    pub(crate) fn choose(&mut self) {
        let often = self.waits.iter().filter(|(_, count)| **count >= OFTEN);
        let mut all: Vec<_> = often.map(|(key, count)| (*count, *key)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        self.hot = all.into_iter().take(WORDS).map(|(_, key)| key).collect();
    }

    /// How long to wait for the next look, from half to one and a half of the mean, so that nothing
    /// keeps step with it. `None` when there is nothing to look at.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        if self.hot.is_empty() {
            return None;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let part = self.random % self.pause.as_nanos() as u64;
        Some(self.pause / 2 + Duration::from_nanos(part))
    }

    /// Looks, so much later than was meant.
    pub(crate) fn look(&mut self, late: Duration) {
        self.all += 1;
        if late > LATE {
            self.late += 1;
            return;
        }
        let begun = now_ns();
        for (process, address) in &self.hot {
            let memory = self
                .memories
                .entry(*process)
                .or_insert_with(|| File::open(format!("/proc/{process}/mem")).ok());
            let start = now_ns();
            let Some(words) = memory
                .as_ref()
                .and_then(|memory| around(memory, *address).ok())
            else {
                continue;
            };
            let time = u64::midpoint(start, now_ns());
            self.found
                .entry((*process, *address))
                .or_default()
                .push(Look {
                    time,
                    late: (time - begun) as u32 + late.as_nanos() as u32,
                    word: words[1],
                    after: words[3],
                    before: words[0],
                });
            self.kept += 1;
        }
        if self.kept > KEPT {
            let from = self.last.map(|last| begun.saturating_sub(last));
            self.keep(|look, _| from.is_none_or(|from| look.time >= from));
        }
        if self.kept > KEPT {
            self.pause *= 2;
            self.keep(|_, number| number % 2 == 0);
        }
    }

    /// Keeps the looks for which this is said of them and their number.
    fn keep(&mut self, is_kept: impl Fn(&Look, usize) -> bool) {
        self.kept = 0;
        for looks in self.found.values_mut() {
            let mut numbers = 0..;
            looks.retain(|look| numbers.next().is_some_and(|number| is_kept(look, number)));
            self.kept += looks.len();
        }
    }

    /// All looks, by word; none when too many were late.
    pub(crate) fn finish(self) -> Vec<Looks> {
        if self.late * FEW > self.all {
            return Vec::new();
        }
        let mut all: Vec<Looks> = self
            .found
            .into_iter()
            .map(|((process, address), looks)| Looks {
                process,
                address,
                looks,
            })
            .collect();
        all.sort_by_key(|looks| (looks.process, looks.address));
        all
    }
}

/// The words from 4 bytes before `address` on; 0 for the first where another page begins, which may
/// not be there.
fn around(memory: &File, address: u64) -> std::io::Result<[u32; 4]> {
    const BEFORE: u64 = 4;
    const PAGE: u64 = 4096;
    let mut bytes = [0; 16];
    let missing = if address % PAGE < BEFORE { BEFORE } else { 0 };
    memory.read_exact_at(&mut bytes[missing as usize..], address - BEFORE + missing)?;
    let (words, _) = bytes.as_chunks::<4>();
    Ok(std::array::from_fn(|at| u32::from_ne_bytes(words[at])))
}

#[cfg(test)]
#[path = "../../tests/unit/record_looks.rs"]
mod tests;
