//! A trace: the events, the threads, and what the recorder knew besides.

use serde::{Deserialize, Serialize};

use crate::event::{Event, TaskChange, Tid};

/// What was recorded, read back.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What was asked, on what machine.
    pub header: Header,
    /// What the recorder knew at the end.
    pub trailer: Trailer,
    /// All cores' events in time order.
    pub events: Vec<Event>,
    /// Names, births and deaths of threads, in time order.
    pub tasks: Vec<TaskChange>,
    /// What is wrong with the file, in sentences. Empty for a sound one.
    pub complaints: Vec<String>,
}

/// Whose cores and locks the verdict is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Everything that ran.
    #[default]
    Everything,
    /// One process and what it starts.
    Process(Tid),
}

/// What was asked, on what machine: written before the first event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The program that recorded: name and version.
    pub recorder: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// The host's name.
    pub host: String,
    /// The cores recorded.
    pub cores: Vec<u16>,
    /// Cores kept from the scheduler's balancing (`isolcpus`).
    pub isolated: Vec<u16>,
    /// The command line under study, or how it was chosen.
    pub command: String,
    /// What the kernel was asked for, as `subsystem:event`.
    pub events: Vec<String>,
    /// What it does not have, each with what is lost by it.
    pub missing: Vec<String>,
    /// How switches and wake-ups were heard of: `eBPF`, or perf with the reason.
    pub switches: String,
    /// Code places were recorded at waits and wake-ups.
    pub stacks: bool,
    /// Nanoseconds to add to a time for `CLOCK_BOOTTIME`.
    pub boot_offset: i64,
    /// Nanoseconds to add to a time for `CLOCK_REALTIME`.
    pub real_offset: i64,
    /// Names of interrupt lines, by number.
    pub interrupt_names: Vec<(u16, String)>,
}

/// What the recorder knew at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trailer {
    /// Whose cores and locks the verdict is about.
    pub scope: Scope,
    /// The recorder's own threads, left out of every verdict.
    pub recorder_threads: Vec<Tid>,
    /// The window of the verdict: nanoseconds of `CLOCK_MONOTONIC`.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Events lost, by core.
    pub lost: Vec<(u16, u64)>,
    /// False where the kernel does not count losses (before 6.0), so that losses at the end stay
    /// unseen.
    pub losses_counted: bool,
    /// Processor time of the recorder itself, in nanoseconds.
    pub recorder_time: u64,
    /// How the command ended.
    pub exit: String,
    /// Names of addresses, by process (0: the kernel).
    pub names: Vec<AddressName>,
    /// What stood at a waited-for word while it was waited for.
    pub probes: Vec<Probe>,
    /// The code places that [`crate::event::Kind::Stack`] and [`crate::event::Kind::Sample`] speak
    /// of, innermost first.
    pub stacks: Vec<Vec<String>>,
    /// The progress points that [`crate::event::Kind::Progress`] speaks of.
    pub progress: Vec<String>,
    /// Locks that count their own use, by name.
    pub holds: Vec<HoldCount>,
    /// Looks at waited-for words.
    pub looks: Vec<Looks>,
}

/// How a name was found, the best way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameSource {
    /// The program said so.
    Marker,
    /// A static variable of the program, or a kernel symbol.
    Symbol,
    /// The kind of memory it lies in.
    Place,
}

/// A name for an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressName {
    /// The process, 0 for the kernel.
    pub process: Tid,
    /// The first address.
    pub address: u64,
    /// How many bytes have this name.
    pub length: u64,
    /// The name.
    pub name: String,
    /// How it was found.
    pub source: NameSource,
    /// When the name's time was over, nanoseconds of `CLOCK_MONOTONIC`: another lock may have come
    /// to lie there. `None` for names that hold to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// The words around a waited-for word, read while threads waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The process.
    pub process: Tid,
    /// The waited-for word.
    pub address: u64,
    /// The eight words from 16 bytes before it.
    pub words: [u32; 8],
}

/// Looks at one waited-for word, at instants that have nothing to do with the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// The process.
    pub process: Tid,
    /// The word's address.
    pub address: u64,
    /// In time order.
    pub looks: Vec<Look>,
}

/// One look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    #[serde(rename = "t")]
    pub time: u64,
    /// Nanoseconds by which it came later than it was meant to.
    #[serde(rename = "l", default, skip_serializing_if = "is_zero")]
    pub late: u32,
    /// The word.
    #[serde(rename = "w")]
    pub word: u32,
    /// The word eight bytes after it: a mutex of glibc keeps its owner there.
    #[serde(rename = "a")]
    pub after: u32,
    /// The word before it: the state of Rust's read-write lock, whose writers wait at the word.
    #[serde(rename = "b", default, skip_serializing_if = "is_zero")]
    pub before: u32,
}

impl Look {
    /// The instant that it was meant for.
    pub fn meant(&self) -> u64 {
        self.time.saturating_sub(self.late.into())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(word: &u32) -> bool {
    *word == 0
}

/// What a lock that counts its own use has counted during the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldCount {
    /// The process.
    pub process: Tid,
    /// The lock's address.
    pub address: u64,
    /// The lock's name.
    pub name: String,
    /// How often it was taken.
    pub holds: u64,
    /// How long it was held in all, in nanoseconds.
    pub held: u64,
}

impl Trace {
    /// Events lost in all.
    pub fn events_lost(&self) -> u64 {
        self.trailer.lost.iter().map(|(_, lost)| lost).sum()
    }

    /// The window of the verdict; the first and last event where the recorder did not say.
    pub fn window(&self) -> (u64, u64) {
        let first = self.events.first().map_or(0, |event| event.time);
        let last = self.events.last().map_or(first, |event| event.time);
        let or = |told: u64, seen: u64| if told == 0 { seen } else { told };
        let (start, end) = (or(self.trailer.start, first), or(self.trailer.end, last));
        (start, end.max(start))
    }
}
