//! The values that keys and options may have, each with its check.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Config;
use crate::engine::EngineKind;

/// What `stale-milliseconds` may be.
pub(super) const STALE_ALLOWED: &str = "0 (for ever), 500 to 600000";
/// The shortest bound: some times what a busy machine may keep the control plane waiting.
const STALE_SHORTEST: u32 = 500;
/// The longest bound.
const STALE_LONGEST: u32 = 600_000;

/// How long routes count as right when nobody vouches for them; `None`: for ever.
///
/// # Errors
/// What is allowed.
pub fn parse_stale(milliseconds: u32) -> Result<Option<Duration>, String> {
    match milliseconds {
        0 => Ok(None),
        STALE_SHORTEST..=STALE_LONGEST => Ok(Some(Duration::from_millis(u64::from(milliseconds)))),
        _ => Err(format!(
            "stale-milliseconds = {milliseconds}: allowed are {STALE_ALLOWED}"
        )),
    }
}

/// Is there somebody who could poll?
///
/// # Errors
/// What to do about it.
pub fn check_busy_poll(config: &Config) -> Result<(), String> {
    if config.busy_poll && config.engine != EngineKind::AfXdp {
        return Err(
            "busy-poll = true: only workers of engine = \"af-xdp\" poll; choose it or leave \
             busy-poll out"
                .to_owned(),
        );
    }
    Ok(())
}

/// The socket of an instance.
pub fn socket_path(directory: &Path, instance: &str) -> PathBuf {
    directory.join(format!("{instance}.sock"))
}

/// Checks the names of ports.
///
/// # Errors
/// What is wrong with them.
pub fn check_ports(ports: &[String]) -> Result<(), String> {
    if ports.is_empty() {
        return Err(
            "ports: name the interfaces to forward between, such as ports = [\"r0\", \"r1\"]"
                .to_owned(),
        );
    }
    for (at, port) in ports.iter().enumerate() {
        let fits = (1..=15).contains(&port.len()) && !port.contains(['/', ' ']) && port != "lo";
        if !fits {
            return Err(format!(
                "ports: {port:?} is no interface name (1 to 15 characters, not lo; see ip link)"
            ));
        }
        if ports[..at].contains(port) {
            return Err(format!("ports: {port:?} is named twice"));
        }
    }
    Ok(())
}

/// Checks the name of an instance, which becomes a file name.
///
/// # Errors
/// What is wrong with it.
pub fn check_instance(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&name.len()) && name.chars().all(plain) {
        Ok(())
    } else {
        Err(format!(
            "instance = {name:?}: allowed are 1 to 32 letters, digits, - and _"
        ))
    }
}

/// The address of the metrics; empty text for none.
///
/// # Errors
/// What is wrong with it.
pub fn parse_metrics(text: &str) -> Result<Option<SocketAddr>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let allowed =
        "allowed is an address on loopback with its port, such as 127.0.0.1:9470, or \"\" for none";
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
        _ => Err(format!("metrics = {text:?}: {allowed}")),
    }
}
