//! Many changes, and the memory of each asked for ahead of making it.
//!
//! A change of a large table reads five cache lines, each found through the one before, and none is
//! near: the number of the node, the node, the next hop in it, the vector and the element in the
//! arrays. One change waits for all five. So changes go in groups through five steps, and each step
//! is taken for a group that is farther ahead: what the next step reads has come meanwhile. Which
//! node a prefix is in, the second step finds out once for all that follow.

use super::routes::First;
use super::{Family, Table, TableError};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Changes that take a step together: about half as many lines as a core asks for at once.
const GROUP: usize = 8;
/// Groups under way for which the node is known, and steps before the change itself.
const KNOWN: usize = 4;

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
        let groups = changes.len().div_ceil(GROUP);
        let group = |number: usize| {
            let first = number * GROUP;
            first..changes.len().min(first + GROUP)
        };
        let behind = |number: usize, steps: usize| {
            let number = number.checked_sub(steps)?;
            (number < groups).then(|| (&changes[group(number)], number % KNOWN))
        };
        // What the second step has found out of the changes that are under way.
        let mut found = [[First::default(); GROUP]; KNOWN];
        for number in 0..groups + KNOWN {
            if let Some((changes, _)) = behind(number, 0) {
                for &(prefix, _) in changes {
                    self.routes.prefetch_root(prefix);
                }
            }
            if let Some((changes, known)) = behind(number, 1) {
                for (&(prefix, _), first) in changes.iter().zip(&mut found[known]) {
                    *first = self.routes.prefetch_node(prefix);
                }
            }
            if let Some((changes, known)) = behind(number, 2) {
                for (_, &first) in changes.iter().zip(&found[known]) {
                    self.arrays.prefetch(self.routes.prefetch_value(first));
                }
            }
            if let Some((changes, known)) = behind(number, 3) {
                for (&(prefix, _), &first) in changes.iter().zip(&found[known]) {
                    let (entry, slot) = self.routes.first_node(prefix, first);
                    self.arrays.prefetch_element(entry, slot);
                }
            }
            let Some((_, known)) = behind(number, KNOWN) else {
                continue;
            };
            for (at, &first) in group(number - KNOWN).zip(&found[known]) {
                if let Some((prefix, next_hop)) = settled(changes, at) {
                    self.transaction.change_at(
                        &mut self.routes,
                        &self.arrays,
                        (prefix, next_hop),
                        first.place(),
                    );
                }
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
