use std::sync::Arc;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use port::memory::MemoryPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};

use router::user_plane::test_traffic::{Destinations, frames};

fn first_frame(destinations: Destinations, frame_bytes: usize) -> Vec<u8> {
    let replay = Arc::new(frames(destinations, frame_bytes).expect("a right size"));
    let mut pool = Pool::new(Layout::ordinary(64)).expect("a little memory");
    let mut burst = Burst::new();
    MemoryPort::new("m", replay, 0)
        .receive(&mut pool, &mut burst)
        .expect("memory never fails");
    pool.bytes(&burst.frames()[0]).to_vec()
}

/// Every header as etherparse reads it, lengths and checksums included.
#[test]
fn etherparse_finds_nothing_wrong() {
    let (v4, v6) = ([0xc000_0201], [0x2001_0db8 << 96 | 1]);
    for (destinations, sizes) in [
        (Destinations::V4(&v4), [64, 65, 512, 1518]),
        (Destinations::V6(&v6), [66, 67, 512, 1518]),
    ] {
        for size in sizes {
            let frame = first_frame(destinations, size);
            assert_eq!(frame.len(), size - 4);
            let sliced = SlicedPacket::from_ethernet(&frame).expect("whole");
            let Some(TransportSlice::Udp(datagram)) = sliced.transport else {
                panic!("UDP")
            };
            let header = datagram.to_header();
            let computed = match sliced.net.expect("IP") {
                NetSlice::Ipv4(packet) => {
                    let header_v4 = packet.header().to_header();
                    assert_eq!(header_v4.header_checksum, header_v4.calc_header_checksum());
                    assert_eq!(usize::from(header_v4.total_len), size - 18);
                    header.calc_checksum_ipv4(&header_v4, datagram.payload())
                }
                NetSlice::Ipv6(packet) => {
                    header.calc_checksum_ipv6(&packet.header().to_header(), datagram.payload())
                }
                NetSlice::Arp(_) => panic!("IP"),
            };
            assert_eq!(header.checksum, computed.expect("fits"));
        }
    }
}

#[test]
fn impossible_sizes_are_refused() {
    for size in [0, 63, 1519] {
        assert!(frames(Destinations::V4(&[1]), size).is_err(), "{size}");
    }
    assert!(frames(Destinations::V6(&[1]), 65).is_err());
    assert!(frames(Destinations::V4(&[]), 64).is_err());
}
