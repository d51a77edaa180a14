//! Values with rules of their own; file and command line read them by the same types.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use fib::IpPrefix;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// What `instance` may be.
pub(super) const INSTANCE_ALLOWED: &str = "allowed are 1 to 32 letters, digits, - and _";
/// What `metrics` may be.
pub(super) const METRICS_ALLOWED: &str =
    "allowed is an address with its port, such as \"127.0.0.1:9470\", or \"\" for none";
/// What `metrics-allow` may be.
pub(super) const ALLOW_ALLOWED: &str =
    "allowed are a list of addresses and prefixes, such as [\"192.0.2.0/24\", \"2001:db8::1\"]";
/// What `stale-milliseconds` may be.
pub(super) const STALE_ALLOWED: &str = "allowed are 0 (for ever), 500 to 600000";
/// The shortest bound: some times what a busy machine may keep the control plane waiting.
const STALE_SHORTEST: u32 = 500;
/// The longest bound.
const STALE_LONGEST: u32 = 600_000;

/// The name of a router among those of the machine, which becomes a file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceName(String);

impl InstanceName {
    /// The socket of this instance.
    pub fn socket(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.sock", self.0))
    }
}

impl Default for InstanceName {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl Display for InstanceName {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for InstanceName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let fits = (1..=32).contains(&name.len()) && name.chars().all(plain);
        fits.then(|| Self(name.to_owned())).ok_or(INSTANCE_ALLOWED)
    }
}

/// The address of the metrics; none for empty text. Beyond loopback it needs an [`Allow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metrics(pub Option<SocketAddr>);

impl Default for Metrics {
    fn default() -> Self {
        Self(Some(SocketAddr::from(([127, 0, 0, 1], 9470))))
    }
}

/// As the file has it.
impl Display for Metrics {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |address| write!(out, "{address}"))
    }
}

impl FromStr for Metrics {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let address = text.parse::<SocketAddr>();
        address
            .map(|address| Self(Some(address)))
            .map_err(|_| METRICS_ALLOWED)
    }
}

/// Who may read the metrics beside this machine itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Allow(Vec<IpPrefix>);

impl Allow {
    /// Is nobody else named?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// May a client with this address read them?
    pub fn admits(&self, client: IpAddr) -> bool {
        // A socket of both families has IPv4 clients under IPv6 addresses.
        let client = client.to_canonical();
        client.is_loopback()
            || self.0.iter().any(|prefix| match (prefix, client) {
                (IpPrefix::V4(prefix), IpAddr::V4(client)) => prefix.contains(client.into()),
                (IpPrefix::V6(prefix), IpAddr::V6(client)) => prefix.contains(client.into()),
                _ => false,
            })
    }
}

impl TryFrom<Vec<String>> for Allow {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Self, Self::Error> {
        let prefixes = texts.iter().map(|text| {
            let whole = match text.parse::<IpAddr>() {
                Ok(IpAddr::V4(_)) => format!("{text}/32"),
                Ok(IpAddr::V6(_)) => format!("{text}/128"),
                Err(_) => text.clone(),
            };
            whole.parse().map_err(|error| format!("{text:?}: {error}"))
        });
        prefixes.collect::<Result<_, _>>().map(Self)
    }
}

/// As the file has it.
impl Display for Allow {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(out, "{texts:?}")
    }
}

/// How long routes count as right when nobody vouches for them; `None`: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Stale(pub Option<Duration>);

impl Default for Stale {
    fn default() -> Self {
        Self(Some(Duration::from_secs(2)))
    }
}

impl TryFrom<u32> for Stale {
    type Error = &'static str;

    fn try_from(milliseconds: u32) -> Result<Self, Self::Error> {
        match milliseconds {
            0 => Ok(Self(None)),
            STALE_SHORTEST..=STALE_LONGEST => {
                Ok(Self(Some(Duration::from_millis(milliseconds.into()))))
            }
            _ => Err(STALE_ALLOWED),
        }
    }
}

impl FromStr for Stale {
    type Err = &'static str;

    fn from_str(milliseconds: &str) -> Result<Self, Self::Err> {
        let milliseconds: u32 = milliseconds.parse().map_err(|_| STALE_ALLOWED)?;
        milliseconds.try_into()
    }
}

/// A value that a file writes as text.
pub(super) fn from_text<'de, D, T>(file: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(file)?.parse().map_err(Error::custom)
}

/// Seconds; none for 0.
pub(super) fn seconds<'de, D: Deserializer<'de>>(file: D) -> Result<Option<Duration>, D::Error> {
    let seconds = u32::deserialize(file)?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds.into())))
}
