//! When may memory that readers could still see be reused?
//!
//! Quiescent-state-based reclamation. There is an epoch number, and each reader has a cache line of
//! its own with the epoch it last saw at a moment when it held nothing ([`Quiescent::quiesce`], at
//! the end of each burst: one load of a line that only the writer writes, and one plain store to
//! its own). The writer unlinks things, advances the epoch, and reuses them once every reader has
//! reached it. Nobody waits: the writer asks again later, and a reader never does more than that
//! load and store.
//!
//! What it cannot do: a reader that stops calling `quiesce` while online keeps everything from
//! being reused. A thread that goes to sleep calls [`Quiescent::offline`] first.
//!
//! Why no fence is needed for each burst: a reader that stores epoch *e* has loaded *e* with
//! Acquire, so what it looks up afterwards was published before *e*; and the store is a Release, so
//! what it did before is finished when the writer's Acquire load sees it. Going online is the one
//! place where a store must be ordered before later loads.

use super::sync::{Arc, AtomicBool, AtomicU64, Ordering, fence};

/// The value of a line whose reader holds nothing and will not look.
const OFFLINE: u64 = u64::MAX;

/// One reader's line. 128 bytes: processors prefetch pairs of 64-byte lines.
#[derive(Debug)]
#[repr(align(128))]
struct Line {
    seen: AtomicU64,
    taken: AtomicBool,
}

/// The epoch, alone in its line too.
#[derive(Debug)]
#[repr(align(128))]
struct Epoch(AtomicU64);

#[derive(Debug)]
struct Inner {
    epoch: Epoch,
    lines: Box<[Line]>,
}

/// Writer and readers of one set of tables. Cloning gives another handle to the same domain.
#[derive(Clone, Debug)]
pub struct Domain {
    inner: Arc<Inner>,
}

/// More readers than the domain was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyReaders {
    /// How many there can be.
    pub capacity: usize,
}

impl std::error::Error for TooManyReaders {}

impl std::fmt::Display for TooManyReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "all {} places for readers are taken; make the tables for more workers",
            self.capacity
        )
    }
}

impl Domain {
    /// A domain for at most `readers` readers at once.
    pub fn new(readers: usize) -> Self {
        let line = || Line {
            seen: AtomicU64::new(OFFLINE),
            taken: AtomicBool::new(false),
        };
        let lines = (0..readers).map(|_| line()).collect();
        Self {
            inner: Arc::new(Inner {
                epoch: Epoch(AtomicU64::new(1)),
                lines,
            }),
        }
    }

    /// A new reader, online.
    ///
    /// # Errors
    /// When all places are taken.
    pub fn reader(&self) -> Result<Quiescent, TooManyReaders> {
        let free = |line: &Line| {
            line.taken
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let index = self.inner.lines.iter().position(free);
        let index = index.ok_or(TooManyReaders {
            capacity: self.inner.lines.len(),
        })?;
        let mut reader = Quiescent {
            inner: Arc::clone(&self.inner),
            index,
        };
        reader.online();
        Ok(reader)
    }

    /// Starts a new epoch and returns it: whatever was unlinked before this call may be reused once
    /// [`Domain::reached`] returns at least that number.
    pub fn advance(&self) -> u64 {
        // SeqCst, as the fence in `reached`: a reader going online either is seen by us or sees
        // what we unlinked.
        self.inner.epoch.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The epoch that every online reader has reached.
    pub fn reached(&self) -> u64 {
        fence(Ordering::SeqCst);
        let mut reached = self.inner.epoch.0.load(Ordering::Relaxed);
        for line in &self.inner.lines {
            reached = reached.min(line.seen.load(Ordering::Acquire));
        }
        reached
    }
}

/// A reader's place in the domain. Dropping it takes the reader offline and frees the place.
#[derive(Debug)]
pub struct Quiescent {
    inner: Arc<Inner>,
    index: usize,
}

impl Quiescent {
    /// This reader holds nothing from the tables now. Call it between bursts.
    #[inline]
    pub fn quiesce(&mut self) {
        let epoch = self.inner.epoch.0.load(Ordering::Acquire);
        self.inner.lines[self.index]
            .seen
            .store(epoch, Ordering::Release);
    }

    /// This reader holds nothing and will not look at the tables until [`Quiescent::online`].
    pub fn offline(&mut self) {
        self.inner.lines[self.index]
            .seen
            .store(OFFLINE, Ordering::Release);
    }

    /// Before looking at the tables again.
    pub fn online(&mut self) {
        let epoch = self.inner.epoch.0.load(Ordering::Acquire);
        self.inner.lines[self.index]
            .seen
            .store(epoch, Ordering::Relaxed);
        // Our store must be visible before our first look at the tables; pairs with the fence in
        // `reached`.
        fence(Ordering::SeqCst);
    }
}

impl Drop for Quiescent {
    fn drop(&mut self) {
        self.offline();
        self.inner.lines[self.index]
            .taken
            .store(false, Ordering::Release);
    }
}
