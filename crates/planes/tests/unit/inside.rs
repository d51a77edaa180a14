use std::process::Command;

use flate2::Compression;
use flate2::read::GzEncoder;

use super::*;

#[test]
fn a_packed_program_is_read_and_started_from_memory() {
    let program = File::open("/bin/echo").unwrap();
    let mut packed = Vec::new();
    io::copy(
        &mut GzEncoder::new(program, Compression::fast()),
        &mut packed,
    )
    .unwrap();
    let file = unpacked(&packed).unwrap();
    let place = place(&file);
    assert_eq!(
        std::fs::read(&place).unwrap(),
        std::fs::read("/bin/echo").unwrap()
    );
    let output = Command::new(&place).arg("here").output().unwrap();
    assert_eq!(output.stdout, b"here\n");
}

#[test]
fn what_is_packed_badly_is_none() {
    assert!(unpacked(b"no gzip").is_err());
}
