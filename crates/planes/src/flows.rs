//! The flows of the load, and which user plane each belongs to.
//!
//! As a network card with a queue for each user plane would do it (receive-side scaling): the
//! Toeplitz hash over addresses and ports picks one of 128 places of a table that names the queues
//! by turns. So all frames of a flow go one way, whatever the others do. The hash is computed by
//! the sender, once for each flow; it costs the device nothing, as it costs nothing on a card.

use std::net::Ipv4Addr;

/// One flow: what the hash is computed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// From.
    pub source: Ipv4Addr,
    /// To.
    pub destination: Ipv4Addr,
    /// From this UDP port.
    pub source_port: u16,
    /// To this one.
    pub destination_port: u16,
}

/// The key that Microsoft's specification verifies implementations with, and many drivers begin
/// with.
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];
/// Places of the table that the hash's lowest bits choose from.
const PLACES: u32 = 128;

impl Flow {
    /// The Toeplitz hash ("RSS hashing types", Windows network driver documentation).
    pub fn hash(&self) -> u32 {
        let mut input = [0; 12];
        input[..4].copy_from_slice(&self.source.octets());
        input[4..8].copy_from_slice(&self.destination.octets());
        input[8..10].copy_from_slice(&self.source_port.to_be_bytes());
        input[10..].copy_from_slice(&self.destination_port.to_be_bytes());
        let window = |bit: usize| {
            let bytes = KEY[bit / 8..].first_chunk::<8>().copied();
            // 96 bits of input reach byte 11 of 40: eight more are always there.
            (u64::from_be_bytes(bytes.unwrap_or_default()) << (bit % 8) >> 32) as u32
        };
        (0..input.len() * 8)
            .filter(|bit| input[bit / 8] & (0x80 >> (bit % 8)) != 0)
            .fold(0, |hash, bit| hash ^ window(bit))
    }

    /// Which of `user_planes` it belongs to.
    pub fn user_plane(&self, user_planes: usize) -> usize {
        (self.hash() % PLACES) as usize % user_planes.max(1)
    }
}
