//! What every generated frame carries in its last bytes, for its receiver.

/// First two bytes of a [`Signature`].
pub const SIGNATURE_MAGIC: u16 = 0xC07E;
/// Bytes of a [`Signature`].
pub const SIGNATURE_LENGTH: usize = 16;

/// The last 16 bytes of every generated frame, in host byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Which stream.
    pub stream: u16,
    /// Position in the stream, from 1; wraps after 2³².
    pub sequence: u32,
    /// `CLOCK_MONOTONIC` at departure in nanoseconds; 0 when this frame is not stamped.
    pub sent_ns: u64,
}

impl Signature {
    /// Reads the signature at the end of `frame`; `None` when there is none.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIGNATURE_LENGTH] = frame.last_chunk()?;
        let (magic, rest) = bytes.split_first_chunk::<2>()?;
        let (stream, rest) = rest.split_first_chunk::<2>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (sent_ns, _) = rest.split_first_chunk::<8>()?;
        (u16::from_ne_bytes(*magic) == SIGNATURE_MAGIC).then(|| Self {
            stream: u16::from_ne_bytes(*stream),
            sequence: u32::from_ne_bytes(*sequence),
            sent_ns: u64::from_ne_bytes(*sent_ns),
        })
    }

    /// Writes it at the end of `frame`; `false`, and nothing written, when there is no room. A UDP
    /// checksum is not brought in line.
    #[must_use]
    pub fn write(self, frame: &mut [u8]) -> bool {
        let Some(bytes) = frame.last_chunk_mut::<SIGNATURE_LENGTH>() else {
            return false;
        };
        bytes[..2].copy_from_slice(&SIGNATURE_MAGIC.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.stream.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.sent_ns.to_ne_bytes());
        true
    }
}

#[cfg(test)]
#[path = "../../tests/unit/signature.rs"]
mod tests;
