//! Inputs of any kind, the same ones every time. `fuzz/fuzz_targets` does the same for as long as
//! one likes, led by coverage.
//!
//! Some hundred thousand damaged frames go through the worker's whole path: no panic, no buffer
//! lost, every frame forwarded or with its one reason. Some thousand of everything else that comes
//! from outside go where it is read.

use fib::NextHop;
use figures::Random;

use crate::inputs::{announcements, configuration, requests, treatments};
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

fn random_bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.below(most);
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// One of these, with some bytes of it changed, left out, or there twice.
fn damaged_text(random: &mut Random, texts: &[&str]) -> Vec<u8> {
    let mut text = texts[random.below(texts.len())].as_bytes().to_vec();
    for _ in 0..random.below(5) {
        let (from, to) = (random.below(text.len() + 1), random.below(text.len() + 1));
        match random.below(4) {
            0 if from < text.len() => text[from] = random.next_u64() as u8,
            1 => text.insert(from, b"=\"\n[] #,.0-"[random.below(11)]),
            2 => drop(text.drain(from.min(to)..from.max(to).min(from.min(to) + 9))),
            _ => text.extend_from_within(from.min(to)..from.max(to)),
        }
    }
    text
}

#[test]
fn announcements_of_any_kind_are_followed_or_left() {
    // A link with the largest index that its field can hold.
    announcements::run(b"\x01\xbf\x24\x95\x00\x01\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\x24");
    let mut random = Random::new(3);
    for _ in 0..3000 {
        announcements::run(&random_bytes(&mut random, 2000));
    }
}

#[test]
fn nothing_in_an_answer_about_rules_hides_what_stands_behind_it() {
    let mut random = Random::new(4);
    for _ in 0..3000 {
        treatments::run(&random_bytes(&mut random, 1000));
    }
}

#[test]
fn configurations_of_any_kind_are_taken_or_refused_in_one_line() {
    let file = include_str!("../../../dist/corelane.toml");
    let every = file.replace("# ", "");
    let mut random = Random::new(5);
    for _ in 0..5000 {
        configuration::run(&damaged_text(&mut random, &[file, &every]));
    }
}

#[test]
fn questions_and_requests_of_any_kind_are_answered() {
    let questions = [
        "ports\n",
        "routes 203.0.113.9\n",
        "routes 2001:db8::1\n",
        "routes 7\n",
        "engine",
        "neighbours drops\n",
        "vlans tables workers",
    ];
    let requests = [
        "GET /metrics HTTP/1.1\r\n",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST / HTTP/1.0\n",
    ];
    let mut random = Random::new(6);
    let mut answering = requests::Answering::new();
    for _ in 0..1500 {
        answering.question(&damaged_text(&mut random, &questions));
        answering.request(&damaged_text(&mut random, &requests));
    }
}
