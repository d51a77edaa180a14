//! Of `port/src/pool/pieces.rs`.

use proptest::prelude::*;

use super::*;
use crate::Burst;
use crate::pool::Layout;

const BUFFERS: u32 = 24;
const STRIDE: u32 = 128;
const HEADROOM: u16 = 28;
const CAPACITY: usize = STRIDE as usize - HEADROOM as usize;

fn pool() -> Pool {
    Pool::new(Layout::chunks(BUFFERS, STRIDE, HEADROOM)).expect("a little memory")
}

/// A frame that came in pieces of these lengths, and its bytes.
fn frame(pool: &mut Pool, lengths: &[usize]) -> (Frame, Vec<u8>) {
    let mut whole: Option<Frame> = None;
    let mut bytes = Vec::new();
    for &length in lengths {
        let piece = pool.allocate(length as u16).expect("free");
        let from = bytes.len();
        bytes.extend((from..from + length).map(|at| (at % 251) as u8 ^ (at / 251) as u8));
        pool.bytes_mut(&piece).copy_from_slice(&bytes[from..]);
        match &mut whole {
            None => whole = Some(piece),
            Some(frame) => pool.join(frame, piece).expect("short enough"),
        }
    }
    (whole.expect("a piece"), bytes)
}

fn all(pool: &Pool, frame: &Frame) -> Vec<u8> {
    pool.parts(frame).flatten().copied().collect()
}

/// What holds between any two calls.
fn check(pool: &Pool, frame: &Frame, bytes: &[u8]) {
    assert_eq!(usize::from(frame.length()), bytes.len());
    assert_eq!(all(pool, frame), bytes);
    assert!(bytes.starts_with(pool.bytes(frame)));
    assert_eq!(pool.is_scattered(frame), pool.buffers(frame) > 1);
    assert_eq!(pool.has_scattered(), pool.is_scattered(frame));
    let used = BUFFERS as usize - pool.available();
    assert_eq!(used, pool.buffers(frame) as usize);
}

#[test]
fn a_long_frame_has_its_headers_in_front_and_gives_every_buffer_back() {
    let mut pool = pool();
    let (long, bytes) = frame(&mut pool, &[CAPACITY, CAPACITY, 7]);
    check(&pool, &long, &bytes);
    assert_eq!(pool.bytes(&long), &bytes[..CAPACITY]);
    assert_eq!(pool.line(&long)[..], bytes[..64]);
    pool.release(long);
    assert_eq!(pool.available(), BUFFERS as usize);
    assert!(!pool.has_scattered());
}

#[test]
fn a_burst_gives_back_long_frames_and_short_ones() {
    let mut pool = pool();
    let mut burst = Burst::new();
    for lengths in [&[60][..], &[CAPACITY, 90, 90], &[1], &[CAPACITY, CAPACITY]] {
        burst.push(frame(&mut pool, lengths).0).expect("room");
    }
    assert_eq!(pool.available(), BUFFERS as usize - 7);
    pool.release_all(&mut burst);
    assert_eq!(pool.available(), BUFFERS as usize);
    assert!(burst.is_empty() && !pool.has_scattered());
}

#[test]
fn a_tag_grows_into_the_headroom_of_the_first_buffer() {
    let mut pool = pool();
    let (mut long, mut bytes) = frame(&mut pool, &[CAPACITY, 50]);
    assert!(long.grow_front(4));
    pool.bytes_mut(&long)[..4].copy_from_slice(&[9; 4]);
    bytes.splice(0..0, [9; 4]);
    check(&pool, &long, &bytes);
    assert!(long.shrink_front(8));
    check(&pool, &long, &bytes[8..]);
}

#[test]
fn what_does_not_fit_a_handle_is_given_back() {
    let mut pool = Pool::new(Layout::chunks(40, 2048, 256)).expect("memory");
    let lengths = [1792; 36];
    let (mut long, bytes) = frame(&mut pool, &lengths);
    let piece = pool.allocate(1792).expect("free");
    let (refused, free) = (pool.join(&mut long, piece), pool.available());
    assert_eq!(
        (refused.map_err(|piece| piece.length()), free),
        (Err(1792), 3)
    );
    assert_eq!(all(&pool, &long), bytes);
    let (other, _) = frame(&mut pool, &[1792, 1792]);
    let mut short = pool.allocate(1).expect("free");
    assert!(pool.join(&mut short, other).is_err(), "a piece of several");
}

#[test]
#[should_panic(expected = "another pool")]
fn a_long_frame_of_another_pool_is_caught() {
    let (long, _) = frame(&mut pool(), &[CAPACITY, CAPACITY]);
    let other = pool();
    let _ = other.parts(&long).count();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 512 },
        // Miri has no directory to keep failures in.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn pieces_of_any_length_are_one_frame(
        lengths in prop::collection::vec(0..=CAPACITY, 1..12),
        end in any::<prop::sample::Index>(),
    ) {
        let mut pool = pool();
        let (mut long, mut bytes) = frame(&mut pool, &lengths);
        check(&pool, &long, &bytes);
        let end = end.index(bytes.len() + 2);
        pool.truncate(&mut long, end as u16);
        bytes.truncate(end);
        check(&pool, &long, &bytes);
        // As a port lends it: buffer by buffer.
        let mut lent = Vec::new();
        while pool.is_scattered(&long) {
            lent.push(pool.split_first(&mut long));
        }
        lent.push(long);
        prop_assert!(!pool.has_scattered());
        let parts: Vec<u8> = lent.iter().flat_map(|piece| pool.bytes(piece).to_vec()).collect();
        prop_assert_eq!(parts, bytes);
        for piece in lent {
            let (offset, _) = pool.lend(piece);
            pool.give_back(offset);
        }
        prop_assert_eq!(pool.available(), BUFFERS as usize);
    }
}
