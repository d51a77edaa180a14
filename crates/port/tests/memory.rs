//! A replay delivers its frames byte by byte, in order, round and round.

use std::sync::Arc;

use port::memory::{MemoryPort, Replay, ReplayError};
use port::pool::Layout;
use port::{Burst, Pool, Port};
use proptest::prelude::*;

/// Receives `count` frames and transmits them into nowhere.
fn received(port: &mut MemoryPort, count: usize) -> Vec<Vec<u8>> {
    let mut pool = Pool::new(Layout::ordinary(256)).expect("a little memory");
    let mut burst = Burst::new();
    let mut frames = Vec::new();
    while frames.len() < count {
        assert!(
            port.receive(&mut pool, &mut burst)
                .expect("memory never fails")
                > 0
        );
        frames.extend(
            burst
                .frames()
                .iter()
                .map(|frame| pool.bytes(frame).to_vec()),
        );
        port.transmit(&mut pool, &mut burst)
            .expect("memory never fails");
        assert_eq!(pool.available(), 256);
    }
    frames.truncate(count);
    frames
}

proptest! {
    #[test]
    fn any_frames_come_round(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..200),
        first in 0_usize..1000,
    ) {
        let replay = Replay::of(frames.iter().map(Vec::as_slice)).expect("right lengths");
        let mut port = MemoryPort::new("m", Arc::new(replay), first);
        let expected: Vec<Vec<u8>> = frames
            .iter()
            .cycle()
            .skip(first % frames.len())
            .take(500)
            .cloned()
            .collect();
        prop_assert_eq!(received(&mut port, 500), expected);
    }

    #[test]
    fn uniform_frames_come_round(
        template in prop::collection::vec(any::<u8>(), 1..1600),
        count in 1_u8..200,
    ) {
        let heads = (0..count).map(|number| [number; 64]);
        let replay = Replay::uniform(&template, heads).expect("right length");
        let mut port = MemoryPort::new("m", Arc::new(replay), 0);
        let expected: Vec<Vec<u8>> = (0..count).cycle().take(300).map(|number| {
            let mut frame = template.clone();
            let near = frame.len().min(64);
            frame[..near].fill(number);
            frame
        }).collect();
        prop_assert_eq!(received(&mut port, 300), expected);
    }
}

#[test]
fn an_empty_pool_receives_nothing_and_loses_nothing() {
    let replay =
        Arc::new(Replay::uniform(&[0; 60], (0..100).map(|number| [number; 64])).expect("right"));
    let mut port = MemoryPort::new("m", replay, 0);
    let mut pool = Pool::new(Layout::ordinary(10)).expect("a little memory");
    let (mut held, mut next) = (Burst::new(), Burst::new());
    assert_eq!(port.receive(&mut pool, &mut held).ok(), Some(10));
    assert_eq!(port.receive(&mut pool, &mut next).ok(), Some(0));
    pool.release_all(&mut held);
    assert_eq!(port.receive(&mut pool, &mut next).ok(), Some(10));
    assert_eq!(pool.bytes(&next.frames()[0])[0], 10);
}

#[test]
fn impossible_replays_are_refused() {
    assert_eq!(Replay::of([]).err(), Some(ReplayError::Empty));
    assert_eq!(
        Replay::uniform(&[0; 60], []).err(),
        Some(ReplayError::Empty)
    );
    assert_eq!(
        Replay::of([&[0; 10][..], &[]]).err(),
        Some(ReplayError::Length {
            number: 1,
            length: 0
        })
    );
    assert_eq!(
        Replay::uniform(&[0; 2049], [[0; 64]]).err(),
        Some(ReplayError::Length {
            number: 0,
            length: 2049
        })
    );
}
