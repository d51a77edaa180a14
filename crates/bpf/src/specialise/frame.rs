//! A program's stack: 512 bytes below register 10, seen as 64 words.

/// Bytes of it (`MAX_BPF_STACK`).
const BYTES: i32 = 512;
/// Words of it.
pub(super) const WORDS: usize = 64;

/// Bytes of the stack that an instruction reads or writes, from register 10: all negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: i32,
    bytes: i32,
}

impl Span {
    /// None where that is not the stack.
    pub(super) fn of(start: i32, bytes: u8) -> Option<Self> {
        let bytes = i32::from(bytes);
        (start >= -BYTES && start + bytes <= 0).then_some(Self { start, bytes })
    }

    /// Does it end below this place?
    pub(super) const fn is_below(self, place: i32) -> bool {
        self.start + self.bytes <= place
    }

    /// The word that it is, or lies in; none where it lies in two.
    pub(super) const fn word(self) -> Option<usize> {
        let (first, last) = (self.first(), self.last());
        if first == last { Some(first) } else { None }
    }

    /// A mask of the words that it touches.
    pub(super) const fn touched(self) -> u64 {
        1 << self.first() | 1 << self.last()
    }

    /// A mask of the words that it fills.
    pub(super) const fn filled(self) -> u64 {
        if self.bytes == 8 && self.first() == self.last() {
            self.touched()
        } else {
            0
        }
    }

    /// The bits of its word's number that it is.
    pub(super) const fn part_of(self, number: u64) -> u64 {
        let shifted = number >> (8 * ((BYTES + self.start) % 8));
        if self.bytes == 8 {
            shifted
        } else {
            shifted & ((1 << (8 * self.bytes)) - 1)
        }
    }

    const fn first(self) -> usize {
        ((BYTES + self.start) / 8) as usize
    }

    const fn last(self) -> usize {
        ((BYTES + self.start + self.bytes - 1) / 8) as usize
    }
}
