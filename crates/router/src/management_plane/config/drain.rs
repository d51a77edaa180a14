//! Who is told when the router is to be taken out of traffic.

use serde::Deserialize;

use super::Config;

/// A routing daemon with a graceful shutdown (RFC 8326).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// None is told.
    #[default]
    None,
    /// FRR, by `vtysh`.
    Frr,
    /// BIRD, by a file that its configuration includes, and `birdc`.
    Bird,
}

impl Routing {
    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Frr => "frr",
            Self::Bird => "bird",
        }
    }
}

impl Config {
    /// Does it say one way, and both directions of it?
    pub(super) fn check_drain(&self) -> Result<(), String> {
        let (withdraw, restore) = (&self.drain_withdraw, &self.drain_restore);
        if withdraw.is_empty() != restore.is_empty() {
            return Err(
                "drain-withdraw: it and drain-restore belong together; give both or none"
                    .to_owned(),
            );
        }
        if !withdraw.is_empty() && self.drain_routing != Routing::None {
            return Err(
                "drain-withdraw: drain-routing names a daemon already; give one of them".to_owned(),
            );
        }
        Ok(())
    }
}
