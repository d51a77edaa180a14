use super::*;

#[test]
fn what_is_written_is_read() {
    let mut buffer = Vec::new();
    append(&mut buffer, 1, &[1, 2, 3]);
    append(&mut buffer, 2, &7u32.to_ne_bytes());
    let read: Vec<_> = attributes(&buffer).collect();
    assert_eq!(read, [(1, &[1u8, 2, 3][..]), (2, &7u32.to_ne_bytes()[..])]);
}

#[test]
fn damaged_lengths_end_the_walk() {
    for bad in [
        &[3u8, 0, 1, 0][..],
        &[200, 0, 1, 0, 9, 9],
        &[0, 0, 0, 0],
        &[8, 0],
    ] {
        assert_eq!(attributes(bad).count(), 0, "{bad:?}");
    }
}
