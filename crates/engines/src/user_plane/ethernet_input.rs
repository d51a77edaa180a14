//! Ethernet input: is the frame for us, on which VLAN, and what does it carry?

use fastpath::forward::{PortSettings, Reason};
use port::pool::LINE;
use port::{Frame, Pool};
use wire::ethernet::{self, MacAddress};
use wire::vlan;

/// What a frame for us carries, and the number of the table it is looked up in. The packet begins
/// behind 14 bytes: a tag has been taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Ipv4 { table: usize },
    Ipv6 { table: usize },
}

/// The first six bytes of a line as a number, as [`MacAddress::as_bits`] makes it.
#[inline]
fn destination_bits(line: &[u8; LINE]) -> u64 {
    let mut low = [0; 8];
    low.copy_from_slice(&line[..8]);
    u64::from_le_bytes(low) & 0xffff_ffff_ffff
}

/// Whether this is an untagged IPv4 frame for the port's own address: the ordinary case, answered
/// with two comparisons. `line` may hold leftovers behind a frame shorter than a header; the caller
/// checks the length.
#[inline]
pub(super) fn is_plain_ipv4(line: &[u8; LINE], station: u64) -> bool {
    (destination_bits(line) == station)
        & (u16::from_be_bytes([line[12], line[13]]) == ethernet::TYPE_IPV4)
}

/// The whole question, for any bytes.
pub(super) fn step(
    pool: &mut Pool,
    frame: &mut Frame,
    settings: &PortSettings,
) -> Result<Input, Reason> {
    let Some((header, _)) = ethernet::Header::split(pool.bytes(frame)) else {
        return Err(Reason::Runt);
    };
    if !settings.enabled {
        return Err(Reason::PortDisabled);
    }
    let (destination, mut ethertype) = (header.destination(), header.ethertype());
    if destination.is_group() {
        return Err(Reason::LinkGroup);
    }
    let mut station = settings.mac;
    let mut table = settings.table;
    if ethertype == ethernet::TYPE_VLAN {
        let Some((tag, inner, _)) = vlan::split(pool.bytes(frame)) else {
            return Err(Reason::Runt);
        };
        ethertype = inner;
        // Identifier 0 marks a priority only: the frame belongs to the port itself (IEEE 802.1Q
        // §9.6).
        if tag.identifier() != 0 {
            let mut vlans = settings.vlans.iter();
            let Some(known) = vlans.find(|vlan| vlan.vid == tag.identifier()) else {
                return Err(Reason::UnknownVlan);
            };
            (station, table) = (known.mac, known.table);
        }
        expect_station(destination, station)?;
        expect_protocol(ethertype)?;
        if vlan::pop(pool.bytes_mut(frame)).is_none()
            || !frame.shrink_front(vlan::TAG_LENGTH as u16)
        {
            return Err(Reason::Runt);
        }
    } else {
        expect_station(destination, station)?;
    }
    let table = table as usize;
    match ethertype {
        ethernet::TYPE_IPV4 => Ok(Input::Ipv4 { table }),
        ethernet::TYPE_IPV6 => Ok(Input::Ipv6 { table }),
        _ => Err(Reason::OtherProtocol),
    }
}

fn expect_station(destination: MacAddress, station: [u8; 6]) -> Result<(), Reason> {
    if destination.0 == station {
        Ok(())
    } else {
        Err(Reason::OtherStation)
    }
}

/// A frame that is not ours to forward keeps its tag.
fn expect_protocol(ethertype: u16) -> Result<(), Reason> {
    match ethertype {
        ethernet::TYPE_IPV4 | ethernet::TYPE_IPV6 => Ok(()),
        _ => Err(Reason::OtherProtocol),
    }
}
