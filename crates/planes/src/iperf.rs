//! iperf3 (Debian's package `iperf3`) across the device: TCP, the only load here that slows down
//! when it is told to, and datagrams as a second opinion beside our own tester.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use host::Namespace;
use host::process::{Group, end_with_thread, silent};
use serde::Deserialize;

use crate::error::{Error, host};

/// What iperf3 sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// One TCP connection, as fast as it goes.
    Connection {
        /// Bytes of a segment at most.
        segment: u32,
    },
    /// One flow of datagrams.
    Datagrams {
        /// Bytes of a payload.
        payload: u32,
        /// Payload bits a second.
        rate: f64,
    },
}

impl Load {
    /// Bytes of a segment or payload.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Connection { segment } => segment,
            Self::Datagrams { payload, .. } => payload,
        }
    }
}

/// What the receiver saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Payload that arrived.
    pub bits_per_second: f64,
    /// Share of datagrams lost.
    pub loss: Option<f64>,
    /// Interarrival jitter of datagrams (RFC 3550 §6.4.1) as iperf3 computes it, ns.
    pub jitter_ns: Option<f64>,
}

#[derive(Deserialize)]
struct Output {
    error: Option<String>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct End {
    sum_received: Option<Sum>,
    /// Of datagrams; with a loss that the receiver counted.
    sum: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    bits_per_second: f64,
    jitter_ms: Option<f64>,
    lost_percent: Option<f64>,
}

/// Sends `load` from `sender` to `receiver` at `address`.
///
/// # Errors
/// [`Error`].
pub fn measure(
    sender: &Namespace,
    receiver: &Namespace,
    address: &str,
    load: Load,
    duration: Duration,
) -> Result<Seen, Error> {
    let run = host("run iperf3, of Debian's package iperf3");
    let mut server = receiver.command("iperf3");
    let server = silent(end_with_thread(&mut server)).args(["-s", "-1"]);
    let _server = Group::start(server).map_err(&run)?;
    std::thread::sleep(Duration::from_millis(150));
    let mut client = sender.command("iperf3");
    let seconds = duration.as_secs().max(1).to_string();
    client
        .args(["-c", address, "-t", &seconds, "-J"])
        .args(["--connect-timeout", "2000"]);
    match load {
        Load::Connection { segment } => client.args(["-M", &segment.to_string()]),
        Load::Datagrams { payload, rate } => client
            .args(["-u", "-l", &payload.to_string()])
            .args(["-b", &format!("{rate:.0}")]),
    };
    let client = silent(end_with_thread(&mut client)).process_group(0);
    let output = client.stdout(Stdio::piped()).output();
    parse(&output.map_err(&run)?.stdout)
}

fn parse(json: &[u8]) -> Result<Seen, Error> {
    let output: Output =
        serde_json::from_slice(json).map_err(|error| Error::Iperf(error.to_string()))?;
    let sum = output.end.and_then(|end| match end.sum {
        // For datagrams some versions fill `sum_received` with what was sent.
        Some(sum) if sum.lost_percent.is_some() => {
            let arrived = 1.0 - sum.lost_percent.unwrap_or(0.0) / 100.0;
            Some(Seen {
                bits_per_second: sum.bits_per_second * arrived,
                loss: sum.lost_percent.map(|percent| percent / 100.0),
                jitter_ns: sum.jitter_ms.map(|ms| ms * 1e6),
            })
        }
        _ => end.sum_received.map(|sum| Seen {
            bits_per_second: sum.bits_per_second,
            loss: None,
            jitter_ns: None,
        }),
    });
    match (output.error, sum) {
        (None, Some(seen)) if seen.bits_per_second > 0.0 => Ok(seen),
        (None, Some(_)) => Err(Error::Iperf("nothing arrived".to_owned())),
        (error, _) => Err(Error::Iperf(
            error.unwrap_or_else(|| "no sum in its output".to_owned()),
        )),
    }
}

#[cfg(test)]
#[path = "../tests/unit/iperf.rs"]
mod tests;
