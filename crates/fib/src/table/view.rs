//! What a reader holds.

use super::search::Arrays;
use super::{Family, TableStorage};
use crate::next_hop::NextHop;

/// A reader's handle on one copy of a table: the arrays, and nothing that is written.
#[derive(Clone, Debug)]
pub struct View<A: Family> {
    storage: TableStorage<A>,
}

impl<A: Family> View<A> {
    pub(super) fn new(storage: TableStorage<A>) -> Self {
        Self { storage }
    }

    /// The next hop of the longest prefix that contains the address, or [`NextHop::NONE`].
    #[inline]
    pub fn lookup(&self, address: A) -> NextHop {
        Arrays::of(&self.storage).lookup(address)
    }

    /// The next hops of as many addresses as the shorter slice has. Bursts of 32 and more make the
    /// most of it.
    pub fn lookup_burst(&self, addresses: &[A], out: &mut [NextHop]) {
        Arrays::of(&self.storage).lookup_burst(addresses, out);
    }
}
