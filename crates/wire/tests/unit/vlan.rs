use super::*;

#[test]
fn push_and_pop_undo_each_other() {
    let plain: Vec<u8> = (0..64).collect();
    let mut room = vec![0; TAG_LENGTH];
    room.extend(&plain);
    let tag = Tag(0xa123);
    assert!(push(&mut room, tag));
    let (seen, ethertype, packet) = split(&room).expect("tagged");
    assert_eq!((seen, seen.identifier()), (tag, 0x123));
    assert_eq!(ethertype, u16::from_be_bytes([12, 13]));
    assert_eq!(packet, &plain[14..]);
    assert_eq!(pop(&mut room), Some(tag));
    assert_eq!(&room[TAG_LENGTH..], &plain[..]);
}

#[test]
fn a_truncated_tag_is_no_tag() {
    let mut frame = vec![0; 17];
    frame[12] = 0x81;
    assert!(split(&frame).is_none());
    assert_eq!(pop(&mut frame), None);
    assert!(!push(&mut frame, Tag(1)));
}
