//! One set of rules for every kind of memory a link can lie in.

use std::fs::File;

use icc::{Heap, Link, LinkError, Mapping, Memory, Message, Peer, PeerWatch, Port, Priority};

const WORDS: usize = 1 << 14;

fn conform<M: Memory + 'static>(a: M, b: M) {
    assert!(
        matches!(Link::join(b.clone()), Err(LinkError::Foreign { .. })),
        "nobody can join before side A has formatted the memory"
    );
    let mut left = Link::create(a).unwrap();
    let mut watch = PeerWatch::new(1_000, 0);
    assert_eq!(left.peer(&mut watch, 0), Peer::Absent);
    let mut right = Link::join(b.clone()).unwrap();
    right.beat();
    assert_eq!(left.peer(&mut watch, 10), Peer::Alive);

    messages_come_by_priority(&mut left, &mut right);
    messages_come_by_priority(&mut right, &mut left);
    packets_keep_order_and_length(&mut left, &mut right);
    scalars_keep_their_value(&mut left, &mut right);
    a_full_ring_is_said_and_empties(&mut left, &mut right);

    assert_eq!(left.peer(&mut watch, 1_011), Peer::Silent(1_001));
    // The peer dies without a word and comes back: what was sent meanwhile is there.
    std::mem::forget(right);
    left.send_packet(b"while you were away").unwrap();
    let mut right = Link::join(b).unwrap();
    right.beat();
    assert_eq!(left.peer(&mut watch, 2_000), Peer::Alive);
    let mut buffer = [0; 64];
    let length = right.receive_packet(&mut buffer).unwrap().unwrap();
    assert_eq!(&buffer[..length], b"while you were away");
    drop(right);
    assert_eq!(left.peer(&mut watch, 2_001), Peer::Closed);
}

fn messages_come_by_priority<M: Memory>(from: &mut Link<M>, to: &mut Link<M>) {
    let (me, you) = (Port(1), Port(2));
    from.send_message(me, you, Priority::Low, b"low").unwrap();
    from.send_message(me, you, Priority::Normal, b"one")
        .unwrap();
    from.send_message(me, you, Priority::Normal, b"two")
        .unwrap();
    from.send_message(me, you, Priority::Urgent, b"").unwrap();
    let mut buffer = [0; 8];
    let mut seen = Vec::new();
    while let Some(message) = to.receive_message(&mut buffer).unwrap() {
        assert_eq!((message.from, message.to), (me, you));
        let Message {
            priority, length, ..
        } = message;
        seen.push((
            priority,
            String::from_utf8(buffer[..length].to_vec()).unwrap(),
        ));
    }
    let want = [
        (Priority::Urgent, ""),
        (Priority::Normal, "one"),
        (Priority::Normal, "two"),
        (Priority::Low, "low"),
    ];
    assert_eq!(
        seen,
        want.map(|(priority, text)| (priority, text.to_owned()))
    );
}

fn packets_keep_order_and_length<M: Memory>(from: &mut Link<M>, to: &mut Link<M>) {
    let mut buffer = [0; 2_000];
    for length in 0..1_500 {
        from.send_packet(&vec![length as u8; length]).unwrap();
        assert_eq!(to.receive_packet(&mut buffer).unwrap(), Some(length));
        assert!(buffer[..length].iter().all(|&byte| byte == length as u8));
    }
    from.send_packet(&[1; 100]).unwrap();
    assert_eq!(
        to.receive_packet(&mut buffer[..99]),
        Err(LinkError::Buffer {
            needs: 100,
            has: 99
        })
    );
    assert_eq!(to.receive_packet(&mut buffer).unwrap(), Some(100));
    assert_eq!(to.receive_packet(&mut buffer).unwrap(), None);
}

fn scalars_keep_their_value<M: Memory>(from: &mut Link<M>, to: &mut Link<M>) {
    from.send_scalar(7_u8).unwrap();
    from.send_scalar(u16::MAX).unwrap();
    from.send_scalar(u32::MAX).unwrap();
    from.send_scalar(u64::MAX).unwrap();
    for want in [7, 0xffff, 0xffff_ffff, u64::MAX] {
        assert_eq!(to.receive_scalar().unwrap(), Some(want));
    }
    assert_eq!(to.receive_scalar().unwrap(), None);
}

fn a_full_ring_is_said_and_empties<M: Memory>(from: &mut Link<M>, to: &mut Link<M>) {
    let mut sent = 0_u64;
    while from.send_scalar(sent) == Ok(()) {
        sent += 1;
    }
    assert_eq!(from.send_scalar(0_u8), Err(LinkError::Full));
    assert!(sent > 10);
    for want in 0..sent {
        assert_eq!(to.receive_scalar().unwrap(), Some(want));
    }
    assert_eq!(from.send_scalar(1_u8), Ok(()));
    assert_eq!(to.receive_scalar().unwrap(), Some(1));
}

#[test]
fn on_the_heap() {
    let memory = Heap::new(WORDS);
    conform(memory.clone(), memory);
}

#[test]
fn in_a_file_mapped_twice() {
    let path = std::env::temp_dir().join(format!("icc-conformance-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(
        Mapping::of(&file, WORDS * 8).is_err(),
        "a file too short must be refused, not mapped"
    );
    file.set_len(WORDS as u64 * 8).unwrap();
    conform(
        Mapping::of(&file, WORDS * 8).unwrap(),
        Mapping::of(&file, WORDS * 8).unwrap(),
    );
}

#[test]
fn too_little_memory_says_how_much_it_takes() {
    let Err(LinkError::Small { needs, .. }) = Link::create(Heap::new(100)) else {
        panic!("100 words must not be enough");
    };
    assert!(Link::create(Heap::new(needs)).is_ok());
    assert!(Link::create(Heap::new(needs - 1)).is_err());
}

#[test]
fn two_threads_pass_a_million_packets_in_order() {
    let memory = Heap::new(WORDS);
    let mut left = Link::create(memory.clone()).unwrap();
    let mut right = Link::join(memory).unwrap();
    let count = 1_000_000_u64;
    let receiver = std::thread::spawn(move || {
        let mut buffer = [0; 64];
        let mut next = 0;
        while next < count {
            match right.receive_packet(&mut buffer).unwrap() {
                Some(length) => {
                    assert_eq!(length as u64, 8 + next % 32);
                    assert_eq!(buffer[..8], next.to_le_bytes());
                    next += 1;
                }
                None => std::thread::yield_now(),
            }
        }
    });
    let mut packet = [0; 64];
    for number in 0..count {
        packet[..8].copy_from_slice(&number.to_le_bytes());
        while left.send_packet(&packet[..8 + (number % 32) as usize]) == Err(LinkError::Full) {
            std::thread::yield_now();
        }
    }
    receiver.join().unwrap();
}
