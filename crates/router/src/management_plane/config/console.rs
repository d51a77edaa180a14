//! Who may see the console.

use super::Config;

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
