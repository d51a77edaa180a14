//! The keys of a burst, side by side: what the look-up reads and what it answers, one array for
//! each, so that sixty-four look-ups run as one loop.

use fib::NextHop;
use port::Burst;

/// The frames of one burst that go to one table in one family.
#[derive(Debug)]
pub(super) struct Lane<A> {
    count: usize,
    addresses: [A; Burst::CAPACITY],
    lengths: [u16; Burst::CAPACITY],
    places: [u8; Burst::CAPACITY],
    next_hops: [NextHop; Burst::CAPACITY],
}

impl<A: Copy + Default> Lane<A> {
    pub(super) fn new() -> Self {
        Self {
            count: 0,
            addresses: [A::default(); Burst::CAPACITY],
            lengths: [0; Burst::CAPACITY],
            places: [0; Burst::CAPACITY],
            next_hops: [NextHop::NONE; Burst::CAPACITY],
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds the frame at `place` of the burst. A lane holds as many as a burst.
    #[inline]
    pub(super) fn push(&mut self, address: A, length: u16, place: usize) {
        let at = self.count % Burst::CAPACITY;
        self.addresses[at] = address;
        self.lengths[at] = length;
        self.places[at] = place as u8;
        self.count = at + 1;
    }

    /// What the look-up reads, and where it answers.
    #[inline]
    pub(super) fn keys(&mut self) -> (&[A], &[u16], &mut [NextHop]) {
        let count = self.count.min(Burst::CAPACITY);
        (
            &self.addresses[..count],
            &self.lengths[..count],
            &mut self.next_hops[..count],
        )
    }

    /// Place in the burst and answer of every frame.
    #[inline]
    pub(super) fn answers(&self) -> impl Iterator<Item = (usize, NextHop)> {
        let count = self.count.min(Burst::CAPACITY);
        self.places[..count]
            .iter()
            .map(|&place| usize::from(place))
            .zip(self.next_hops[..count].iter().copied())
    }
}
