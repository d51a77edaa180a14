//! Frames: valid ones of every kind that a router meets, and broken ones.

use wire::checksum;

use crate::capture::Captured;
use crate::case::marker;
use crate::dice::Dice;
use crate::headers::{ETHERNET, ICMP, ICMPV6, TCP, UDP, put_sum, resum};
use crate::scene::Scene;

const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// GRE, IP in IP, IPv6 in IP, ESP, AH, SCTP, and one that nobody has.
const OTHERS: [u8; 7] = [47, 4, 41, 50, 51, 132, 253];
/// Ports, some of them of tunnels.
const PORTS: [u16; 8] = [9, 53, 443, 2152, 4500, 4789, 6081, 33434];
/// Longest frame that is sent.
const LONGEST: usize = 1900;

/// Options of IPv4 headers, padded to words by what follows.
const OPTIONS: [&[u8]; 8] = [
    &[1, 1, 1, 1],
    &[148, 4, 0, 0],
    &[7, 7, 4, 0, 0, 0, 0, 0],
    &[7, 3, 4, 0],
    &[68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    &[131, 7, 4, 10, 1, 0, 2, 0],
    &[137, 7, 4, 10, 1, 0, 2, 0],
    &[130, 77, 0, 0],
];
/// Extension headers of IPv6 of eight bytes or more: their number, and all but their first byte.
const EXTENSIONS: [(u8, &[u8]); 10] = [
    (0, &[0, 1, 4, 0, 0, 0, 0]),
    (0, &[0, 5, 2, 0, 0, 1, 0]),
    (0, &[0, 0x1e, 4, 0, 0, 0, 0]),
    (0, &[0, 0x9e, 4, 0, 0, 0, 0]),
    (60, &[0, 1, 4, 0, 0, 0, 0]),
    (60, &[0, 0xde, 4, 0, 0, 0, 0]),
    (43, &[0, 0, 0, 0, 0, 0, 0]),
    (43, &[0, 3, 1, 0, 0, 0, 0]),
    (44, &[0, 0, 1, 0, 0, 0, 7]),
    (44, &[0, 2, 0, 0, 0, 0, 7]),
];

/// Hardware addresses at both ends of a cable that frames are sent into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Macs {
    /// The host's.
    pub host: [u8; 6],
    /// The router's port's.
    pub router: [u8; 6],
}

/// Draws the frame with this number that one of these hosts sends, most often the first; some are
/// after captured ones.
pub(crate) fn draw(
    dice: &mut Dice,
    scene: &Scene,
    captured: &[Captured],
    hosts: &[Macs],
    number: u16,
) -> Vec<u8> {
    let host = if dice.one_in(4) {
        dice.between(0, hosts.len())
    } else {
        0
    };
    let from_capture = (!captured.is_empty() && dice.one_in(5))
        .then(|| recaptured(dice, scene, captured, host, number))
        .flatten();
    let (kind, packet) = if let Some(packet) = from_capture {
        packet
    } else if dice.one_in(3) {
        (TYPE_IPV6, ipv6(dice, scene, host, number))
    } else {
        (TYPE_IPV4, ipv4(dice, scene, host, number))
    };
    let macs = hosts[host];
    let mut frame = [&macs.router[..], &macs.host, &kind.to_be_bytes(), &packet].concat();
    if dice.one_in(25) {
        // For a VLAN that may be there, another, or none but with a priority; and within another.
        for _ in 0..dice.of(&[1, 1, 1, 2]) {
            let tag: u16 = dice.of(&[0, 0x6000, 5, 5, 77, 0x2005]);
            let [high, low] = tag.to_be_bytes();
            let kind = dice.of(&[[0x81, 0], [0x81, 0], [0x88, 0xa8]]);
            frame.splice(12..12, [kind[0], kind[1], high, low]);
        }
    } else if dice.one_in(10) {
        mutate(dice, &mut frame, number);
    }
    frame
}

/// A captured packet, addressed anew.
fn recaptured(
    dice: &mut Dice,
    scene: &Scene,
    captured: &[Captured],
    host: usize,
    number: u16,
) -> Option<(u16, Vec<u8>)> {
    let one = &captured[dice.between(0, captured.len())];
    if one.is_v6() {
        let (source, destination) = addresses_v6(dice, scene, host);
        let packet = one.packet(&source, &destination, number, LONGEST)?;
        return Some((TYPE_IPV6, packet));
    }
    let source = source_v4(dice, scene, host).to_be_bytes();
    let destination = destination_v4(dice, scene).to_be_bytes();
    let packet = one.packet(&source, &destination, number, LONGEST)?;
    Some((TYPE_IPV4, packet))
}

/// What lies above IP: its protocol and its bytes, right but for the checksum.
fn upper(dice: &mut Dice, scene: &Scene, number: u16, v6: bool) -> (u8, Vec<u8>) {
    let protocol = match dice.between(0, 12) {
        0..6 => UDP,
        6..9 => TCP,
        9..11 if v6 => ICMPV6,
        9..11 => ICMP,
        _ => dice.of(&OTHERS),
    };
    let ports = (dice.bits() as u16, dice.of(&PORTS));
    let mut header = match protocol {
        UDP => [ports.0.to_be_bytes(), ports.1.to_be_bytes(), [0; 2], [0; 2]].concat(),
        TCP => {
            // Sequence numbers that no offload joins.
            let mut header = vec![0; 20];
            header[..2].copy_from_slice(&ports.0.to_be_bytes());
            header[2..4].copy_from_slice(&ports.1.to_be_bytes());
            header[4..12].copy_from_slice(&dice.bits().to_be_bytes());
            header[12..16].copy_from_slice(&[0x50, dice.of(&[2, 16, 24]), 0x10, 0]);
            header
        }
        ICMP | ICMPV6 => message(dice, scene, v6),
        _ => dice.bits().to_be_bytes().to_vec(),
    };
    let fixed = header.len() + if v6 { 40 } else { 20 };
    let bytes = match dice.between(0, 8) {
        0..5 => dice.between(16, 120),
        5 => dice.between(120, 1400),
        // At the edge of what fits.
        _ => (dice.of(&scene.sizes) + dice.between(0, 7)).saturating_sub(3 + fixed),
    };
    let payload = bytes.min(LONGEST - fixed);
    let repeated = marker(number).into_iter().cycle();
    header.extend(repeated.take(payload));
    if protocol == UDP {
        let length = header.len() as u16;
        header[4..6].copy_from_slice(&length.to_be_bytes());
    }
    (protocol, header)
}

/// An ICMP message: an echo, or an error about a packet.
fn message(dice: &mut Dice, scene: &Scene, v6: bool) -> Vec<u8> {
    let kinds: &[u8] = if v6 {
        &[128, 128, 129, 1, 2, 3, 4, 133, 135, 136, 137]
    } else {
        &[8, 8, 0, 13, 3, 3, 4, 5, 11, 12]
    };
    let kind = dice.of(kinds);
    // An MTU where one belongs.
    let mut message = vec![kind, 0, 0, 0, 0, 0, 5, 20];
    let is_error = if v6 {
        kind < 128
    } else {
        !matches!(kind, 0 | 8 | 13)
    };
    if !is_error {
        return message;
    }
    message[1] = dice.of(&[0, 0, 1, 3, 4, 13]);
    if v6 {
        message.extend([0x60, 0, 0, 0, 0, 80, UDP, 60]);
        message.extend(scene.v6(dice).to_be_bytes());
        message.extend(scene.v6(dice).to_be_bytes());
    } else {
        let mut quoted = vec![
            0x45,
            0,
            0,
            100,
            0,
            1,
            0,
            0,
            60,
            dice.of(&[UDP, TCP, ICMP]),
            0,
            0,
        ];
        quoted.extend(scene.v4(dice).to_be_bytes());
        quoted.extend(scene.v4(dice).to_be_bytes());
        resum(&mut quoted);
        message.extend(quoted);
    }
    message.extend([0, 9, 0, 53, 0, 80, 0, 0]);
    message
}

/// Fills in the checksum of what lies above IP.
fn sum(dice: &mut Dice, protocol: u8, upper: &mut [u8], pseudo_header: u64) {
    let at = match protocol {
        UDP if dice.one_in(10) => return,
        UDP => 6,
        TCP => 16,
        ICMP | ICMPV6 => 2,
        _ => return,
    };
    put_sum(upper, at, protocol, pseudo_header);
}

fn ttl(dice: &mut Dice) -> u8 {
    let wide = dice.bits() as u8;
    dice.of(&[64, 64, 64, 64, 64, 64, 64, 255, 2, 1, 0, wide])
}

/// A source as a host here would have it, or as somebody forges it.
fn source_v4(dice: &mut Dice, scene: &Scene, host: usize) -> u32 {
    match dice.between(0, 10) {
        // Those that answer, so that errors reach them; and few that do not.
        0..6 => 0x0a00_0000 | (host as u32) << 16 | dice.of(&[2, 2, 3, 4, 5, 77, 130, 255]),
        6 => 0x0a00_0001 + ((dice.between(0, 3) as u32) << 16),
        _ => scene.v4(dice),
    }
}

fn destination_v4(dice: &mut Dice, scene: &Scene) -> u32 {
    if dice.one_in(4) {
        let port = dice.between(0, 3) as u32;
        return 0x0a00_0000 | port << 16 | dice.of(&[0, 1, 2, 3, 4, 5, 77, 255]);
    }
    scene.v4(dice)
}

fn ipv4(dice: &mut Dice, scene: &Scene, host: usize, number: u16) -> Vec<u8> {
    let (protocol, mut upper) = upper(dice, scene, number, false);
    let source = source_v4(dice, scene, host).to_be_bytes();
    let destination = destination_v4(dice, scene).to_be_bytes();
    let pseudo = checksum::pseudo_header(&source, &destination, protocol, upper.len() as u32);
    sum(dice, protocol, &mut upper, pseudo);
    let options: &[u8] = if dice.one_in(20) {
        dice.of(&OPTIONS)
    } else {
        &[]
    };
    let length = 20 + options.len() + upper.len();
    let mut header = vec![0; 20];
    header[0] = 0x40 | (5 + options.len() as u8 / 4);
    header[1] = if dice.one_in(8) { dice.bits() as u8 } else { 0 };
    header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    header[4..6].copy_from_slice(&(dice.bits() as u16).to_be_bytes());
    header[6] = dice.of(&[0x40, 0x40, 0, 0]);
    if dice.one_in(25) {
        header[6..8].copy_from_slice(&dice.of(&[0x2000_u16, 0x2010, 0x0010, 0x8000]).to_be_bytes());
    }
    header[8] = ttl(dice);
    header[9] = protocol;
    header[12..16].copy_from_slice(&source);
    header[16..20].copy_from_slice(&destination);
    header.extend(options);
    resum(&mut header);
    [header, upper].concat()
}

fn addresses_v6(dice: &mut Dice, scene: &Scene, host: usize) -> ([u8; 16], [u8; 16]) {
    let own = |port: usize, last: u128| 0xfd00 << 112 | (port as u128) << 96 | last;
    let source = match dice.between(0, 10) {
        0..6 => own(host, dice.of(&[2, 2, 3, 4, 5, 2, 77])),
        6 => own(dice.between(0, 3), 1),
        _ => scene.v6(dice),
    };
    let destination = if dice.one_in(4) {
        own(dice.between(0, 3), dice.of(&[0, 1, 2, 3, 4, 5, 77]))
    } else {
        scene.v6(dice)
    };
    (source.to_be_bytes(), destination.to_be_bytes())
}

fn ipv6(dice: &mut Dice, scene: &Scene, host: usize, number: u16) -> Vec<u8> {
    let (protocol, mut upper) = upper(dice, scene, number, true);
    let (source, destination) = addresses_v6(dice, scene, host);
    let pseudo = checksum::pseudo_header(&source, &destination, protocol, upper.len() as u32);
    sum(dice, protocol, &mut upper, pseudo);
    let mut next = protocol;
    while dice.one_in(10) {
        let (number, rest) = dice.of(&EXTENSIONS);
        upper = [&[next], rest, &upper].concat();
        next = number;
    }
    if dice.one_in(60) {
        next = 59;
    }
    let mut header = vec![0x60, 0, 0, 0];
    if dice.one_in(4) {
        header = (0x6000_0000 | dice.bits() as u32 >> 4)
            .to_be_bytes()
            .to_vec();
    }
    header.extend((upper.len() as u16).to_be_bytes());
    header.extend([next, ttl(dice)]);
    header.extend(source);
    header.extend(destination);
    [header, upper].concat()
}

/// Breaks a frame, as bad cables, bad programs and bad people do.
fn mutate(dice: &mut Dice, frame: &mut Vec<u8>, number: u16) {
    let small = dice.between(1, 21) as u16;
    // The field that says how long the packet is.
    let field = if frame[12] == 8 { 16..18 } else { 18..20 };
    let length = u16::from_be_bytes([frame[field.start], frame[field.start + 1]]);
    match dice.between(0, 13) {
        0 => {
            let other = dice.of(&[0, 1, length.wrapping_add(small), length.wrapping_sub(small)]);
            frame[field].copy_from_slice(&other.to_be_bytes());
        }
        1 => frame[ETHERNET] = frame[ETHERNET] & 15 | dice.of(&[0, 0x40, 0x50, 0x60, 0xf0]),
        2 => frame[ETHERNET] = frame[ETHERNET] & 0xf0 | dice.of(&[0, 4, 6, 15]),
        3 => frame[24] ^= small as u8,
        4 => frame.truncate(frame.len() - usize::from(small).min(frame.len() - ETHERNET)),
        5 => frame.truncate(dice.between(ETHERNET, frame.len())),
        // Behind the packet.
        6 => frame.extend(std::iter::repeat_n(0, dice.between(1, 60))),
        7 => frame.extend(marker(number).repeat(dice.between(1, 40))),
        8 => frame[..6].copy_from_slice(&dice.of(&[[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [2; 6]])),
        9 => frame[13] ^= small as u8,
        _ => {
            // Any byte of the header, with a checksum that is right again.
            let at = dice.between(ETHERNET, (ETHERNET + 60).min(frame.len()));
            frame[at] = dice.bits() as u8;
            let words = usize::from(frame[ETHERNET] & 15) * 4;
            if frame[12] == 8 && words >= 20 && frame.len() >= ETHERNET + words {
                resum(&mut frame[ETHERNET..ETHERNET + words]);
            }
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/frame.rs"]
mod tests;
