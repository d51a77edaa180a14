//! Of `port/src/xsk/scattered.rs`.

use super::*;
use crate::pool::Layout;

const BUFFERS: u32 = 48;

/// Adds pieces of these lengths; the length of the frame that they end.
fn add(unfinished: &mut Unfinished, pool: &mut Pool, lengths: &[u16], ends: bool) -> Option<Frame> {
    let mut whole = None;
    for (at, &length) in lengths.iter().enumerate() {
        assert!(whole.is_none(), "a frame before its last piece");
        let piece = pool.allocate(length).expect("free");
        let last = ends && at + 1 == lengths.len();
        whole = unfinished.add(pool, piece, last);
    }
    whole
}

#[test]
fn a_frame_waits_for_its_end() {
    let mut pool = Pool::new(Layout::chunks(BUFFERS, 2048, 256)).expect("memory");
    let mut unfinished = Unfinished::default();
    assert!(!unfinished.is_some());
    assert!(add(&mut unfinished, &mut pool, &[1792, 1792], false).is_none());
    assert!(unfinished.is_some());
    let frame = add(&mut unfinished, &mut pool, &[1000], true).expect("its end");
    assert_eq!(frame.length(), 2 * 1792 + 1000);
    assert!(!unfinished.is_some());
    let short = add(&mut unfinished, &mut pool, &[60], true).expect("whole");
    assert_eq!(short.length(), 60);
    pool.release(frame);
    pool.release(short);
    assert_eq!(pool.available(), BUFFERS as usize);
}

#[test]
fn one_that_is_too_long_is_counted_and_the_next_is_not_touched() {
    let mut pool = Pool::new(Layout::chunks(BUFFERS, 2048, 256)).expect("memory");
    let mut unfinished = Unfinished::default();
    assert!(add(&mut unfinished, &mut pool, &[1792; 40], true).is_none());
    assert_eq!((unfinished.lost(), unfinished.is_some()), (1, false));
    assert_eq!(pool.available(), BUFFERS as usize);
    let next = add(&mut unfinished, &mut pool, &[1792, 5], true).expect("whole");
    assert_eq!(next.length(), 1797);
}
