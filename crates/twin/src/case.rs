//! A case: what is configured, and the frames that are sent. As text it can be kept and replayed:
//!
//! ```text
//! # A frame from a forged source passes rp_filter.
//! ip addr add 10.0.0.1/24 dev r0
//! sysctl net.ipv4.conf.r0.rp_filter=1
//! frame 02c0a90b…
//! ```
//!
//! Commands are those of `ip`, `sysctl`, `nft`, `tc` and `iptables-legacy`, run in the router's namespace, in order;
//! one that fails is passed over. `tcx LINK ingress|egress drop4|drop6|pass` attaches a program at
//! tc, `restart` starts the router again, `wait N` waits N milliseconds. A frame is sent by the host
//! whose hardware address is its source's, else by a; without FCS; each should carry [`marker`]s.

use std::fmt::{self, Display, Write};
use std::path::Path;

use crate::Error;
use crate::attached::by_hand;
use crate::simpler::said;

/// A configuration and frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Lines of explanation.
    pub about: Vec<String>,
    /// Commands, in order.
    pub commands: Vec<String>,
    /// Frames without FCS.
    pub frames: Vec<Vec<u8>>,
}

/// Bytes of a marker.
pub(crate) const MARKER: usize = 8;

/// What a frame's payload repeats, so that each of its fragments has it: the frame's number.
pub const fn marker(number: u16) -> [u8; MARKER] {
    let ([a, b], [c, d]) = (number.to_be_bytes(), (!number).to_be_bytes());
    [b't', b'w', a, b, c, d, b'i', b'n']
}

/// The number in the first marker of some bytes.
pub(crate) fn number(bytes: &[u8]) -> Option<u16> {
    let marked = |window: &&[u8; MARKER]| {
        let number = u16::from_be_bytes([window[2], window[3]]);
        window[0] == b't' && **window == marker(number)
    };
    let found = bytes.array_windows::<MARKER>().find(marked)?;
    Some(u16::from_be_bytes([found[2], found[3]]))
}

impl Case {
    /// Reads a case from a file.
    ///
    /// # Errors
    /// When there is no such file, or a line is no command and no frame.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            file: file(),
            source,
        })?;
        Self::parse(&text).map_err(|(line, what)| Error::Case {
            file: file(),
            line,
            what,
        })
    }

    /// Reads a case from text; an error is a line's number and what is wrong with it.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut case = Self::default();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("", _) => {}
                ("#", words) => case.about.push(words.to_owned()),
                ("frame", hex) => match bytes(hex) {
                    Some(frame) => case.frames.push(frame),
                    None => return Err((number, format!("{hex} is not hexadecimal"))),
                },
                (
                    "ip" | "sysctl" | "nft" | "tc" | "iptables-legacy" | "ip6tables-legacy" | "tcx"
                    | "restart" | "wait",
                    _,
                ) => {
                    case.commands.push(line.to_owned());
                }
                (word, _) => {
                    let known =
                        "ip, sysctl, nft, tc, ip[6]tables-legacy, tcx, restart, wait, frame or #";
                    return Err((number, format!("{word}: a line begins with {known}")));
                }
            }
        }
        Ok(case)
    }

    /// The same configuration with the frames of these numbers alone.
    pub(crate) fn only(&self, numbers: &[u16]) -> Self {
        let mut fewer = self.clone();
        let kept = |frame: &Vec<u8>| number(frame).is_some_and(|one| numbers.contains(&one));
        fewer.frames.retain(kept);
        fewer
    }

    /// The frames in words, and how what no tool here says can be had without this harness.
    pub fn in_words(&self) -> impl Iterator<Item = String> {
        let frame = |frame: &Vec<u8>| {
            let number = number(frame).map_or_else(|| "?".to_owned(), |number| number.to_string());
            Some(format!("frame {number}: {}", said(frame)?))
        };
        let frames = self.frames.iter().filter_map(frame);
        let commands = self.commands.iter().filter_map(|line| by_hand(line));
        frames.chain(commands)
    }

    /// Whether a destination can have several ways.
    pub(crate) fn has_several_ways(&self) -> bool {
        let several = |line: &String| {
            [" nexthop via", " nexthop dev", " group ", " append "]
                .iter()
                .any(|word| line.contains(word))
        };
        self.commands.iter().any(several)
    }

    /// Does a rule of the configuration translate addresses?
    pub(crate) fn has_translation(&self) -> bool {
        self.commands
            .iter()
            .any(|line| line.to_lowercase().contains(" dnat "))
    }
}

impl Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.about {
            writeln!(out, "# {line}")?;
        }
        for line in &self.commands {
            writeln!(out, "{line}")?;
        }
        for frame in &self.frames {
            writeln!(out, "frame {}", hex(frame))?;
        }
        Ok(())
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let (pairs, rest) = digits.as_ref()?.as_chunks::<2>();
    let whole = rest.is_empty() && !pairs.is_empty();
    whole.then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
#[path = "../tests/unit/case.rs"]
mod tests;
