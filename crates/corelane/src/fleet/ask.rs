//! Asks a node by HTTP, at the address of its metrics.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where the metrics are when no port is named.
const PORT: u16 = 9470;
/// How long a node may take to be there, and again for all of its answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// No answer is longer.
const LONGEST: usize = 64 << 20;

/// A node's name or address, and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    port: u16,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = || format!("{text:?}: allowed are HOST, HOST:PORT and [ADDRESS]:PORT");
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']').ok_or_else(allowed)?;
                (
                    name,
                    rest.strip_prefix(':')
                        .or((!rest.is_empty()).then_some("none")),
                )
            }
            // More colons than one are an IPv6 address.
            None => match text.split_once(':') {
                Some((name, port)) if !port.contains(':') => (name, Some(port)),
                _ => (text, None),
            },
        };
        let port = port.map_or(Ok(PORT), str::parse).map_err(|_| allowed())?;
        let fits = !name.is_empty() && !name.contains(['/', ' ']);
        let name = name.to_owned();
        fits.then_some(Self { name, port }).ok_or_else(allowed)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.contains(':'), self.port) {
            (_, PORT) => out.write_str(&self.name),
            (true, port) => write!(out, "[{}]:{port}", self.name),
            (false, port) => write!(out, "{}:{port}", self.name),
        }
    }
}

/// The document of form `schema` that a node has at `path`.
///
/// # Errors
/// Why there is none, and what to do.
pub(super) fn ask<T: DeserializeOwned>(host: &Host, path: &str, schema: &str) -> Result<T, String> {
    let answer = get(host, path)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        let first = head.lines().next().unwrap_or_default();
        let first: String = first.chars().take(60).collect();
        return Err(format!(
            "answers {first:?}: no router of this version serves there; look at the port"
        ));
    }
    let malformed = |error: serde_json::Error| format!("its answer is malformed: {error}");
    let value: Value = serde_json::from_str(body).map_err(malformed)?;
    match value.get("schema").and_then(Value::as_str) {
        Some(known) if known == schema => serde_json::from_value(value).map_err(malformed),
        Some(other) => Err(format!(
            "speaks {other}, and this program {schema}; use the same version"
        )),
        None => match value.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Err("its answer is malformed: it has no schema".to_owned()),
        },
    }
}

fn get(host: &Host, path: &str) -> Result<String, String> {
    let unreached = |error: std::io::Error| {
        format!("not reached: {error}; look at metrics and metrics-allow of its configuration")
    };
    let addresses = (host.name.as_str(), host.port).to_socket_addrs();
    let mut last = None;
    for address in addresses.map_err(unreached)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                return exchange(stream, path).map_err(|error| match error.kind() {
                    ErrorKind::TimedOut | ErrorKind::WouldBlock => silent(),
                    _ => unreached(error),
                });
            }
            Err(error) => last = Some(error),
        }
    }
    Err(unreached(last.unwrap_or_else(|| {
        std::io::Error::other("the name has no address")
    })))
}

/// It accepts connections, and that is all.
fn silent() -> String {
    let seconds = PATIENCE.as_secs();
    format!("connected, but no whole answer within {seconds} s; look whether its router hangs")
}

fn exchange(mut stream: TcpStream, path: &str) -> std::io::Result<String> {
    let end = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Of HTTP/1.0 an answer has no other end than that of the connection.
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nAccept: application/json\r\n\r\n"
    )?;
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 if answer.is_empty() => {
                return Err(std::io::Error::other("it closed the connection unanswered"));
            }
            0 => return Ok(String::from_utf8_lossy(&answer).into_owned()),
            count => answer.extend_from_slice(&buffer[..count]),
        }
        if answer.len() > LONGEST {
            return Err(std::io::Error::other("its answer has no end"));
        }
    }
}
