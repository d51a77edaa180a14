//! `[sflow]`: what is sent to a collector.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use super::values;
use crate::samples::Export;

/// What `sflow.collector` may be.
pub(super) const COLLECTOR_ALLOWED: &str =
    "allowed is an address with its port, such as \"192.0.2.1:6343\", or \"\" for none";
/// What `sflow.agent` may be.
pub(super) const AGENT_ALLOWED: &str =
    "allowed is an address, or \"\" for that of the way to the collector";

/// The table of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sflow {
    /// `collector`: where samples are sent (default nowhere).
    #[serde(deserialize_with = "values::from_text")]
    pub collector: Collector,
    /// `agent`: the address by which it knows this router (default that of the way there).
    #[serde(deserialize_with = "values::from_text")]
    pub agent: Agent,
    /// `sampling`: one frame in so many is a sample (default 1000).
    pub sampling: u32,
    /// `polling-seconds`: time between two samples of counters (default 30); 0: never.
    pub polling_seconds: u32,
    /// `discards`: discarded frames that are told in a second, at most (default 100).
    pub discards: u32,
}

impl Default for Sflow {
    fn default() -> Self {
        Self {
            collector: Collector(None),
            agent: Agent(None),
            sampling: 1000,
            polling_seconds: 30,
            discards: 100,
        }
    }
}

impl Sflow {
    /// What is sent where; `None`: nothing.
    pub fn export(&self) -> Option<Export> {
        let polling = Duration::from_secs(self.polling_seconds.into());
        Some(Export {
            collector: self.collector.0?,
            agent: self.agent.0,
            every: self.sampling,
            polling: (!polling.is_zero()).then_some(polling),
            discards: self.discards,
        })
    }

    /// Are the numbers allowed?
    pub(super) fn check(&self) -> Result<(), String> {
        let sizes = [
            ("sflow.sampling", self.sampling, 1, 1 << 24),
            ("sflow.polling-seconds", self.polling_seconds, 0, 3600),
            ("sflow.discards", self.discards, 0, 10_000),
        ];
        for (key, size, least, most) in sizes {
            if !(least..=most).contains(&size) {
                return Err(format!("{key} = {size}: allowed are {least} to {most}"));
            }
        }
        Ok(())
    }
}

/// A collector; none for empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collector(pub Option<SocketAddr>);

/// An address; none for empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent(pub Option<IpAddr>);

/// As the file has it.
impl Display for Collector {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |address| write!(out, "{address}"))
    }
}

/// As the file has it.
impl Display for Agent {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |address| write!(out, "{address}"))
    }
}

impl FromStr for Collector {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let address: SocketAddr = text.parse().map_err(|_| COLLECTOR_ALLOWED)?;
        let is_one = address.port() != 0 && !address.ip().is_unspecified();
        is_one
            .then_some(Self(Some(address)))
            .ok_or(COLLECTOR_ALLOWED)
    }
}

impl FromStr for Agent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let address = text.parse().map_err(|_| AGENT_ALLOWED)?;
        Ok(Self(Some(address)))
    }
}
