//! What goflow2, a decoder of sFlow that is not ours, reads in datagrams.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::lab::text;

/// What goflow2 reads in them; nothing where it cannot be built.
pub(super) fn decoded(datagrams: &[Vec<u8>]) -> Option<Vec<Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/sflow-decoder");
    let output = Command::new(script).output().unwrap();
    if !output.status.success() {
        needs::skipped!("needs goflow2: {}", text(&output).trim());
        return None;
    }
    let program = String::from_utf8(output.stdout).unwrap();
    let mut command = Command::new(program.trim());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let framed: Vec<u8> = datagrams
        .iter()
        .flat_map(|one| [&(one.len() as u16).to_be_bytes()[..], one].concat())
        .collect();
    let writer = std::thread::spawn(move || input.write_all(&framed).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    let documents = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    Some(documents.collect())
}

/// Samples of a format, in all datagrams.
pub(super) fn samples(documents: &[Value], format: u64) -> Vec<&Value> {
    let all = documents
        .iter()
        .flat_map(|one| one["samples"].as_array().unwrap());
    all.filter(|one| one["header"]["format"] == format)
        .collect()
}

/// What a record of a format says.
pub(super) fn record(sample: &Value, format: u64) -> &Value {
    let mut records = sample["records"].as_array().unwrap().iter();
    let found = records.find(|one| one["header"]["data-format"] == format);
    found.map_or(&Value::Null, |one| &one["data"])
}

pub(super) fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The bytes of a sampled header.
pub(super) fn header(sample: &Value) -> Vec<u8> {
    let text = record(sample, 1)["header-data"].as_str().unwrap();
    base64(text)
}

/// RFC 4648, as Go writes bytes.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |letter: u8| LETTERS.iter().position(|one| *one == letter).unwrap() as u32;
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').collect();
    let groups = letters.chunks(4).flat_map(|group| {
        let bits = group
            .iter()
            .fold(0, |bits, letter| bits << 6 | value(*letter));
        let bits = bits << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    });
    groups.collect()
}

/// How many datagrams are missing between the first and the last of these, by their numbers.
pub(super) fn missing(datagrams: &[Vec<u8>]) -> usize {
    let numbers = datagrams.iter().map(|one| u32_at(one, 16));
    let (first, last) = (numbers.clone().min(), numbers.max());
    let all = last.zip(first).map_or(0, |(last, first)| last - first + 1);
    all as usize - datagrams.len()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
