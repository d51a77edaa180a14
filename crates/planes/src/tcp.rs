//! One TCP connection across the device, by iperf3 (Debian's package `iperf3`): a second opinion
//! beside our own tester, and the only load here that slows down when it is told to.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::Duration,
};

use host::Namespace;
use serde::Deserialize;

use crate::guest::kill_group;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// The program is missing.
    #[error("cannot run iperf3: {0}; it is Debian's package iperf3")]
    Start(io::Error),
    /// It ran and did not connect.
    #[error("iperf3 measured nothing: {0}")]
    Failed(String),
}

#[derive(Deserialize)]
struct Output {
    error: Option<String>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct End {
    sum_received: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    bits_per_second: f64,
}

/// Goodput from `sender` to `receiver` at `address`, bits a second.
///
/// # Errors
/// [`TcpError`].
pub fn goodput(
    sender: &Namespace,
    receiver: &Namespace,
    address: &str,
    duration: Duration,
) -> Result<f64, TcpError> {
    let quiet = |command: &mut Command| {
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
    };
    let mut server = receiver.command("iperf3");
    server.args(["-s", "-1"]).stdout(Stdio::null());
    quiet(&mut server);
    let mut server = server.spawn().map_err(TcpError::Start)?;
    std::thread::sleep(Duration::from_millis(150));
    let mut client = sender.command("iperf3");
    let seconds = duration.as_secs().max(1).to_string();
    client.args([
        "-c",
        address,
        "-t",
        &seconds,
        "-J",
        "--connect-timeout",
        "2000",
    ]);
    quiet(&mut client);
    let output = client.output().map_err(TcpError::Start);
    kill_group(server.id());
    let _ = server.wait();
    parse(&output?.stdout)
}

fn parse(json: &[u8]) -> Result<f64, TcpError> {
    let output: Output =
        serde_json::from_slice(json).map_err(|error| TcpError::Failed(error.to_string()))?;
    match (output.error, output.end.and_then(|end| end.sum_received)) {
        (None, Some(sum)) => Ok(sum.bits_per_second),
        (error, _) => Err(TcpError::Failed(
            error.unwrap_or_else(|| "no sum in its output".to_owned()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_sum_or_an_error() {
        let good = br#"{"start":{},"end":{"sum_received":{"bits_per_second":1.5e9,"bytes":1}}}"#;
        assert!((parse(good).unwrap() - 1.5e9).abs() < 1.0);
        let bad = br#"{"error":"unable to connect to server","end":{}}"#;
        assert!(parse(bad).unwrap_err().to_string().contains("unable"));
        assert!(parse(b"").is_err());
    }
}
