//! Of `router/src/take_over/channel.rs`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::*;

fn pair() -> (UnixStream, Channel) {
    let (near, far) = UnixStream::pair().unwrap();
    (near, Channel::new(far).unwrap())
}

#[test]
fn a_message_comes_with_its_descriptors() {
    let (near, mut far) = pair();
    let near = Channel::new(near).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"held").unwrap();
    near.say(&[1, 2], &[file.as_fd(), file.as_fd()]).unwrap();
    near.say(&[3], &[]).unwrap();
    let (first, mut descriptors) = far.hear::<Vec<u32>>(PATIENCE).unwrap();
    assert_eq!((first, descriptors.len()), (vec![1, 2], 2));
    let mut copy = File::from(descriptors.remove(0));
    copy.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    copy.read_to_string(&mut text).unwrap();
    assert_eq!(text, "held");
    assert_eq!(far.hear::<Vec<u32>>(PATIENCE).unwrap().0, [3]);
}

#[test]
fn a_message_in_pieces_is_one() {
    let (mut near, mut far) = pair();
    assert!(far.heard::<Vec<u32>>().unwrap().is_none());
    near.write_all(b"[7,").unwrap();
    assert!(far.heard::<Vec<u32>>().unwrap().is_none());
    near.write_all(b"8]\n").unwrap();
    assert_eq!(far.heard::<Vec<u32>>().unwrap().unwrap().0, [7, 8]);
}

#[test]
fn what_is_no_message_is_an_error() {
    let (mut near, mut far) = pair();
    near.write_all(b"{\"error\": \"why not\"}\nnonsense\n{}\n")
        .unwrap();
    let mut next = || far.hear::<Vec<u32>>(PATIENCE).unwrap_err();
    assert_eq!(next().to_string(), "why not");
    next();
    next();
    let silent = far.hear::<Vec<u32>>(Duration::from_millis(10)).unwrap_err();
    assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
    drop(near);
    let ended = far.hear::<Vec<u32>>(PATIENCE).unwrap_err();
    assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
}
