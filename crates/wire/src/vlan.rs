//! One 802.1Q tag: four bytes between the source address and the type field (IEEE 802.1Q §9.6).

use crate::ethernet::{HEADER_LENGTH, TYPE_VLAN};

/// Bytes that a tag adds to a frame.
pub const TAG_LENGTH: usize = 4;
/// Offset of the tag in a tagged frame: after both addresses.
pub const TAG_OFFSET: usize = 12;

/// The tag control information: priority, drop eligibility, VLAN identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u16);

impl Tag {
    /// The VLAN identifier; 0 marks a frame that carries a priority only.
    #[inline]
    pub const fn identifier(self) -> u16 {
        self.0 & 0x0fff
    }
}

/// The tag of a frame whose type field is [`TYPE_VLAN`], and the type field behind it; `None` when
/// the frame is not tagged or ends inside the tag.
#[inline]
pub fn split(frame: &[u8]) -> Option<(Tag, u16, &[u8])> {
    let (header, packet) = frame.split_first_chunk::<{ HEADER_LENGTH + TAG_LENGTH }>()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    (word(TAG_OFFSET) == TYPE_VLAN).then(|| (Tag(word(14)), word(16), packet))
}

/// Opens a gap for a tag: moves both addresses [`TAG_LENGTH`] bytes towards the start of `frame`
/// and writes the tag behind them. The frame begins [`TAG_LENGTH`] bytes into `frame` before and at
/// its start afterwards. `false`, and nothing written, when there is no room for a header and a
/// tag.
#[must_use]
pub fn push(frame: &mut [u8], tag: Tag) -> bool {
    if frame.len() < HEADER_LENGTH + TAG_LENGTH {
        return false;
    }
    frame.copy_within(TAG_LENGTH..TAG_LENGTH + TAG_OFFSET, 0);
    frame[TAG_OFFSET..TAG_OFFSET + 2].copy_from_slice(&TYPE_VLAN.to_be_bytes());
    frame[TAG_OFFSET + 2..TAG_OFFSET + 4].copy_from_slice(&tag.0.to_be_bytes());
    true
}

/// Takes the tag out: moves both addresses over it, so that the frame begins [`TAG_LENGTH`] bytes
/// into `frame` afterwards. `None`, and nothing written, when the frame carries no whole tag.
pub fn pop(frame: &mut [u8]) -> Option<Tag> {
    let (tag, _, _) = split(frame)?;
    frame.copy_within(0..TAG_OFFSET, TAG_LENGTH);
    Some(tag)
}

#[cfg(test)]
#[path = "../tests/unit/vlan.rs"]
mod tests;
