//! What is asked: a description of a packet, or a frame.

use std::fmt::Write;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::engine::EngineError;

/// A packet that somebody asks about. What is not said is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// Destination; absent where there is a frame.
    pub to: Option<IpAddr>,
    /// Source.
    pub from: Option<IpAddr>,
    /// Name of the port that it comes by.
    pub port: Option<String>,
    /// Identifier of its VLAN.
    pub vlan: Option<u16>,
    /// Number of the protocol.
    pub protocol: Option<u8>,
    /// Of TCP and UDP.
    pub source_port: Option<u16>,
    /// Of TCP and UDP.
    pub destination_port: Option<u16>,
    /// Bytes of the IP packet.
    pub length: Option<u16>,
    /// Bytes of data in each of the segments that the frame stands for; absent where it is one.
    pub segment: Option<u16>,
    /// Time to live, or hop limit.
    pub ttl: Option<u8>,
    /// The whole frame, hexadecimal, without FCS.
    pub frame: Option<String>,
}

impl Question {
    /// As a client sends it: one word.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn read(text: &str) -> Result<Self, EngineError> {
        serde_json::from_str(text).map_err(|error| EngineError::new("explain", error))
    }

    /// As [`Question::read`] takes it.
    pub fn line(&self) -> String {
        // Plain data: it has a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Bytes written in hexadecimal, also with spaces, colons or dashes between.
///
/// # Errors
/// What is wrong, and what it should be.
pub fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    let digits = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, ':' | '-'));
    let digits: Option<Vec<u8>> = digits
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.ok_or("a frame is hexadecimal digits, two for each byte")?;
    if digits.len() % 2 != 0 {
        return Err("a frame is hexadecimal digits, two for each byte; one is missing".to_owned());
    }
    Ok(digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect())
}

/// Bytes in hexadecimal, as [`bytes_of`] reads them.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Text takes whatever is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
