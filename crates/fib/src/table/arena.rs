//! Short runs of small integers packed into one vector: the route values and the child lists of the
//! control side.

use super::blocks::Blocks;

/// Runs of up to 256 bytes, in blocks of whole units of eight bytes, two or more.
#[derive(Debug)]
pub(super) struct Arena<T> {
    elements: Vec<T>,
    blocks: Blocks,
}

/// A run in an arena: where, and how long. Its block's length follows from the run's. Without a gap,
/// so that a node fills one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed)]
pub(super) struct Run {
    first: u32,
    length: u8,
}

impl<T: Copy + Default> Arena<T> {
    /// Elements in a unit.
    const UNIT: u32 = 8 / size_of::<T>() as u32;

    pub(super) fn new() -> Self {
        Self {
            elements: Vec::new(),
            blocks: Blocks::new(0, u32::MAX / Self::UNIT),
        }
    }

    #[inline]
    pub(super) fn get(&self, run: Run) -> &[T] {
        let first = run.first as usize;
        &self.elements[first..first + usize::from(run.length)]
    }

    /// Element `at` of a run that has so many.
    #[inline]
    pub(super) fn element_mut(&mut self, run: Run, at: usize) -> &mut T {
        debug_assert!(at < usize::from(run.length), "the run has this element");
        &mut self.elements[run.first as usize + at]
    }

    /// Element `at` of a run, if it has so many, and the place by which [`Arena::replace`] knows it.
    #[inline]
    pub(super) fn element(&self, run: Run, at: usize) -> Option<(u32, &T)> {
        let place = run.first + at as u32;
        (at < usize::from(run.length)).then(|| (place, &self.elements[place as usize]))
    }

    /// Puts a value into a place; returns the one that was there.
    #[inline]
    pub(super) fn replace(&mut self, place: u32, value: T) -> T {
        std::mem::replace(&mut self.elements[place as usize], value)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, run: Run) -> &mut [T] {
        let first = run.first as usize;
        &mut self.elements[first..first + usize::from(run.length)]
    }

    /// Inserts `value` before element `at`; returns the run as it is now.
    pub(super) fn insert(&mut self, run: Run, at: usize, value: T) -> Run {
        let grown = Run {
            first: run.first,
            length: run.length + 1,
        };
        let grown = self.resized(run, grown);
        let elements = self.get_mut(grown);
        elements.copy_within(at..elements.len() - 1, at + 1);
        elements[at] = value;
        grown
    }

    /// Removes element `at`; returns the run as it is now.
    pub(super) fn remove(&mut self, run: Run, at: usize) -> Run {
        self.get_mut(run).copy_within(at + 1.., at);
        self.resized(
            run,
            Run {
                first: run.first,
                length: run.length - 1,
            },
        )
    }

    pub(super) fn bytes(&self) -> usize {
        self.elements.capacity() * size_of::<T>() + self.blocks.list_bytes()
    }

    /// Moves the run to a block that fits `to.length`, if it has another one now.
    fn resized(&mut self, from: Run, mut to: Run) -> Run {
        let (old_units, new_units) = (Self::units(from.length), Self::units(to.length));
        if old_units == new_units {
            return to;
        }
        if new_units > 0 {
            // Proof that there is room: 2^32 elements hold every run of every node that memory
            // could hold.
            let unit = self
                .blocks
                .take(new_units)
                .expect("an arena has room for 2^32 elements");
            to.first = unit * Self::UNIT;
            let end = (self.blocks.high_water() * Self::UNIT) as usize;
            if self.elements.len() < end {
                self.elements.resize(end, T::default());
            }
            let kept = usize::from(from.length.min(to.length));
            let first = from.first as usize;
            self.elements
                .copy_within(first..first + kept, to.first as usize);
        }
        if old_units > 0 {
            self.blocks.give(from.first / Self::UNIT, old_units);
        }
        to
    }

    fn units(length: u8) -> u32 {
        match u32::from(length) {
            0 => 0,
            length => length.div_ceil(Self::UNIT).max(2),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/arena.rs"]
mod tests;
