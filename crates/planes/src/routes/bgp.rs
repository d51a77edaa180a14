//! A neighbour that announces routes by BGP-4 (RFC 4271): as much of the protocol as a speaker
//! needs that only talks.
//!
//! It offers a hold time of 0, so nobody sends keepalives (§4.2), and no capabilities: prefixes are
//! IPv4, system numbers have 16 bits.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
/// Marker, length and type (§4.1).
const HEADER: usize = 19;
/// The longest message (§4.1).
const LONGEST: usize = 4_096;
const OPEN: u8 = 1;
const UPDATE: u8 = 2;
const KEEPALIVE: u8 = 4;
const VERSION: u8 = 4;
/// Flags of an attribute that every speaker knows (§4.3).
const WELL_KNOWN: u8 = 0x40;

/// An established session.
pub(super) struct Speaker {
    stream: TcpStream,
    system: u16,
}

impl Speaker {
    /// Connects to a neighbour as autonomous system `system` with the identifier `identifier`.
    ///
    /// # Errors
    /// No connection, or the neighbour refuses the session.
    pub(super) fn connect(
        neighbour: SocketAddr,
        system: u16,
        identifier: Ipv4Addr,
    ) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&neighbour, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut open = vec![VERSION];
        open.extend_from_slice(&system.to_be_bytes());
        let (hold_time, parameters) = ([0, 0], 0);
        open.extend_from_slice(&hold_time);
        open.extend_from_slice(&identifier.octets());
        open.push(parameters);
        stream.write_all(&message(OPEN, &open))?;
        expect(&mut stream, OPEN)?;
        stream.write_all(&message(KEEPALIVE, &[]))?;
        expect(&mut stream, KEEPALIVE)?;
        Ok(Self { stream, system })
    }

    /// Announces `networks`, all by `next_hop`.
    ///
    /// # Errors
    /// The session is gone, or its neighbour has not read for seconds.
    pub(super) fn announce(
        &mut self,
        next_hop: Ipv4Addr,
        networks: &[(Ipv4Addr, u8)],
    ) -> io::Result<()> {
        /// Networks that fit a message, whatever their length.
        const MOST: usize = 512;
        for networks in networks.chunks(MOST) {
            self.stream
                .write_all(&message(UPDATE, &update(self.system, next_hop, networks)))?;
        }
        Ok(())
    }
}

/// §4.1.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = ((HEADER + body.len()) as u16).to_be_bytes();
    [&[0xff; 16][..], &length, &[kind], body].concat()
}

/// §4.3: nothing withdrawn; origin, path and next hop (§5.1.1 to §5.1.3); networks.
fn update(system: u16, next_hop: Ipv4Addr, networks: &[(Ipv4Addr, u8)]) -> Vec<u8> {
    let [high, low] = system.to_be_bytes();
    let (origin_igp, sequence) = (0, 2);
    let origin = [WELL_KNOWN, 1, 1, origin_igp];
    let path = [WELL_KNOWN, 2, 4, sequence, 1, high, low];
    let attributes = [&origin[..], &path, &[WELL_KNOWN, 3, 4], &next_hop.octets()].concat();
    let length = (attributes.len() as u16).to_be_bytes();
    let mut body = [&[0, 0][..], &length, &attributes].concat();
    for (network, length) in networks {
        body.push(*length);
        body.extend_from_slice(&network.octets()[..usize::from(*length).div_ceil(8).min(4)]);
    }
    body
}

/// Reads one message, which must be of this kind.
fn expect(stream: &mut TcpStream, kind: u8) -> io::Result<()> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let length = usize::from(u16::from_be_bytes([header[16], header[17]]));
    if !(HEADER..=LONGEST).contains(&length) {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    let mut body = vec![0; length - HEADER];
    stream.read_exact(&mut body)?;
    if header[18] == kind {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "a message of type {} {body:?} instead of type {kind}",
            header[18]
        )))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/bgp.rs"]
mod tests;
