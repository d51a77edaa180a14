use super::*;

#[test]
fn the_block_size_and_the_direction_change_nothing_but_the_time() {
    for (block, turns) in [(1000, false), (64, false), (1000, true), (64, true)] {
        let mut data = vec![9_u8; 1000];
        passes(&mut data, block, turns);
        assert!(data.iter().all(|&b| b == 6), "{block} {turns}");
    }
}

#[test]
fn a_pass_backward_begins_at_the_end() {
    for (backward, first) in [(false, 0), (true, PIECE)] {
        let mut data: Vec<u8> = (0..PIECE + 10).map(|place| (place / PIECE) as u8).collect();
        let seen = std::cell::Cell::new(None);
        pass(&mut data, backward, |byte| {
            seen.set(seen.get().or(Some(byte)));
            byte
        });
        assert_eq!(seen.get(), Some((first / PIECE) as u8));
    }
}
