//! Many changes, and the memory of each asked for ahead of making it.
//!
//! A change of a large table reads four cache lines, and none is near: the number of the node, the
//! node found by that, and then the next hop in it and the element in the arrays at once. One change
//! waits three times. So changes go through four steps, and each step is taken for a change that is
//! farther ahead: what the next step reads has come meanwhile. Which node a prefix is in, the second
//! step finds out, and the third what a move to another next hop stores; the last step need not look
//! again.

use super::routes::{First, Spot};
use super::{Family, Table, TableError};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Changes between one that takes a step and one that takes the next: about half as many lines as a
/// core asks for at once.
const APART: usize = 8;
/// Changes that have taken the second step and not the last, no fewer.
const UNDER_WAY: usize = 4 * APART;

impl<A: Family> Table<A> {
    /// Makes the changes, or none of them. Of changes to one prefix that follow each other, only the
    /// last is made: a route that is withdrawn and announced again is one that moves.
    pub(super) fn change_all(
        &mut self,
        changes: &[(Prefix<A>, NextHop)],
    ) -> Result<(), TableError> {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if super::search::has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.change_all_bmi2(changes) };
        }
        self.change_in_line(changes)
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn change_all_bmi2(&mut self, changes: &[(Prefix<A>, NextHop)]) -> Result<(), TableError> {
        self.change_in_line(changes)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Compiled once for each set of instructions.
    fn change_in_line(&mut self, changes: &[(Prefix<A>, NextHop)]) -> Result<(), TableError> {
        // What the second step has found out of the changes that are under way, and the third.
        let mut found = [(First::default(), Spot::default()); UNDER_WAY];
        let behind = |turn: usize, steps: usize| {
            let at = turn.wrapping_sub(steps * APART);
            changes.get(at).map(|change| (at, change.0))
        };
        for turn in 0..changes.len() + 3 * APART {
            if let Some((_, prefix)) = behind(turn, 0) {
                self.routes.prefetch_root(prefix);
            }
            if let Some((at, prefix)) = behind(turn, 1) {
                found[at % UNDER_WAY].0 = self.routes.prefetch_node(prefix);
            }
            if let Some((at, _)) = behind(turn, 2) {
                let (first, spot) = &mut found[at % UNDER_WAY];
                *spot = self.routes.prefetch_value(*first);
                self.arrays.prefetch_word(spot.word);
            }
            let Some((at, _)) = behind(turn, 3) else {
                continue;
            };
            let Some(change) = settled(changes, at) else {
                continue;
            };
            let known = found[at % UNDER_WAY];
            let (routes, arrays) = (&mut self.routes, &self.arrays);
            if !self.transaction.move_at(routes, arrays, change, known) {
                let place = known.0.place();
                self.transaction.change_at(routes, arrays, change, place);
            }
        }
        self.transaction.finish(&mut self.routes, &mut self.arrays)
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
