//! Of `port/src/pool/shared.rs`.

use super::*;
#[cfg(not(miri))]
use crate::{Burst, Frame};

#[cfg(not(miri))]
const LAYOUT: Layout = Layout::chunks(100, 2048, 256);

#[test]
fn a_list_is_read_as_it_was_written() {
    for free in [&[][..], &[3], &[7, 0, 99, 4]] {
        assert_eq!(read(&written(free), 100).as_deref(), Some(free));
    }
}

#[test]
fn what_is_no_list_is_refused() {
    let refused = |numbers: &[u32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        read(&bytes, 4).is_none()
    };
    assert!(refused(&[]), "no count");
    assert!(refused(&[2, 1]), "fewer than it says");
    assert!(refused(&[2, 1, 1]), "one twice");
    assert!(refused(&[1, 4]), "one that is not there");
    assert!(refused(&[u32::MAX, 0, 1, 2, 3]), "more than there are");
    assert!(!refused(&[4, 0, 1, 2, 3]));
}

/// Two mappings of the same memory, as two processes have them.
#[cfg(not(miri))]
fn two() -> (Pool, Pool) {
    let first = Pool::shared(LAYOUT).unwrap();
    let file = first.file().unwrap().try_clone().unwrap();
    (first, Pool::received(LAYOUT, file).unwrap())
}

#[cfg(not(miri))]
#[test]
fn frames_and_free_buffers_go_from_one_owner_to_the_next() {
    let (mut old, mut new) = two();
    assert_eq!((old.available(), new.available()), (100, 0));
    let lent = old.allocate(60).unwrap();
    old.bytes_mut(&lent).fill(7);
    let (offset, length) = old.lend(lent);
    old.leave().unwrap();
    new.take_up().unwrap();
    assert_eq!(new.available(), 99);
    let found = new.reclaim(offset, length).unwrap();
    assert!(new.bytes(&found).iter().all(|&byte| byte == 7));
    let mut buffers: Vec<u32> = std::iter::from_fn(|| new.allocate(1))
        .chain([found])
        .map(|frame: Frame| frame.buffer)
        .collect();
    buffers.sort_unstable();
    assert_eq!(buffers, (0..100).collect::<Vec<_>>());
}

#[cfg(not(miri))]
#[test]
fn an_owner_whose_successor_did_nothing_goes_on() {
    let (mut old, mut new) = two();
    let mut burst = Burst::new();
    old.allocate_burst(10, 60, &mut burst);
    old.leave().unwrap();
    new.take_up().unwrap();
    drop(new);
    old.release_all(&mut burst);
    assert_eq!(old.available(), 100);
}

#[cfg(not(miri))]
#[test]
fn memory_that_is_too_short_or_only_one_process_has_is_refused() {
    let file = Pool::shared(Layout::chunks(99, 2048, 256)).unwrap();
    let file = file.file().unwrap().try_clone().unwrap();
    let error = Pool::received(LAYOUT, file).unwrap_err().to_string();
    assert!(error.contains("frame buffers"), "{error}");
    let mut alone = Pool::new(LAYOUT).unwrap();
    assert!(alone.leave().is_err() && alone.take_up().is_err());
}
