use std::sync::Arc;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use port::memory::MemoryPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};

use router::user_plane::test_traffic::{Destinations, frames};

/// The sum of a datagram to this address in a frame of 64 bytes comes to 0, stored as 0xffff.
const NO_SUM: u32 = 0x0001_3993;

fn all_frames(destinations: Destinations, frame_bytes: usize) -> Vec<Vec<u8>> {
    let count = match destinations {
        Destinations::V4(all) => all.len(),
        Destinations::V6(all) => all.len(),
    };
    let replay = Arc::new(frames(destinations, frame_bytes).expect("a right size"));
    let mut pool = Pool::new(Layout::ordinary(64)).expect("a little memory");
    let mut burst = Burst::new();
    MemoryPort::new("m", replay, 0)
        .receive(&mut pool, &mut burst)
        .expect("memory never fails");
    let frames = burst.frames()[..count].iter();
    frames.map(|frame| pool.bytes(frame).to_vec()).collect()
}

/// Every header as etherparse reads it, lengths and checksums included.
#[test]
fn etherparse_finds_nothing_wrong() {
    // Among them addresses whose sums carry, or come to nothing.
    let v4 = [0xc000_0201, 0, 0xffff_ffff, 0x1_ffff, 0xffff_0001, NO_SUM];
    let v6 = [0x2001_0db8 << 96 | 1, 0, u128::MAX];
    for (destinations, sizes) in [
        (Destinations::V4(&v4), [64, 65, 512, 1518]),
        (Destinations::V6(&v6), [66, 67, 512, 1518]),
    ] {
        for size in sizes {
            let frames = all_frames(destinations, size);
            if size == 64 {
                assert_eq!(frames[v4.len() - 1][40..42], [0xff, 0xff]);
            }
            for (place, frame) in frames.iter().enumerate() {
                let to = right(frame, size);
                match destinations {
                    Destinations::V4(all) => assert_eq!(to, all[place].to_be_bytes()),
                    Destinations::V6(all) => assert_eq!(to, all[place].to_be_bytes()),
                }
            }
        }
    }
}

/// Asserts that a frame of `size` bytes is right; where it goes.
fn right(frame: &[u8], size: usize) -> Vec<u8> {
    assert_eq!(frame.len(), size - 4);
    let sliced = SlicedPacket::from_ethernet(frame).expect("whole");
    let Some(TransportSlice::Udp(datagram)) = sliced.transport else {
        panic!("UDP")
    };
    let header = datagram.to_header();
    let (computed, to) = match sliced.net.expect("IP") {
        NetSlice::Ipv4(packet) => {
            let header_v4 = packet.header().to_header();
            assert_eq!(header_v4.header_checksum, header_v4.calc_header_checksum());
            assert_eq!(usize::from(header_v4.total_len), size - 18);
            let computed = header.calc_checksum_ipv4(&header_v4, datagram.payload());
            (computed, header_v4.destination.to_vec())
        }
        NetSlice::Ipv6(packet) => {
            let header_v6 = packet.header().to_header();
            let computed = header.calc_checksum_ipv6(&header_v6, datagram.payload());
            (computed, header_v6.destination.to_vec())
        }
        NetSlice::Arp(_) => panic!("IP"),
    };
    assert_eq!(header.checksum, computed.expect("fits"));
    to
}

#[test]
fn impossible_sizes_are_refused() {
    for size in [0, 63, 1519] {
        assert!(frames(Destinations::V4(&[1]), size).is_err(), "{size}");
    }
    assert!(frames(Destinations::V6(&[1]), 65).is_err());
    assert!(frames(Destinations::V4(&[]), 64).is_err());
}
