//! Filter rules in the kernel under test (RFC 2544 §11.4).
//!
//! One rule that lets the test frames through, or 24 that match none of them and then that one;
//! everything else is dropped. The RFC's text puts the permitting rule last, its example in the
//! middle: here it is last.

use host::Namespace;
use tester::addresses;
use tester::sizes::Family;

use crate::error::Error;

/// The rule sets of §11.4.
pub const SETS: [u8; 2] = [1, 25];

/// The rules in nft's language, one command each: `rules` of them that match addresses of `ports`
/// ports.
pub fn commands(rules: u8, families: &[Family], ports: u8) -> Vec<String> {
    let mut commands = vec![
        "add table inet corelane-test".to_owned(),
        "add chain inet corelane-test forward { type filter hook forward priority 0; policy drop; \
         }"
        .to_owned(),
    ];
    let rule = |words: String| format!("add rule inet corelane-test forward {words}");
    // Networks that are set aside for ports of testers with more than 64: no test frame has such an
    // address.
    for number in 1..rules {
        commands.push(rule(format!(
            "ip saddr 198.18.33.{number} ip daddr 198.18.34.{number} drop"
        )));
    }
    for family in families {
        let sources: Vec<String> = (0..ports)
            .map(|port| match family {
                Family::Ipv4 => addresses::tester_v4(port).to_string(),
                Family::Ipv6 => addresses::tester_v6(port).to_string(),
            })
            .collect();
        let word = match family {
            Family::Ipv4 => "ip",
            Family::Ipv6 => "ip6",
        };
        commands.push(rule(format!(
            "{word} saddr {{ {} }} accept",
            sources.join(", ")
        )));
    }
    commands
}

/// Sets the rules in the device's namespace.
///
/// # Errors
/// There is no `nft`, or it refuses.
pub fn set(namespace: &Namespace, commands: &[String]) -> Result<(), Error> {
    let output = namespace
        .command("nft")
        .arg(commands.join("; "))
        .output()
        .map_err(|error| format!("--filters: cannot run nft: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "--filters: nft refused the rules: {}; is the package nftables installed?",
        String::from_utf8_lossy(&output.stderr).trim()
    )
    .into())
}

#[cfg(test)]
#[path = "../../tests/unit/filters.rs"]
mod tests;
