//! Frames to replay: UDP from one sender to many destinations, right in every header.

use port::memory::{Replay, ReplayError};
use port::pool::LINE;
use wire::ethernet::{self, FCS_LENGTH, HEADER_LENGTH as LINK, MacAddress};
use wire::{checksum, ipv4, ipv6, udp};

/// The station that test frames are for.
pub const ROUTER: MacAddress = MacAddress([0x02, 0xc0, 0x4e, 0x00, 0x00, 0x01]);
/// The station that test frames are from.
pub const SENDER: MacAddress = MacAddress([0x02, 0xc0, 0x4e, 0x00, 0x00, 0x02]);
/// Source address of IPv4 test frames: 198.18.0.2, from the block for benchmarks (RFC 2544 §C.2.2).
pub const SOURCE_V4: u32 = 0xc612_0002;
/// Source address of IPv6 test frames: `2001:2::2`, from the block for benchmarks (RFC 5180 §8).
pub const SOURCE_V6: u128 = 0x2001_0002 << 96 | 2;
/// Source and destination port: discard (RFC 2544 §C.2.6.4).
const DISCARD: u16 = 9;
const HOPS: u8 = 64;

/// Where test frames go, one frame for each.
#[derive(Clone, Copy, Debug)]
pub enum Destinations<'a> {
    /// IPv4 addresses in host order.
    V4(&'a [u32]),
    /// IPv6 addresses in host order.
    V6(&'a [u128]),
}

/// Why there are no such test frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// A frame of this size does not exist or does not hold the headers.
    #[error(
        "no {family} test frame has {frame_bytes} bytes; give {least} to 1518, frame check \
         sequence included"
    )]
    FrameBytes {
        /// `IPv4` or `IPv6`.
        family: &'static str,
        /// What was asked for.
        frame_bytes: usize,
        /// The least.
        least: usize,
    },
    /// There are no destinations.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// A replay with one frame of `frame_bytes` bytes (frame check sequence included, as in RFC 2544)
/// for each destination, in their order.
///
/// # Errors
/// [`TrafficError`] for an impossible size, or no destination.
pub fn frames(destinations: Destinations, frame_bytes: usize) -> Result<Replay, TrafficError> {
    let (family, headers) = match destinations {
        Destinations::V4(_) => ("IPv4", LINK + ipv4::HEADER_LENGTH + udp::HEADER_LENGTH),
        Destinations::V6(_) => ("IPv6", LINK + ipv6::HEADER_LENGTH + udp::HEADER_LENGTH),
    };
    let least = headers.max(ethernet::MINIMUM_FRAME) + FCS_LENGTH;
    if !(least..=1518).contains(&frame_bytes) {
        return Err(TrafficError::FrameBytes {
            family,
            frame_bytes,
            least,
        });
    }
    let template = vec![0; frame_bytes - FCS_LENGTH];
    // Never longer than a frame. The payload is zero, and so is its sum.
    let datagram = (template.len() + udp::HEADER_LENGTH - headers) as u16;
    let replay = match destinations {
        Destinations::V4(all) => {
            let nowhere = head_v4(datagram);
            Replay::uniform(&template, all.iter().map(|&to| directed_v4(nowhere, to)))
        }
        Destinations::V6(all) => {
            Replay::uniform(&template, all.iter().map(|&to| head_v6(datagram, to)))
        }
    };
    Ok(replay?)
}

/// The first line of an IPv4 frame with a datagram of so many bytes to address 0.
fn head_v4(datagram: u16) -> [u8; LINE] {
    let header = ipv4::write(&ipv4::Fields {
        source: SOURCE_V4,
        destination: 0,
        protocol: udp::PROTOCOL,
        time_to_live: HOPS,
        total_length: ipv4::HEADER_LENGTH as u16 + datagram,
    });
    let source = SOURCE_V4.to_be_bytes();
    head(ethernet::TYPE_IPV4, &header, datagram, &source)
}

/// The same to another address: both sums grow by what it adds (RFC 1624).
fn directed_v4(mut head: [u8; LINE], destination: u32) -> [u8; LINE] {
    const END: usize = LINK + ipv4::HEADER_LENGTH;
    let added = checksum::fold(u64::from(destination >> 16) + u64::from(destination & 0xffff));
    let sum = |at: usize| checksum::update(u16::from_be_bytes([head[at], head[at + 1]]), 0, added);
    let (network, transport) = (sum(END - 10), sum(END + 6));
    // A datagram's is never stored as 0 (RFC 768).
    let transport = if transport == 0 { 0xffff } else { transport };
    head[END - 10..END - 8].copy_from_slice(&network.to_be_bytes());
    head[END - 4..END].copy_from_slice(&destination.to_be_bytes());
    head[END + 6..END + 8].copy_from_slice(&transport.to_be_bytes());
    head
}

/// The first line of an IPv6 frame with a datagram of so many bytes.
fn head_v6(datagram: u16, destination: u128) -> [u8; LINE] {
    let header = ipv6::write(&ipv6::Fields {
        source: SOURCE_V6,
        destination,
        next_header: udp::PROTOCOL,
        hop_limit: HOPS,
        payload_length: datagram,
    });
    let addresses = [SOURCE_V6, destination].map(u128::to_be_bytes);
    head(ethernet::TYPE_IPV6, &header, datagram, &addresses.concat())
}

fn head(ethertype: u16, network: &[u8], datagram: u16, addresses: &[u8]) -> [u8; LINE] {
    let mut head = [0; LINE];
    let pseudo = checksum::pseudo_header(addresses, &[], udp::PROTOCOL, datagram.into());
    let written = ethernet::write(&mut head, ROUTER, SENDER, ethertype);
    debug_assert!(written, "a frame without room for its headers");
    let transport = LINK + network.len();
    head[LINK..transport].copy_from_slice(network);
    head[transport..transport + udp::HEADER_LENGTH]
        .copy_from_slice(&udp::header(datagram, DISCARD, DISCARD, pseudo));
    head
}
