//! Many changes, and the memory of each asked for ahead of making it.
//!
//! A change of a large table reads five cache lines, each found through the one before, and none is
//! near: the number of the node, the node, the next hop in it, the vector and the element in the
//! arrays. One change waits for all five. In a line of changes each step is taken for a change that
//! is farther ahead, so that what it needs has come meanwhile.

use super::{Family, Table};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Changes between two steps.
const STEP: usize = 8;

impl<A: Family> Table<A> {
    /// Changes the routes and what of the arrays can be changed in place. Of changes to one prefix
    /// that follow each other, only the last is made: a route that is withdrawn and announced again
    /// is one that moves.
    pub(super) fn change_all(&mut self, changes: &[(Prefix<A>, NextHop)]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if super::search::has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.change_all_bmi2(changes) };
        }
        self.change_in_line(changes);
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn change_all_bmi2(&mut self, changes: &[(Prefix<A>, NextHop)]) {
        self.change_in_line(changes);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Compiled once for each set of instructions.
    fn change_in_line(&mut self, changes: &[(Prefix<A>, NextHop)]) {
        for at in 0..changes.len() + 4 * STEP {
            let behind = |steps: usize| {
                let change = at.checked_sub(steps * STEP).and_then(|at| changes.get(at));
                change.map(|&(prefix, _)| prefix)
            };
            if let Some(prefix) = behind(0) {
                self.routes.prefetch_root(prefix);
            }
            if let Some(prefix) = behind(1) {
                self.routes.prefetch_node(prefix);
            }
            if let Some(prefix) = behind(2) {
                self.arrays.prefetch(self.routes.prefetch_value(prefix));
            }
            if let Some(prefix) = behind(3) {
                let (entry, slot) = self.routes.first_node(prefix);
                self.arrays.prefetch_element(entry, slot);
            }
            let Some(at) = at.checked_sub(4 * STEP) else {
                continue;
            };
            if let Some((prefix, next_hop)) = settled(changes, at) {
                self.transaction
                    .change(&mut self.routes, &self.arrays, prefix, next_hop);
            }
        }
    }
}

/// The change at `at`, unless the next one is of the same prefix.
#[inline]
pub(super) fn settled<A: Family>(
    changes: &[(Prefix<A>, NextHop)],
    at: usize,
) -> Option<(Prefix<A>, NextHop)> {
    let change = changes[at];
    let next = changes.get(at + 1);
    next.is_none_or(|next| next.0 != change.0).then_some(change)
}
