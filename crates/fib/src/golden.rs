//! The golden table: slow, and obviously right. Every fast table here is compared with it.
//!
//! One hash map for each prefix length, asked from the longest to the shortest.

use std::collections::HashMap;

use crate::address::Address;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Longest-prefix match by trying every length.
#[derive(Clone, Debug)]
pub struct GoldenTable<A> {
    by_length: Vec<HashMap<A, NextHop>>,
}

impl<A: Address> Default for GoldenTable<A> {
    fn default() -> Self {
        Self {
            by_length: vec![HashMap::new(); usize::from(A::BITS) + 1],
        }
    }
}

impl<A: Address> GoldenTable<A> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a route; returns the next hop it had. [`NextHop::NONE`] removes it.
    pub fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<NextHop> {
        if next_hop == NextHop::NONE {
            return self.remove(prefix);
        }
        self.by_length[usize::from(prefix.length())].insert(prefix.address(), next_hop)
    }

    /// Removes a route; returns the next hop it had.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Option<NextHop> {
        self.by_length[usize::from(prefix.length())].remove(&prefix.address())
    }

    /// The next hop of exactly this prefix.
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.by_length[usize::from(prefix.length())]
            .get(&prefix.address())
            .copied()
    }

    /// The next hop of the longest prefix that contains `address`, or [`NextHop::NONE`].
    pub fn lookup(&self, address: A) -> NextHop {
        for length in (0..=A::BITS).rev() {
            let routes = &self.by_length[usize::from(length)];
            if routes.is_empty() {
                continue;
            }
            if let Some(&next_hop) = routes.get(&address.masked(length)) {
                return next_hop;
            }
        }
        NextHop::NONE
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.by_length.iter().map(HashMap::len).sum()
    }

    /// Is the table empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All routes, in no particular order.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix<A>, NextHop)> + '_ {
        (0..=A::BITS).flat_map(move |length| {
            self.by_length[usize::from(length)]
                .iter()
                .map(move |(&address, &next_hop)| (Prefix::containing(address, length), next_hop))
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/golden.rs"]
mod tests;
