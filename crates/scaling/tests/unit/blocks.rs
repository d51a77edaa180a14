use super::*;

#[test]
fn the_block_size_changes_nothing_but_the_time() {
    let (mut whole, mut small) = (vec![9_u8; 1000], vec![9_u8; 1000]);
    passes(&mut whole, 1000);
    passes(&mut small, 64);
    assert!(whole == small && whole.iter().all(|&b| b == 6));
}
