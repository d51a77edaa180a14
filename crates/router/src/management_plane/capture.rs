//! What is said about a capture on the control socket.
//!
//! ```text
//!  client                              router
//!  capture 1 Request             ->    has its ports show frames (fastpath::forward::capture)
//!                                <-    Started, with descriptors: the ring, its counts
//!  reads the ring by itself      <-    Started again, when ports come or go
//!  closes, or ends by whatever   ->    ports run their own programs again
//! ```
//!
//! Frames do not pass through the router: whoever captures reads them where the programs put them.
//! `{"error": …}` in the place of a message ends the capture.

use std::net::IpAddr;

use bpf::classic::{Filter, Instruction};
use fastpath::forward::capture::Wanted;
use fastpath::forward::{Capturing, Forwarder, Reason};
use serde::{Deserialize, Serialize};

use super::forms;
use crate::control_plane::follower::Follower;
use crate::engine::{EngineError, Port};

/// The first word of the question on the control socket.
pub const QUESTION: &str = "capture";
/// The second: which messages are understood.
pub const VERSION: &str = "1";
/// The first word of the question by which way a frame goes ([`Way`]).
pub const WAY: &str = "way";

/// Which frames somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Those that were left for one of these, by name.
    pub reasons: Vec<String>,
    /// Those that were forwarded.
    pub forwarded: bool,
    /// Those that came by one of these ports; by any when empty.
    pub ports: Vec<String>,
    /// Of all that come, one in so many is looked at.
    pub every: u32,
    /// Bytes of each.
    pub snap: u16,
    /// Those that pass: code, two jumps and number of each instruction.
    pub filter: Option<Vec<(u16, u8, u8, u32)>>,
}

impl Request {
    /// As it is sent: one line.
    pub fn line(&self) -> String {
        // Plain data: it has a form in JSON.
        let request = serde_json::to_string(self).unwrap_or_default();
        format!("{QUESTION} {VERSION} {request}")
    }

    /// The filter, checked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn filter(&self) -> Result<Option<Filter>, String> {
        let Some(filter) = &self.filter else {
            return Ok(None);
        };
        let instructions = filter
            .iter()
            .map(|&(code, then, otherwise, k)| Instruction {
                code,
                then,
                otherwise,
                k,
            });
        Filter::new(instructions.collect()).map(Some)
    }

    /// As the forwarder takes it.
    pub(crate) fn wanted(&self, ports: &[Port]) -> Result<Wanted, String> {
        let reason = |name: &String| {
            reason(name).ok_or_else(|| {
                let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
                format!("reason {name}: known are {}", known.join(", "))
            })
        };
        let index = |name: &String| {
            let port = ports.iter().find(|port| port.name == *name);
            port.map(|port| port.ifindex).ok_or_else(|| {
                let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                let known = known.join(", ");
                format!("port {name}: no port of this router that is there; it has {known}")
            })
        };
        Ok(Wanted {
            reasons: self.reasons.iter().map(reason).collect::<Result<_, _>>()?,
            forwarded: self.forwarded,
            every: self.every,
            snap: self.snap,
            filter: self.filter()?,
            ports: self.ports.iter().map(index).collect::<Result<_, _>>()?,
        })
    }
}

/// The reason of a name.
pub fn reason(name: &str) -> Option<Reason> {
    let mut all = Reason::ALL.iter();
    all.find(|reason| reason.name() == name).copied()
}

/// Frames are shown from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// As in `--engine`.
    pub engine: String,
    /// The filter runs in the kernel, on all of these.
    pub filtered: bool,
    /// Every port of the router that is attached: frames may leave by any.
    pub ports: Vec<StartedPort>,
    /// Ports that show nothing, and why.
    pub failed: Vec<(String, String)>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedPort {
    /// Its number in what is shown.
    pub place: usize,
    /// The kernel's name.
    pub name: String,
    /// `native`, `generic` or `tc`.
    pub mode: String,
    /// It shows frames.
    pub shows: bool,
}

impl Started {
    pub(crate) fn of(engine: &'static str, forwarder: &Forwarder, capturing: &Capturing) -> Self {
        let places = forwarder.places().collect::<Vec<_>>();
        let ports = forwarder.attachments().filter_map(|attachment| {
            let ifindex = attachment.ifindex();
            let (place, _) = places.iter().find(|(_, of)| *of == ifindex)?;
            Some(StartedPort {
                place: *place,
                name: attachment.interface().to_owned(),
                mode: attachment.mode().to_string(),
                shows: capturing.ports.contains(&ifindex),
            })
        });
        let name = |ifindex: u32| {
            let mut all = forwarder.attachments();
            let one = all.find(|attachment| attachment.ifindex() == ifindex);
            one.map_or_else(|| ifindex.to_string(), |one| one.interface().to_owned())
        };
        let failed = capturing.failed.iter();
        Self {
            engine: engine.to_owned(),
            filtered: capturing.filtered,
            ports: ports.collect(),
            failed: failed
                .map(|(ifindex, why)| (name(*ifindex), why.clone()))
                .collect(),
        }
    }
}

/// Which way somebody asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WayAsked {
    /// Place of the table, as frames name it.
    pub table: u32,
    /// The destination.
    pub to: IpAddr,
    /// Number of the next hop; 0: none.
    pub next_hop: u16,
}

impl WayAsked {
    /// As it is sent: one line.
    pub fn line(&self) -> String {
        // Plain data: it has a form in JSON.
        let asked = serde_json::to_string(self).unwrap_or_default();
        format!("{WAY} {asked}")
    }
}

/// What the tables say of a destination now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// The kernel's number of the table.
    pub table: u32,
    /// The longest prefix that has it.
    pub prefix: Option<String>,
    /// The neighbour that the next hop is.
    pub neighbour: Option<String>,
}

/// The answer to [`WayAsked`].
///
/// # Errors
/// When it is none.
pub(crate) fn way(follower: &Follower, question: &str) -> Result<String, EngineError> {
    let wrong = |error: String| EngineError::new("the way of a frame", error);
    let asked: WayAsked =
        serde_json::from_str(question).map_err(|error| wrong(error.to_string()))?;
    let way = way_of(follower, &asked).ok_or_else(|| wrong("no such table".to_owned()))?;
    Ok(forms::line(&way))
}

/// The answers to several; `None` where there is no such table.
pub(crate) fn ways(follower: &Follower, asked: &[WayAsked]) -> String {
    let ways = asked.iter().map(|asked| way_of(follower, asked));
    forms::line(&ways.collect::<Vec<_>>())
}

fn way_of(follower: &Follower, asked: &WayAsked) -> Option<Way> {
    let forwarder = follower.engine().forwarder();
    let table = forwarder.and_then(|forwarder| forwarder.table_at(asked.table))?;
    let (prefix, neighbour) = super::explain::way(follower, table, asked.to, asked.next_hop);
    Some(Way {
        table,
        prefix,
        neighbour,
    })
}
