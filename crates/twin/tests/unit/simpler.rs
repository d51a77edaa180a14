//! Of `twin/src/simpler.rs`.

use super::*;

/// A frame with a tag, whose packet has options, a type of service, a long payload, and bytes behind.
fn frame() -> Vec<u8> {
    let mut packet = vec![0x46, 9, 0, 0, 1, 2, 0x40, 0, 7, TCP, 0, 0];
    packet.extend([10, 0, 0, 77, 198, 18, 0, 1, 1, 1, 1, 1]);
    packet.extend([
        0, 80, 1, 187, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 16, 16, 0, 0, 0, 0, 0,
    ]);
    packet.extend(marker(7).repeat(90));
    settle(&mut packet);
    let head = [&[2; 12], &[0x81, 0, 0, 5, 8, 0][..]].concat();
    [&head, &packet, &[0; 9][..]].concat()
}

#[test]
fn what_is_not_needed_of_a_frame_goes() {
    let mut asked = 0;
    let mut shrunk = |needed: fn(&[u8]) -> bool| {
        let wanted = |frame: &[u8]| {
            asked += 1;
            Ok(needed(frame))
        };
        simplest(frame(), wanted).unwrap()
    };
    let all = shrunk(|_| true);
    let said_all =
        "IPv4 10.0.0.2 > 198.18.0.1, TTL 64, fragment 0000, protocol 17, ports 9 > 9, 44 bytes";
    assert_eq!(
        (said(&all).as_deref(), number(&all)),
        (Some(said_all), Some(7))
    );
    // TCP with options and a length above 500.
    let some = shrunk(|frame| {
        let is_tcp = above(frame).is_some_and(|(protocol, at)| protocol == TCP && at == 24);
        is_tcp && frame.len() > 500
    });
    let said_some = said(&some).unwrap();
    assert!(said_some.starts_with("IPv4 10.0.0.2 > 198.18.0.1, TTL 64, fragment 0000, protocol 6 behind 01010101, ports 80 > 443"), "{said_some}");
    assert!((501..600).contains(&some.len()), "{}", some.len());
    let mut right = some[ETHERNET..].to_vec();
    settle(&mut right);
    assert_eq!(right, some[ETHERNET..]);
    // What is wrong stays so when it is needed: a length that is not the packet's.
    let wrong = shrunk(|frame| {
        parts(frame).is_some_and(|(_, packet)| half(packet, 2) != Some(packet.len()))
    });
    assert!(wrong.len() < frame().len());
    assert!(asked < 90, "{asked}");
}

#[test]
fn headers_of_ipv6_go_one_by_one() {
    let mut packet = vec![0x61, 2, 3, 4, 0, 0, HOP_BY_HOP, 3];
    packet.extend([0xfd; 32]);
    packet.extend([DESTINATION, 0, 1, 4, 0, 0, 0, 0, 253, 0, 1, 4, 0, 0, 0, 0]);
    packet.extend(marker(9).repeat(9));
    settle(&mut packet);
    let frame = [&[2; 12], &[0x86, 0xdd][..], &packet].concat();
    let wanted = |frame: &[u8]| Ok(above(frame).is_some_and(|(protocol, _)| protocol == 253));
    let small = said(&simplest(frame, wanted).unwrap()).unwrap();
    let fd = [const { 0xfdfd_u16 }; 8]
        .map(|half| format!("{half:x}"))
        .join(":");
    assert_eq!(
        small,
        format!("IPv6 fd00::2 > {fd}, hop limit 64, protocol 253, 64 bytes")
    );
}
