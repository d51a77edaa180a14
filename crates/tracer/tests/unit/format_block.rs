//! Of `tracer/src/format/block.rs`.

use super::*;

fn file(payload: &[u8]) -> Vec<u8> {
    let mut packer = Packer::default();
    let entries = Entries {
        cpu: 3,
        count: 7,
        first: 99,
        last: 99,
        bytes: payload.to_vec(),
    };
    let (head, stored) = packer.block(b'C', &entries);
    [&head, stored].concat()
}

#[test]
fn the_check_value_of_the_catalogue() {
    let mut crc = Crc::new();
    crc.update(b"123456789");
    assert_eq!(crc.sum(), 0xcbf4_3926);
}

#[test]
fn what_repeats_shrinks_and_what_does_not_stays() {
    let dull = [7_u8; 5000];
    let wild: Vec<u8> = (0_u32..5000)
        .map(|n| (n.wrapping_mul(0x9e37_79b9).rotate_left(n % 31) >> 24) as u8)
        .collect();
    for (payload, most) in [
        (&dull[..], 100),
        (&wild, HEAD + 5000),
        (&dull[..100], HEAD + 100),
    ] {
        let bytes = file(payload);
        assert!(bytes.len() <= most, "{} bytes", bytes.len());
        let block = Block::at(&bytes, 0).expect("it is whole");
        assert!(block.sound);
        assert_eq!((block.cpu, block.count, block.first), (3, 7, 99));
        assert_eq!(&*block.payload, payload);
    }
}

#[test]
fn a_length_that_no_stream_can_hold_takes_no_memory() {
    let mut bytes = file(&[7; 5000]);
    bytes[HEAD..HEAD + LENGTH].copy_from_slice(&u32::MAX.to_le_bytes());
    let crc = checksum(&bytes[..HEAD], &bytes[HEAD..]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    let block = Block::at(&bytes, 0).expect("it is whole");
    assert!(!block.sound && block.payload.is_empty());
}
