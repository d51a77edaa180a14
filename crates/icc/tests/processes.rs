//! The rules of a link hold between threads and between processes, and when one of two processes is
//! killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use icc::conformance::{exercise, mirror};
use icc::{Heap, Link, LinkError, Mapping, Peer, PeerWatch};

const WORDS: usize = 1 << 14;
/// Tells a copy of this program that it is the mirror of the link in that file.
const MIRROR_OF: &str = "ICC_MIRROR_OF";
const SILENCE_NS: u64 = 200_000_000;

#[test]
fn threads_conform() {
    let memory = Heap::new(WORDS);
    let mut link = Link::create(memory.clone()).unwrap();
    let mut other = Link::join(memory).unwrap();
    let mirror = std::thread::spawn(move || mirror(&mut other));
    exercise(&mut link).unwrap();
    mirror.join().unwrap().unwrap();
}

/// Not a test by itself: what a copy of this program does that is started as the other side.
#[test]
fn other_side() {
    let Some(path) = std::env::var_os(MIRROR_OF) else {
        return;
    };
    let mut link = Link::join(map(Path::new(&path))).unwrap();
    mirror(&mut link).unwrap();
}

fn map(path: &Path) -> Mapping {
    let file = File::options().read(true).write(true).open(path).unwrap();
    Mapping::of(&file, WORDS * 8).unwrap()
}

/// A file for a link, removed at the end.
struct Shared(PathBuf);

impl Shared {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("icc-{name}-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        file.set_len(WORDS as u64 * 8).unwrap();
        Self(path)
    }

    /// The other side in a process of its own.
    fn mirror(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::other_side"])
            .env(MIRROR_OF, &self.0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Waits until the other side is seen so.
fn wait_for(link: &Link<Mapping>, watch: &mut PeerWatch, begin: Instant, wanted: fn(Peer) -> bool) {
    while !wanted(link.peer(watch, begin.elapsed().as_nanos() as u64)) {
        assert!(begin.elapsed() < Duration::from_secs(30), "not seen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn processes_conform() {
    let shared = Shared::new("conform");
    let mut link = Link::create(map(&shared.0)).unwrap();
    let mut other = shared.mirror();
    exercise(&mut link).unwrap();
    assert!(other.wait().unwrap().success());
    let mut watch = PeerWatch::new(SILENCE_NS, 0);
    assert_eq!(link.peer(&mut watch, 1), Peer::Closed);
}

/// Packets go back and forth when the other process is killed: its silence is seen, what had come
/// is whole and in order, and its successor takes up the rest. The one packet that it had taken and
/// not sent back may be missing.
#[test]
fn a_killed_process_leaves_a_link_that_its_successor_takes_up() {
    let shared = Shared::new("killed");
    let mut link = Link::create(map(&shared.0)).unwrap();
    let mut other = shared.mirror();
    let begin = Instant::now();
    let mut watch = PeerWatch::new(SILENCE_NS, 0);
    wait_for(&link, &mut watch, begin, |peer| peer == Peer::Alive);
    let (mut sent, mut seen) = (0_u64, Vec::new());
    let mut buffer = [0; 256];
    let mut take = |link: &mut Link<Mapping>, seen: &mut Vec<u64>| {
        while let Some(length) = link.receive_packet(&mut buffer).unwrap() {
            let number = u64::from_le_bytes(buffer[..8].try_into().unwrap());
            assert_eq!(length as u64, 8 + number % 200);
            assert!(buffer[8..length].iter().all(|&byte| byte == number as u8));
            seen.push(number);
        }
    };
    let mut packet = |link: &mut Link<Mapping>| {
        let mut packet = vec![sent as u8; 8 + (sent % 200) as usize];
        packet[..8].copy_from_slice(&sent.to_le_bytes());
        let full = link.send_packet(&packet) == Err(LinkError::Full);
        sent += u64::from(!full);
        (sent, full)
    };
    while seen.len() < 2_000 {
        packet(&mut link);
        take(&mut link, &mut seen);
        assert!(begin.elapsed() < Duration::from_secs(30), "no packets");
    }
    other.kill().unwrap();
    other.wait().unwrap();
    // Nobody reads any more: the sender is told so and goes on living.
    let mut total = 0;
    for full in std::iter::from_fn(|| Some(packet(&mut link))) {
        total = full.0;
        if full.1 {
            break;
        }
    }
    wait_for(&link, &mut watch, begin, |peer| {
        matches!(peer, Peer::Silent(_))
    });

    let mut successor = shared.mirror();
    wait_for(&link, &mut watch, begin, |peer| peer == Peer::Alive);
    while seen.last() != Some(&(total - 1)) {
        take(&mut link, &mut seen);
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "the rest is lost"
        );
    }
    assert!(
        seen.windows(2).all(|pair| pair[0] < pair[1]),
        "out of order"
    );
    assert!(
        total - seen.len() as u64 <= 1,
        "{} packets missing",
        total - seen.len() as u64
    );
    exercise(&mut link).unwrap();
    assert!(successor.wait().unwrap().success());
}
