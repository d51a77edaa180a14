//! An external device: the tester's interfaces towards it, and what the tester has to know of it.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use tester::addresses;
use tester::engine::Macs;
use tester::places::{Placing, Way};
use tester::rig::{Rig, RigError};
use tester::veth::{End, Testbed};

use super::Stand;
use super::counters;
use super::far::{There, hardware_address, mac};
use super::namespaces::cores;
use super::rigs::Maker;
use crate::error::Error;

/// Who hears what ends nothing.
pub type Complain = fn(&str);

/// What the user says of an external device.
#[derive(Debug)]
pub struct Description<'a> {
    /// The tester's interfaces towards it, in the namespace of this thread.
    pub interfaces: &'a [String],
    /// The device's hardware addresses, one for each interface; none: from the neighbour table.
    pub macs: &'a [String],
    /// Test traffic may leave by an interface that carries a default route.
    pub any_interface: bool,
    /// Where frames come back, when that is on another machine.
    pub there: Option<There>,
    /// A shell command that prints the device's counters of lost frames.
    pub counters: Option<&'a str>,
    /// Who hears what is wrong with it.
    pub complain: Complain,
}

struct External {
    ends: Vec<End>,
    there: Option<There>,
    /// What reads the device's counters.
    counters: Option<(String, Complain)>,
    /// Only its cables are used, for the self-test.
    testbed: Testbed,
    maker: Maker,
}

/// Looks up the interfaces, and lays cables with this MTU, bytes, for the self-test.
///
/// # Errors
/// No such interface, one that carries a default route, or a device whose hardware address nobody
/// knows; or the kernel refuses.
pub fn open(maker: Maker, mtu: u16, description: Description<'_>) -> Result<Box<dyn Stand>, Error> {
    Ok(Box::new(External {
        ends: ends(&description)?,
        counters: description
            .counters
            .map(|command| (command.to_owned(), description.complain)),
        there: description.there,
        testbed: Testbed::with_ports(maker.ports, mtu, false)?,
        maker,
    }))
}

impl Stand for External {
    fn rig(&self) -> Result<Box<dyn Rig>, RigError> {
        let counters = self.counters.clone();
        let told = counters.map(|(command, complain)| counters::told(command, complain));
        let rig = match (&self.there, &self.ends[..]) {
            (Some(there), [here, ..]) => there.rig(&self.maker, here)?,
            _ => self.maker.rig(&self.ends, &[], "an external device")?,
        };
        Ok(Box::new(Placing::new(rig, Way::into(&self.ends, told))))
    }

    fn wire(&self) -> Result<Box<dyn Rig>, RigError> {
        self.maker.wire(&self.testbed)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let words = "over a veth cable on the same cores, not over the ports of the test";
        let counters = self.counters.iter();
        let counters = counters.map(|(command, _)| ("Device counters".to_owned(), command.clone()));
        let facts = vec![
            cores(&self.testbed),
            ("Self-test".to_owned(), words.to_owned()),
        ];
        facts.into_iter().chain(counters).collect()
    }
}

/// The tester's ends.
fn ends(description: &Description<'_>) -> Result<Vec<End>, Error> {
    let mut ends = Vec::new();
    for (number, interface) in (0_u8..).zip(description.interfaces) {
        if !description.any_interface && carries_default_route(interface) {
            return Err(format!(
                "--port {interface}: this interface carries a default route; test traffic does \
                 not belong there (RFC 6815). Choose another, or say --i-know"
            )
            .into());
        }
        let mut end = End::here(interface, Macs::default())?;
        let tester = hardware_address(interface)
            .ok_or_else(|| format!("{interface} has no Ethernet address"))?;
        let device = match description.macs.get(usize::from(number)) {
            Some(text) => mac(text)
                .ok_or_else(|| format!("--device-macs {text}: write it as 02:00:00:00:00:01"))?,
            None => neighbour(interface, number).ok_or_else(|| {
                format!(
                    "the device's address {} is not in the neighbour table of {interface}; give \
                     this port {}/24 and ping it, or say --device-macs",
                    addresses::device_v4(number),
                    addresses::tester_v4(number)
                )
            })?,
        };
        end.macs = Macs { tester, device };
        ends.push(end);
    }
    Ok(ends)
}

/// `RTF_REJECT` of `linux/route.h`: the kernel's own "no route to anywhere" stands on the loopback
/// interface.
const REJECT: u32 = 0x200;

/// Whether a default route leaves by an interface (`/proc/net/route`, `/proc/net/ipv6_route`).
fn carries_default_route(interface: &str) -> bool {
    let v4 = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let v6 = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let in_v4 = v4.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [name, destination, _, _, _, _, _, mask, ..]
            if name == interface && destination == "00000000" && mask == "00000000")
    });
    let in_v6 = v6.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [destination, length, .., flags, name]
            if name == interface && length == "00" && destination.bytes().all(|digit| digit == b'0')
                && u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & REJECT == 0))
    });
    in_v4 || in_v6
}

fn neighbour(interface: &str, number: u8) -> Option<[u8; 6]> {
    let address = addresses::device_v4(number).to_string();
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let output = Command::new("ip")
            .args(["neigh", "show", &address, "dev", interface])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text
            .split_whitespace()
            .skip_while(|word| *word != "lladdr")
            .skip(1);
        if let Some(found) = words.next().and_then(mac) {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        // Asking for it makes the kernel resolve it.
        let _ = Command::new("ping")
            .args(["-c", "1", "-W", "1", "-I", interface, &address])
            .output();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/external.rs"]
mod tests;
