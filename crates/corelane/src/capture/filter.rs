//! The filter: compiled by tcpdump, or read as tcpdump printed it.

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use bpf::classic::Filter;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A capture of Ethernet without a frame: tcpdump compiles for what it reads, and needs no device.
const EMPTY: [u8; 24] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
];

/// Compiles an expression in pcap syntax; none when there is no word.
///
/// # Errors
/// tcpdump's own words; when there is no tcpdump, what to do.
pub(super) fn compile(words: &[String]) -> Result<Option<Filter>> {
    let expression = words.join(" ");
    if expression.trim().is_empty() {
        return Ok(None);
    }
    let arguments = ["-ddd", "-r", "-", "--", &expression];
    let mut command = Command::new("tcpdump");
    command.args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let remedy =
            "install tcpdump, or give --program FILE with what tcpdump -ddd prints elsewhere";
        format!("the filter is compiled by tcpdump: {error}; {remedy}")
    })?;
    if let Some(mut input) = child.stdin.take() {
        // It may have ended with what is wrong.
        let _ended = input.write_all(&EMPTY);
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let mut said = said.lines().filter(|line| line.starts_with("tcpdump:"));
        let said = said.next_back().unwrap_or("tcpdump has failed");
        return Err(
            format!("filter {expression:?}: {said}; man pcap-filter has the syntax").into(),
        );
    }
    let filter = parse(&String::from_utf8_lossy(&output.stdout));
    Ok(Some(filter.map_err(|error| {
        format!("filter {expression:?}: {error}")
    })?))
}

/// Reads what tcpdump printed.
///
/// # Errors
/// When the file cannot be read, or is something else.
pub(super) fn read(file: &Path) -> Result<Filter> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|all| text = all)
    };
    let filter = read
        .map_err(|error| error.to_string())
        .and_then(|()| parse(&text));
    Ok(filter.map_err(|error| format!("--program {}: {error}", file.display()))?)
}

fn parse(text: &str) -> std::result::Result<Filter, String> {
    text.parse()
}
