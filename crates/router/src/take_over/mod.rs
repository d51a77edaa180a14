//! A new process takes the ports of a running router over, and no frame is lost.
//!
//! ```text
//!  new                                        old
//!  take-over 1                           ->   is there anything against it?
//!                                        <-   Offer: engine, namespace, ports with their modes
//!  own maps and programs, the kernel's
//!  state, compared with the kernel
//!  {"workers":true}, if there are some   ->   their sockets and memory
//!                                        <-   Workers
//!  Wanted, its programs                  ->   puts them in the place of its own (link_update)
//!                                        <-   Given: what it has counted; links
//!  holds the links: Held                 ->   lets go, answers, ends
//!                                        <-   Yours
//! ```
//!
//! The old process exchanges the programs, since it can put its own back: when the new one ends
//! or falls silent before [`Held`], the old one goes on. A link lives as long as a descriptor of
//! it, and from `Given` to the end both have one. So the death of either costs no frame from
//! then on. When the old one dies before `Given`, the kernel forwards, as it always does.
//!
//! Workers behind sockets ([`hand_over`]) are held from `Given` to `Yours`, and what arrives waits
//! in their rings. So the old process waits for [`Held`] only [`RESTING`]. The new one's begin with
//! `Yours` and not before: until then it has touched no ring.
//!
//! Messages are lines of JSON over the control socket; descriptors go beside them. `{"error": …}`
//! in the place of any message ends it.
//!
//! A service manager ends the old process first; how it is bridged then is in [`kept`].
//!
//! # What it cannot do
//! Packet sockets, and filters at tc (before Linux 6.6), stay where they are. When a process dies
//! that has workers, what waits in its rings is lost.
//!
//! [`hand_over`]: crate::engine::hand_over

mod channel;
mod counts;
mod kept;
mod left;
mod taking;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use bpf::attach::Mode;
use fastpath::forward::Forwarder;

use crate::engine::hand_over::Worker;

pub use self::channel::Channel;
pub use self::counts::Totals;
pub use self::kept::{Kept, keep};
pub use self::taking::Taking;

/// The first word of the question on the control socket.
pub const QUESTION: &str = "take-over";
/// The second: which messages are understood.
pub const VERSION: &str = "1";

/// How long workers rest for the new process to go on: what arrives meanwhile must find room in
/// their rings.
pub const RESTING: Duration = Duration::from_millis(100);

/// What can be taken over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Offer {
    /// Form of the messages.
    pub schema: String,
    /// Of the program.
    pub version: String,
    /// Number of the process.
    pub process: u32,
    /// As in `--engine`.
    pub engine: String,
    /// Number of the network namespace.
    pub namespace: u64,
    /// Its ports that are attached.
    pub ports: Vec<OfferedPort>,
    /// It is to be out of traffic.
    pub draining: bool,
    /// It has workers that can be taken over: in what form it says so.
    #[serde(default)]
    pub workers: Option<u32>,
}

/// A port that can be taken over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OfferedPort {
    /// Interface index.
    pub ifindex: u32,
    /// The kernel's name.
    pub name: String,
    /// `native`, `generic` or `tc`.
    pub mode: String,
}

/// The new process is ready for the old one's workers.
#[derive(Debug, Serialize, Deserialize)]
pub struct WorkersWanted {
    /// It is.
    pub workers: bool,
}

/// The old process's workers, with their descriptors.
#[derive(Debug, Serialize, Deserialize)]
pub struct Workers {
    /// One by one.
    pub workers: Vec<Worker>,
}

/// Ports whose frames the new process wants, with a program for each.
#[derive(Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// Interface indices.
    pub wanted: Vec<u32>,
}

/// Ports that run the new programs, with a link for each, and what says that its program is the
/// only one at tc.
#[derive(Debug, Serialize, Deserialize)]
pub struct Given {
    /// Interface index, and whether a second descriptor belongs to it.
    pub given: Vec<(u32, bool)>,
    /// The old process's counts.
    pub counted: Totals,
    /// Those of its workers.
    #[serde(default)]
    pub worked: Totals,
}

/// The new process holds the links.
#[derive(Debug, Serialize, Deserialize)]
pub struct Held {
    /// How many.
    pub held: usize,
}

/// The old process has let go.
#[derive(Debug, Serialize, Deserialize)]
pub struct Yours {
    /// How many.
    pub yours: usize,
}

/// Where a new process gets its ports from.
#[derive(Debug)]
pub enum Before {
    /// It attaches them itself.
    Nobody,
    /// From a running router.
    Running(Taking),
    /// From the service manager, which has kept the links of a router that ended.
    Ended(Kept),
}

/// The mode of this name.
fn mode_of(name: &str) -> Option<Mode> {
    let mut modes = [Mode::Native, Mode::Generic, Mode::Tc].into_iter();
    modes.find(|mode| mode.to_string() == name)
}

/// Number of the calling thread's network namespace.
///
/// # Errors
/// When there is no `/proc`.
pub fn namespace() -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// What a forwarder has to offer.
///
/// # Errors
/// What cannot be taken over, and what to do.
pub fn offered(forwarder: &Forwarder) -> Result<Vec<OfferedPort>, String> {
    let ports = forwarder.attachments().map(|attachment| {
        let name = attachment.interface();
        if attachment.descriptors().is_none() {
            return Err(format!(
                "port {name}: a filter at tc (before Linux 6.6) cannot be taken over; restart the \
                 router"
            ));
        }
        Ok(OfferedPort {
            ifindex: attachment.ifindex(),
            name: name.to_owned(),
            mode: attachment.mode().to_string(),
        })
    });
    ports.collect()
}
