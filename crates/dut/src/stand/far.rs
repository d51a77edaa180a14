//! Two machines: the line to the other, and what runs there.

use std::fs;
use std::io;

use tester::engine::{self, Course, Far, Macs, Open};
use tester::rig::{Rig, RigError};
use tester::veth::End;
use wire::ethernet::MacAddress;

use super::rigs::{Generator, Maker};
use crate::error::Error;

/// The other end of a test between two machines.
#[derive(Debug)]
pub struct There {
    /// The machine, as the user calls it.
    pub host: String,
    /// The words that start [`serve`] there.
    pub shell: Vec<String>,
    /// The port there.
    pub interface: String,
    /// Whether frames come back.
    pub course: Course,
}

impl There {
    /// A rig that sends from `here` and receives there.
    ///
    /// # Errors
    /// The far machine cannot be reached, or one of the ports not be opened.
    pub(super) fn rig(&self, maker: &Maker, here: &End) -> Result<Box<dyn Rig>, RigError> {
        let there = Open {
            interface: self.interface.clone(),
            generator: maker.generator.name().to_owned(),
            largest: maker.largest,
            seed: maker.seed,
        };
        let far = Far::reach(&self.shell, &there)?;
        let what = format!("a device, to {} on {}", self.interface, self.host);
        maker.remote(here, &what, far, self.course)
    }
}

/// Serves the sender at the other end of the standard streams.
///
/// # Errors
/// The streams failed.
pub fn serve() -> Result<(), Error> {
    engine::serve(io::BufReader::new(io::stdin()), io::stdout(), |port| {
        let unable = || RigError::Unable {
            rig: "the far machine",
            what: format!("use the generator {}", port.generator),
            remedy: "use --generator packet or af-xdp",
        };
        let macs = Macs {
            tester: hardware_address(&port.interface).unwrap_or_default(),
            ..Macs::default()
        };
        let maker = Maker {
            generator: Generator::named(&port.generator).ok_or_else(unable)?,
            ports: 1,
            largest: port.largest,
            line_rate: None,
            seed: port.seed,
        };
        let end = End::here(&port.interface, macs)?;
        maker.sockets(&[end], "a device")
    })?;
    Ok(())
}

/// The hardware address of an interface here.
pub(super) fn hardware_address(interface: &str) -> Option<[u8; 6]> {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/address")).ok()?;
    mac(text.trim())
}

pub(super) fn mac(text: &str) -> Option<[u8; 6]> {
    text.parse().ok().map(|MacAddress(bytes)| bytes)
}
