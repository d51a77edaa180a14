//! Freed blocks that readers may still be looking at.
//!
//! What the writer unlinks goes to the open batch. [`Quarantine::seal`] closes the batch under an
//! epoch number; [`Quarantine::reclaim`] hands out the batches whose epoch every reader has
//! reached.

use std::collections::VecDeque;

/// Blocks waiting for readers to move on.
#[derive(Debug)]
pub(crate) struct Quarantine<T> {
    open: Vec<T>,
    sealed: VecDeque<(u64, T)>,
}

impl<T> Default for Quarantine<T> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            sealed: VecDeque::new(),
        }
    }
}

impl<T> Quarantine<T> {
    /// Takes a block that no new reader can find.
    pub(crate) fn put(&mut self, block: T) {
        self.open.push(block);
    }

    /// Everything put so far may be reused once all readers have reached `epoch`.
    pub(crate) fn seal(&mut self, epoch: u64) {
        self.sealed
            .extend(self.open.drain(..).map(|block| (epoch, block)));
    }

    /// Gives back every block sealed under `epoch` or earlier.
    pub(crate) fn reclaim(&mut self, epoch: u64, mut free: impl FnMut(T)) {
        while self
            .sealed
            .front()
            .is_some_and(|&(sealed, _)| sealed <= epoch)
        {
            if let Some((_, block)) = self.sealed.pop_front() {
                free(block);
            }
        }
    }

    /// Bytes of the lists.
    pub(crate) fn bytes(&self) -> usize {
        self.open.capacity() * size_of::<T>() + self.sealed.capacity() * size_of::<(u64, T)>()
    }
}
