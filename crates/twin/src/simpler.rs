//! Frames made simpler, as long as they still show what they are to show; and said in words.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Error;
use crate::case::{MARKER, hex, marker, number};
use crate::headers::{
    DESTINATION, ETHERNET, FRAGMENT, HOP_BY_HOP, ROUTING, TCP, UDP, parts, settle, untagged, upper,
};

/// Steps that cut payloads: all that can go, then half of it, and so on.
const CUTS: std::ops::Range<usize> = 5..11;
/// Fields of headers, by their place in the packet, and what is plain there.
const PLAIN_V4: [(usize, &[u8]); 5] = [
    (1, &[0]),
    (4, &[0, 0]),
    (6, &[0, 0]),
    (8, &[64]),
    (12, &[10, 0, 0, 2]),
];
const PLAIN_V6: [(usize, &[u8]); 3] = [
    (0, &[0x60, 0, 0, 0]),
    (7, &[64]),
    (8, &[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
];

/// The simplest frame of the same number that is still wanted.
pub(crate) fn simplest(
    mut frame: Vec<u8>,
    mut wanted: impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<Vec<u8>, Error> {
    let mut which = 0;
    // What helped is done again: there may be another tag, or more to cut.
    while let Some(simpler) = simpler(&frame, which) {
        let is_other = simpler != frame && number(&simpler) == number(&frame);
        if is_other && wanted(&simpler)? {
            frame = simpler;
        } else {
            which += 1;
        }
    }
    Ok(frame)
}

/// One step of making a frame simpler; the same frame where it does not apply, `None` behind the
/// last. A packet whose lengths and checksums are right stays so.
fn simpler(frame: &[u8], which: usize) -> Option<Vec<u8>> {
    let (head, packet) = parts(frame)?;
    let (mut head, mut packet) = (head.to_vec(), packet.to_vec());
    let mut settled = packet.clone();
    settle(&mut settled);
    let is_right = settled == packet;
    let is_v6 = packet.first()? >> 4 == 6;
    let fixed = if is_v6 { 40 } else { 20 };
    match which {
        0 if is_v6 => packet.truncate(40 + half(&packet, 4)?),
        0 => packet.truncate(half(&packet, 2)?),
        1 => packet = settled,
        2 if head.len() > ETHERNET => drop(head.drain(12..16)),
        3 => {
            packet.truncate(fixed);
            *packet.get_mut(if is_v6 { 6 } else { 9 })? = UDP;
            packet[0] = if is_v6 { packet[0] } else { 0x45 };
            packet.extend([0, 9, 0, 9, 0, 0, 0, 1]);
            packet.extend(marker(number(frame)?).repeat(2));
        }
        4 if is_v6 => {
            let length = match *packet.get(6)? {
                HOP_BY_HOP | ROUTING | DESTINATION => usize::from(*packet.get(41)?) * 8 + 8,
                FRAGMENT => 8,
                _ => 0,
            };
            if (1..=packet.len().checked_sub(40)?).contains(&length) {
                packet[6] = packet[40];
                packet.drain(40..40 + length);
            }
        }
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            if (fixed..=packet.len()).contains(&header) {
                packet.drain(fixed..header);
                packet[0] = 0x45;
            }
        }
        _ if CUTS.contains(&which) => {
            // Behind the ports; the markers at the end stay.
            let begin = above(frame).map_or(fixed, |(_, at)| at) + 8;
            let most = packet.len().saturating_sub(begin + 2 * MARKER);
            let cut = (most >> (which - CUTS.start)) / MARKER * MARKER;
            packet.drain(begin.min(packet.len())..(begin + cut).min(packet.len()));
        }
        2 => {}
        _ => {
            let plain = if is_v6 { &PLAIN_V6[..] } else { &PLAIN_V4 };
            let (at, bytes) = plain.get(which - CUTS.end)?;
            packet
                .get_mut(*at..at + bytes.len())?
                .copy_from_slice(bytes);
        }
    }
    if is_right {
        settle(&mut packet);
    }
    Some([head, packet].concat())
}

/// The protocol above IP, and where it begins in the packet.
fn above(frame: &[u8]) -> Option<(u8, usize)> {
    let (_, frame) = untagged(frame)?;
    upper(&frame).map(|(protocol, at)| (protocol, at - ETHERNET))
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

/// A frame in words, for people who read a case.
pub(crate) fn said(frame: &[u8]) -> Option<String> {
    let (head, packet) = parts(frame)?;
    let mut text = String::new();
    for tag in head[12..head.len() - 2].chunks(4) {
        let _ = write!(text, "tag {}, ", hex(tag));
    }
    let fixed = if packet.first()? >> 4 == 6 { 40 } else { 20 };
    let header = packet.get(..fixed)?;
    let _ = if fixed == 40 {
        let address = |at| Ipv6Addr::from(*header[at..].first_chunk::<16>().unwrap_or(&[0; 16]));
        let (from, to, limit) = (address(8), address(24), header[7]);
        write!(text, "IPv6 {from} > {to}, hop limit {limit}")
    } else {
        let address = |at| Ipv4Addr::from(*header[at..].first_chunk::<4>().unwrap_or(&[0; 4]));
        let (from, to, limit) = (address(12), address(16), header[8]);
        let fragment = hex(&header[6..8]);
        write!(text, "IPv4 {from} > {to}, TTL {limit}, fragment {fragment}")
    };
    let (protocol, at) = above(frame)?;
    let _ = write!(text, ", protocol {protocol}");
    if at > fixed {
        let _ = write!(text, " behind {}", hex(packet.get(fixed..at)?));
    }
    if matches!(protocol, TCP | UDP) {
        let _ = write!(
            text,
            ", ports {} > {}",
            half(packet, at)?,
            half(packet, at + 2)?
        );
    }
    Some(format!("{text}, {} bytes", packet.len()))
}

#[cfg(test)]
#[path = "../tests/unit/simpler.rs"]
mod tests;
