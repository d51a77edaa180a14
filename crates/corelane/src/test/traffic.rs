//! What is sent besides plain test frames, from the options.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use tester::capture::Capture;
use tester::traffic::{Blend, Modifier, Traffic};
use tester::udp_ports;

use super::options::Options;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Reads the options; a capture may have frames up to `largest` bytes with FCS.
///
/// # Errors
/// A proportion that is none, or a capture that cannot be replayed.
pub(super) fn traffic(options: &Options, largest: u16) -> Result<Traffic, Error> {
    let replay = options.replay.as_ref().map(|path| -> Result<_, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("--replay {name}: {error}"))?;
        let capture = Capture::read(BufReader::new(file), &name, largest)?;
        Ok(Arc::new(capture))
    });
    Ok(Traffic {
        blend: options.mix.as_deref().map(blend).transpose()?,
        modifier: options.modifier,
        random_ports: options.random_ports,
        replay: replay.transpose()?,
    })
}

fn blend(text: &str) -> Result<Blend, Error> {
    /// Parts of a proportion are at most this.
    const MOST: u32 = 1000;
    let wrong = || format!("--mix {text}: write a proportion of IPv4 to IPv6 such as 90:10");
    let (v4, v6) = text.split_once(':').ok_or_else(wrong)?;
    let part = |text: &str| text.parse().ok().filter(|&part: &u32| part <= MOST);
    let (v4, v6) = part(v4).zip(part(v6)).ok_or_else(wrong)?;
    if v4 + v6 == 0 {
        return Err(wrong().into());
    }
    Ok(Blend { v4, v6 })
}

/// The traffic in words for the report; nothing when it is ordinary.
pub(super) fn facts(traffic: &Traffic) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(Blend { v4, v6 }) = traffic.blend {
        facts.push((
            "Protocols".to_owned(),
            format!("IPv4 and IPv6 by turns, {v4}:{v6}"),
        ));
    }
    if let Some(modifier) = traffic.modifier {
        let words = match modifier {
            Modifier::Broadcast => {
                "every hundredth frame to the hardware broadcast address (RFC 2544 §11.1)"
            }
            Modifier::Management => "the first frame of each second an SNMP query (RFC 2544 §11.2)",
            Modifier::Routing => {
                "the first frame, and one every 30 s, a RIP response (RFC 2544 §11.3); whether the \
                 device took it in is not checked"
            }
        };
        facts.push(("Modifier".to_owned(), words.to_owned()));
    }
    if traffic.random_ports {
        let (sources, destinations) = (udp_ports::SOURCES, udp_ports::DESTINATIONS);
        let words = format!(
            "another pair for every frame, from {} to {} and from {} to {}, by the seed (RFC 4814 \
             §4.5)",
            sources.start(),
            sources.end(),
            destinations.start(),
            destinations.end()
        );
        facts.push(("UDP ports".to_owned(), words));
    }
    if let Some(capture) = &traffic.replay {
        facts.push(("Replay".to_owned(), capture.describe()));
    }
    facts
}

#[cfg(test)]
#[path = "../../tests/unit/traffic.rs"]
mod tests;
