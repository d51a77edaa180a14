//! Reads a table of prefixes from text: one prefix a line, both families mixed.
//!
//! Empty lines and lines that start with `#` are skipped. Everything else must be a prefix: the
//! first line that is not ends the reading with its number and what is wrong, and nothing is handed
//! out. The caller opens the file and unpacks it; this module does no I/O of its own.

use std::io::{BufRead, BufReader, Read};

use crate::prefix::{IpPrefix, Prefix, PrefixError};

/// Longest line accepted, in bytes: an IPv6 prefix in full has 43.
const LONGEST_LINE: u64 = 128;

/// Prefixes of both families, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// IPv4.
    pub v4: Vec<Prefix<u32>>,
    /// IPv6.
    pub v6: Vec<Prefix<u128>>,
}

/// What is wrong with a prefix file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct PrefixFileError {
    /// The name the caller gave.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong there.
    #[source]
    pub what: LineError,
}

/// What can be wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not a prefix.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// Not text.
    #[error("the line is not UTF-8 text; if the file is compressed, unpack it first")]
    NotText,
    /// No line of a prefix file is this long.
    #[error("the line is longer than {LONGEST_LINE} bytes; write one prefix a line")]
    TooLong,
    /// The file could not be read on.
    #[error("reading failed: {0}")]
    Read(#[from] std::io::Error),
}

/// Reads all prefixes; `file` is the name used in errors.
///
/// # Errors
/// The first line that is not a prefix, or the first failure to read.
pub fn read(input: impl Read, file: &str) -> Result<Prefixes, PrefixFileError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut prefixes = Prefixes::default();
    let mut line = Vec::new();
    for number in 1.. {
        let fail = |what| PrefixFileError {
            file: file.to_owned(),
            line: number,
            what,
        };
        line.clear();
        input
            .by_ref()
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut line)
            .map_err(|e| fail(e.into()))?;
        if line.is_empty() {
            break;
        }
        let is_whole = line.ends_with(b"\n") || line.len() as u64 <= LONGEST_LINE;
        let text = std::str::from_utf8(&line)
            .map_err(|_| fail(LineError::NotText))?
            .trim();
        if !is_whole && !text.starts_with('#') {
            return Err(fail(LineError::TooLong));
        }
        if !is_whole {
            input.skip_until(b'\n').map_err(|e| fail(e.into()))?;
        }
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match text.parse().map_err(|e: PrefixError| fail(e.into()))? {
            IpPrefix::V4(prefix) => prefixes.v4.push(prefix),
            IpPrefix::V6(prefix) => prefixes.v6.push(prefix),
        }
    }
    Ok(prefixes)
}
