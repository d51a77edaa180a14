//! Who may see the console.

use super::Config;

/// What `console-peers` may be.
pub(super) const PEERS_ALLOWED: &str =
    "allowed are a list of addresses of pages, such as [\"http://192.0.2.2:9470/\"]";
/// The most of them, and the longest.
const PEERS: usize = 64;
const LONGEST_PEER: usize = 256;
/// A token that nobody guesses, in bytes.
const SHORTEST: usize = 16;

impl Config {
    /// Is it served where it can be, and safe there?
    pub(super) fn check_console(&self) -> Result<(), String> {
        let token = &self.console_token;
        let is_plain = token.chars().all(|c| c.is_ascii_graphic());
        if !token.is_empty() && (token.len() < SHORTEST || !is_plain) {
            return Err(format!(
                "console-token: give {SHORTEST} or more letters, digits and signs, without blanks"
            ));
        }
        // A page that is led to is a page: no other kind of address.
        let is_page = |peer: &&String| {
            let rest = (peer.strip_prefix("http://")).or_else(|| peer.strip_prefix("https://"));
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_graphic()))
                && peer.len() <= LONGEST_PEER
        };
        if let Some(peer) = self.console_peers.iter().find(|peer| !is_page(peer)) {
            return Err(format!("console-peers: {peer:?}: {PEERS_ALLOWED}"));
        }
        if self.console_peers.len() > PEERS {
            let peers = self.console_peers.len();
            return Err(format!("console-peers: {peers} of them; {PEERS} at most"));
        }
        if !self.console {
            return Ok(());
        }
        let Some(address) = self.metrics.0 else {
            return Err(
                "console = true: it is served where the metrics are; give metrics".to_owned(),
            );
        };
        if !address.ip().is_loopback() && token.is_empty() {
            return Err(format!(
                "console = true: on {address}, beyond loopback, only with console-token, which its \
                 viewers must know"
            ));
        }
        Ok(())
    }
}
