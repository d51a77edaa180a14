//! Some hundred thousand damaged frames through the worker's whole path, the same ones every time:
//! no panic, no buffer lost, every frame forwarded or with its one reason.
//! `fuzz/fuzz_targets/worker.rs` does the same for as long as one likes, led by coverage.

use fib::NextHop;
use figures::Random;

use crate::support::{bench, frame_v4, frame_v6, tagged, v4, v6};

const ROUNDS: usize = 400;
const FRAMES: usize = 256;

fn damaged(random: &mut Random) -> Vec<u8> {
    let next_hop = NextHop(random.below(13) as u16);
    let length = 62 + random.below(1400);
    let mut frame = match random.below(5) {
        0 => (0..=random.below(200))
            .map(|_| random.next_u64() as u8)
            .collect(),
        1 => frame_v4(v4(next_hop), length),
        2 => frame_v6(v6(next_hop), length),
        3 => tagged(frame_v4(v4(next_hop), length), 7),
        _ => tagged(frame_v6(v6(next_hop), length), random.next_u64() as u16),
    };
    for _ in 0..random.below(4) {
        let at = random.below(frame.len().min(70));
        frame[at] = random.next_u64() as u8;
    }
    if random.below(8) == 0 {
        frame.truncate(1 + random.below(frame.len()));
    }
    frame
}

#[test]
fn damaged_frames_are_accounted_for() {
    let mut random = Random::new(7);
    let mut bench = bench();
    for round in 1..=ROUNDS {
        let frames: Vec<Vec<u8>> = (0..FRAMES).map(|_| damaged(&mut random)).collect();
        let sent = bench.run(frames);
        let counted = bench.counted();
        assert!(counted.closes(), "round {round}: {counted:?}");
        assert_eq!(counted.received, (round * FRAMES) as u64);
        assert!(
            sent.iter().flatten().all(|frame| frame.len() >= 34),
            "nothing shorter than its headers leaves"
        );
    }
}
