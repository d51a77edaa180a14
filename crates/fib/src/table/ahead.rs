//! Many changes, and the memory of each asked for ahead of making it.
//!
//! A change of a large table reads four cache lines, and none is near: the number of the node, the
//! node found by that, and then the next hop in it and the element in the arrays at once. One change
//! waits three times. So changes go through four steps, a group of them at a time, and each step is
//! taken for a group that is farther ahead: what the next step reads has come meanwhile. Which node a
//! prefix is in, the second step finds out, and the third what a move to another next hop stores; the
//! last step need not look again.

use super::routes::{First, Spot};
use super::{Family, Table, TableError};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Changes of a group: about half as many lines as a core asks for at once.
const TOGETHER: usize = 8;
/// Groups that are under way, one for each step.
const STEPS: usize = 4;

/// A change that is under way: what it is, and what the second and the third step have found out.
type UnderWay<A> = ((Prefix<A>, NextHop), First, Spot);

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
        let nothing = (Prefix::everything(), NextHop::NONE);
        let nothing: UnderWay<A> = (nothing, First::default(), Spot::default());
        let mut groups = [[nothing; TOGETHER]; STEPS];
        let mut lengths = [0; STEPS];
        let (mut read, mut turn) = (0, 0);
        loop {
            let behind = |steps: usize| (turn + STEPS - steps) % STEPS;
            let group = &mut groups[behind(0)];
            let length = &mut lengths[behind(0)];
            *length = 0;
            while *length < TOGETHER && read < changes.len() {
                // Without a branch: whether it counts, nobody can foresee.
                group[*length].0 = changes[read];
                *length += usize::from(counts(changes, read));
                read += 1;
            }
            for (change, ..) in &group[..*length] {
                self.routes.prefetch_root(change.0);
            }
            for (change, first, _) in &mut groups[behind(1)][..lengths[behind(1)]] {
                *first = self.routes.prefetch_node(change.0);
            }
            for (_, first, spot) in &mut groups[behind(2)][..lengths[behind(2)]] {
                *spot = self.routes.prefetch_value(*first);
                self.arrays.prefetch_word(spot.word);
            }
            let (routes, arrays) = (&mut self.routes, &self.arrays);
            for &(change, first, spot) in &groups[behind(3)][..lengths[behind(3)]] {
                if !self
                    .transaction
                    .move_at(routes, arrays, change, (first, spot))
                {
                    let place = first.place();
                    self.transaction.change_at(routes, arrays, change, place);
                }
            }
            turn += 1;
            if lengths == [0; STEPS] {
                break;
            }
        }
        self.transaction.finish(&mut self.routes, &mut self.arrays)
    }
}

/// Does the change at `at` count? Not if the next one is of the same prefix.
#[inline]
pub(super) fn counts<A: Family>(changes: &[(Prefix<A>, NextHop)], at: usize) -> bool {
    let next = changes.get(at + 1);
    next.is_none_or(|next| next.0 != changes[at].0)
}
