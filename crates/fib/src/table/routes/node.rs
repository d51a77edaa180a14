//! One node of the routes, and how its prefixes are numbered.

use crate::next_hop::NextHop;
use crate::table::arena::Run;
use crate::table::encode::Form;
use crate::table::entry::Entry;

/// Number of a node; 0 is none.
pub(in crate::table) type NodeId = u32;

/// The heap number of all that a node stands for; no route has it.
pub(in crate::table) const WHOLE: u32 = 1;

/// The heap numbers of all longer prefixes under each.
static LONGER: [u128; 128] = {
    let mut longer = [0; 128];
    let mut number = 63;
    while number > 0 {
        let halves = 0b11 << (number * 2);
        longer[number] = halves | longer[number * 2] | longer[number * 2 + 1];
        number -= 1;
    }
    longer
};

/// The slots that each heap number stands for, in nodes of so many slots.
const fn slots_under(slots: u32) -> [u64; 128] {
    let mut under = [0; 128];
    let mut number = 1;
    while number < 2 * slots {
        let length = number.ilog2();
        let width = slots >> length;
        under[number as usize] = (u64::MAX >> (64 - width)) << ((number - (1 << length)) * width);
        number += 1;
    }
    under
}

/// One node, in a cache line of its own: a change reads little else.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(in crate::table) struct Node<E> {
    /// Heap numbers of the routes here.
    pub(super) routes: u128,
    pub(super) values: Run,
    /// Slots with a node below, and those nodes' numbers.
    pub(in crate::table) children: u64,
    pub(super) child_ids: Run,
    /// The node above; 0: the root.
    pub(in crate::table) parent: NodeId,
    /// Slot in the node above, or index in the root.
    pub(in crate::table) slot: u32,
    /// The entry that leads to this node in the arrays (a leaf, if all its slots are equal).
    pub(in crate::table) entry: E,
    /// Where runs begin there, so that a change need not read it there.
    pub(in crate::table) vector: u64,
    /// The next hop where no route here covers.
    pub(in crate::table) inherited: NextHop,
    /// First bit of the address that this node looks at.
    pub(in crate::table) start: u8,
    /// Waits to be painted.
    pub(in crate::table) dirty: bool,
    /// Another one whenever a [`super::Spot`] found before may be wrong.
    pub(super) version: u8,
}

const _: () = assert!(size_of::<Node<u32>>() == 64 && size_of::<Node<u64>>() == 64);

#[allow(clippy::inline_always)] // As those of `Routes`.
impl<E: Entry> Node<E> {
    /// The slots of heap number `number` that no longer route of this node covers; of 1, which
    /// stands for all slots, those that inherit.
    #[inline(always)]
    pub(in crate::table) fn slots_of(&self, number: u32) -> u64 {
        let under = const { &slots_under(E::SLOTS) };
        let mut slots = under[number as usize];
        let longer = self.routes & LONGER[number as usize];
        for (half, first) in [(longer as u64, 0), ((longer >> 64) as u64, 64_usize)] {
            for number in ones(half) {
                slots &= !under[first + number as usize];
            }
        }
        slots
    }

    /// No [`super::Spot`] of this node holds any longer.
    #[inline]
    pub(in crate::table) fn changes(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// The form of this node in the arrays; none if all its slots are equal.
    #[inline]
    pub(in crate::table) fn form(&self) -> Option<Form<E>> {
        Form::behind(self.entry, self.vector)
    }

    /// More runs than these routes and nodes below can make do not occur.
    #[inline]
    pub(in crate::table) fn most_runs(&self) -> u32 {
        2 * (self.routes.count_ones() + self.children.count_ones()) + 1
    }

    /// Does a route end here?
    pub(in crate::table) fn has_routes(&self) -> bool {
        self.routes != 0
    }

    /// Neither routes nor nodes below?
    pub(in crate::table) fn is_empty(&self) -> bool {
        self.routes == 0 && self.children == 0
    }
}

/// The numbers of the bits set.
pub(in crate::table) fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let number = bits.trailing_zeros();
            bits &= bits - 1;
            number
        })
    })
}
