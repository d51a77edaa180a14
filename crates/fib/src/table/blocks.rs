//! Hands out blocks of 1 to [`LONGEST`] units of an array: first from a free list of exactly that
//! size, then by cutting a longer free block, then from untouched room. Free neighbours are merged
//! when much is free, or when there is no room otherwise.

/// Longest block, in units.
pub(super) const LONGEST: u32 = 33;

/// Free units below which merging is not worth while.
const FEW: usize = 4096;

/// What of an array is free. It knows only numbers; the array is the caller's.
#[derive(Debug)]
pub(super) struct Blocks {
    /// First units of free blocks, by length.
    free: [Vec<u32>; LONGEST as usize + 1],
    /// Bit *n*: there is a free block of length *n*.
    lengths: u64,
    free_units: usize,
    given_since_merge: usize,
    #[cfg(test)]
    first: u32,
    /// Free room as (first, end): the untouched end of the array below, merged long runs on top.
    room: Vec<(u32, u32)>,
}

impl Blocks {
    /// Units `first` to `capacity`, all free.
    pub(super) fn new(first: u32, capacity: u32) -> Self {
        Self {
            free: std::array::from_fn(|_| Vec::new()),
            lengths: 0,
            free_units: 0,
            given_since_merge: 0,
            #[cfg(test)]
            first,
            room: vec![(first.min(capacity), capacity)],
        }
    }

    /// Units up to the last that was ever handed out (or not given back at the end).
    pub(super) fn high_water(&self) -> u32 {
        self.room[0].0
    }

    /// Units handed out.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        let room: u32 = self.room[1..].iter().map(|(first, end)| end - first).sum();
        self.high_water() as usize - self.first as usize - self.free_units - room as usize
    }

    /// Bytes of the lists themselves.
    pub(super) fn list_bytes(&self) -> usize {
        self.free
            .iter()
            .map(|list| list.capacity() * 4)
            .sum::<usize>()
            + self.room.capacity() * 8
    }

    /// A block of `units` (1 to [`LONGEST`]), or none.
    pub(super) fn take(&mut self, units: u32) -> Option<u32> {
        debug_assert!((1..=LONGEST).contains(&units));
        if let Some(first) = self.take_free(units) {
            return Some(first);
        }
        if self.free_units > FEW + self.high_water() as usize / 4
            && self.given_since_merge * 2 > self.free_units
        {
            self.merge();
            if let Some(first) = self.take_free(units) {
                return Some(first);
            }
        }
        if let Some(first) = self.take_room(units) {
            return Some(first);
        }
        self.merge();
        self.take_free(units).or_else(|| self.take_room(units))
    }

    /// Takes a block back.
    pub(super) fn give(&mut self, first: u32, units: u32) {
        self.given_since_merge += units as usize;
        self.put(first, units);
    }

    fn put(&mut self, first: u32, units: u32) {
        if units == 0 {
            return;
        }
        self.free_units += units as usize;
        self.free[units as usize].push(first);
        self.lengths |= 1 << units;
    }

    fn take_free(&mut self, units: u32) -> Option<u32> {
        let long_enough = self.lengths & (u64::MAX << units);
        if long_enough == 0 {
            return None;
        }
        let exact = long_enough >> units & 1 == 1;
        let length = if exact {
            units
        } else {
            long_enough.trailing_zeros()
        };
        let list = &mut self.free[length as usize];
        let first = list.pop()?;
        if list.is_empty() {
            self.lengths &= !(1 << length);
        }
        self.free_units -= length as usize;
        self.put(first + units, length - units);
        Some(first)
    }

    fn take_room(&mut self, units: u32) -> Option<u32> {
        while let Some((first, end)) = self.room.last_mut() {
            if *end - *first >= units {
                *first += units;
                return Some(*first - units);
            }
            if self.room.len() == 1 {
                return None;
            }
            if let Some((first, end)) = self.room.pop() {
                self.put(first, end - first);
            }
        }
        None
    }

    /// Joins free neighbours. Long runs become room; a run at the end of what was touched goes back
    /// to the untouched.
    fn merge(&mut self) {
        let mut pieces: Vec<(u32, u32)> = self.room.drain(1..).collect();
        for (units, list) in self.free.iter_mut().enumerate() {
            pieces.extend(list.drain(..).map(|first| (first, first + units as u32)));
        }
        self.lengths = 0;
        self.free_units = 0;
        self.given_since_merge = 0;
        pieces.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::with_capacity(pieces.len());
        for (first, end) in pieces {
            match runs.last_mut() {
                Some(last) if last.1 == first => last.1 = end,
                _ => runs.push((first, end)),
            }
        }
        for (first, end) in runs {
            if end == self.room[0].0 {
                self.room[0].0 = first;
            } else if end - first > LONGEST {
                self.room.push((first, end));
            } else {
                self.put(first, end - first);
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/blocks.rs"]
mod tests;
