//! Of `port/src/pool.rs`.

use super::*;

fn pool(buffers: u32) -> Pool {
    Pool::new(Layout::ordinary(buffers)).expect("a little memory")
}

#[test]
fn the_buffer_released_last_is_allocated_first() {
    let mut pool = pool(8);
    let first = pool.allocate(60).expect("free");
    let second = pool.allocate(60).expect("free");
    let (a, b) = (first.buffer, second.buffer);
    pool.release(first);
    pool.release(second);
    assert_eq!(pool.allocate(60).map(|frame| frame.buffer), Some(b));
    assert_eq!(pool.allocate(60).map(|frame| frame.buffer), Some(a));
}

#[test]
fn a_burst_goes_round_in_the_same_buffers() {
    let mut pool = pool(1000);
    let mut burst = Burst::new();
    let mut buffers = |pool: &mut Pool| {
        assert_eq!(pool.allocate_burst(100, 60, &mut burst), Burst::CAPACITY);
        let seen: Vec<u32> = burst.frames().iter().map(|frame| frame.buffer).collect();
        pool.release_all(&mut burst);
        assert!(burst.is_empty());
        seen
    };
    assert_eq!(buffers(&mut pool), buffers(&mut pool));
    assert_eq!(pool.available(), 1000);
}

#[test]
fn no_buffer_is_handed_out_twice_and_an_empty_pool_says_so() {
    let mut pool = pool(100);
    let mut seen: Vec<u32> = std::iter::from_fn(|| pool.allocate(1))
        .map(|frame| frame.buffer)
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
    assert_eq!(pool.allocate_burst(10, 1, &mut Burst::new()), 0);
}

#[test]
fn frames_do_not_overlap() {
    let mut pool = pool(3);
    let frames: Vec<Frame> = std::iter::from_fn(|| pool.allocate(2048)).collect();
    for (number, frame) in frames.iter().enumerate() {
        pool.bytes_mut(frame).fill(number as u8);
    }
    for (number, frame) in frames.iter().enumerate() {
        assert!(pool.bytes(frame).iter().all(|&byte| byte == number as u8));
    }
    assert!(pool.allocate(2049).is_none());
}

#[test]
fn lent_frames_come_back() {
    let mut pool = Pool::new(Layout::chunks(4, 2048, 256)).expect("memory");
    let frame = pool.allocate(60).expect("free");
    let buffer = frame.buffer;
    let (offset, length) = pool.lend(frame);
    assert_eq!((offset % 2048, length), (256, 60));
    assert_eq!(
        pool.reclaim(offset, 60).map(|frame| frame.buffer),
        Some(buffer)
    );
    assert!(pool.reclaim(4 * 2048, 1).is_none());
    assert!(pool.reclaim(2047, 2).is_none());
}

#[test]
fn the_front_grows_and_shrinks_within_the_buffer() {
    let mut pool = pool(1);
    let mut frame = pool.allocate(60).expect("free");
    assert!(frame.grow_front(4));
    assert_eq!((frame.length(), frame.headroom()), (64, 60));
    assert!(!frame.grow_front(61));
    assert!(frame.shrink_front(64));
    assert!(!frame.shrink_front(1));
    assert_eq!(pool.bytes(&frame), &[] as &[u8]);
}

#[test]
fn impossible_layouts_are_refused() {
    for layout in [
        Layout::chunks(0, 2048, 0),
        Layout::chunks(1, 65536, 0),
        Layout::chunks(1, 2048, 2048),
    ] {
        assert!(Pool::new(layout).is_err(), "{layout:?}");
    }
}

#[test]
fn buffers_hold_the_longest_frame_of_their_interface() {
    assert_eq!(Layout::holding(8, 60), Layout::ordinary(8));
    assert_eq!(Layout::holding(8, 1_518), Layout::ordinary(8));
    for bytes in [2_049, 3_516, 9_018, 60_000] {
        let layout = Layout::holding(8, bytes);
        let room = layout.stride - u32::from(layout.headroom);
        assert!(room >= bytes.min(Layout::LARGEST), "{layout:?}");
        assert_eq!(layout.stride / LINE as u32 % 2, 1);
        Pool::new(layout).unwrap();
    }
}

#[test]
#[should_panic(expected = "another pool")]
fn a_frame_of_a_larger_pool_is_caught() {
    let mut large = pool(100);
    let frame = std::iter::from_fn(|| large.allocate(60))
        .last()
        .expect("free");
    let _ = pool(1).bytes(&frame);
}
