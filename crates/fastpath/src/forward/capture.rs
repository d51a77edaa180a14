//! Frames shown to whoever captures, with what the program made of them.
//!
//! While somebody captures, ports run another program in the place of theirs: the same source with what
//! shows frames around it (bpf/captured.h). One exchange of a pointer puts it there and takes it away,
//! so nobody pays for it at other times, and no frame passes between. Both count in the same maps.
//!
//! A program that shows frames is loaded by the thread that attaches, as any is. Frames go through a
//! ring buffer of fixed size to whoever has its descriptor ([`Frames`]); what finds no room there is
//! counted.
//!
//! # What it cannot do
//! Frames that a device refuses after the program (`egress-refused`), or a worker
//! (`transmit-full`), are forwarded as far as the program knows. Packet sockets decide in a filter,
//! which shows nothing.

mod shown;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, TryRecvError};

use bpf::attach::Mode;
use bpf::classic::{Bytes, Filter, translate};
use bpf::map::Map;
use bpf::program::{Loader, Program};

use super::attacher::Attacher;
use super::tags::Teller;
use super::{Forwarder, Load, OWN_BYTES, Reason, Target, shared};
use crate::{Error, Result};

pub use shown::{Counted, Frames, Shown};

const CAPTURED: &[u8] = include_bytes!("../../bpf/built/captured.bpf.o");
const CAPTURED_SEGMENT: &[u8] = include_bytes!("../../bpf/built/captured_segment.bpf.o");
/// `passes_filter` of the C source.
const STAND_IN: i32 = 0x6669_6c74;
/// What all ports show frames by.
const MAPS: [&str; 3] = ["preparing", "shown_counts", "shown_ring"];
/// Of a tag that lay beside a frame.
const TAG: u16 = 4;

/// Bytes of frames that wait for the reader, with what is said of them.
pub const RING_BYTES: u32 = 4 << 20;
/// The most that is kept of a frame, in bytes: the kernel has no larger place for each core.
pub const LONGEST_SNAP: u16 = 16 << 10;

/// Which frames are wanted, and how much of each.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Those that were left for one of these reasons.
    pub reasons: Vec<Reason>,
    /// Those that were forwarded.
    pub forwarded: bool,
    /// Of all that come, one in so many is looked at, by chance.
    pub every: u32,
    /// Bytes of each, up to [`LONGEST_SNAP`].
    pub snap: u16,
    /// Those that pass it, and few others: who reads filters again.
    pub filter: Option<Filter>,
    /// Those that came by one of these interfaces; by any when empty.
    pub ports: Vec<u32>,
}

impl Wanted {
    /// Can a program show these?
    ///
    /// # Errors
    /// Why not, and what to do.
    fn check(&self) -> Result<()> {
        if let Some(reason) = self.reasons.iter().find(|reason| !reason.is_shown()) {
            let remedy = "it is found out when the frame has gone on; capture forwarded frames, \
                          and count these with corelane show drops";
            return Err(Error::value("reason", reason.name(), remedy));
        }
        if !(64..=LONGEST_SNAP).contains(&self.snap) {
            let remedy = format!("give 64 to {LONGEST_SNAP} bytes");
            return Err(Error::value("snap", self.snap, remedy));
        }
        if self.every == 0 {
            return Err(Error::value("sample", 0, "give 1 or more"));
        }
        Ok(())
    }

    /// `WANTED` of the C source.
    fn bits(&self) -> u64 {
        let bits = self.reasons.iter().map(|&reason| 1 << reason as u64);
        let forwarded = u64::from(self.forwarded) << Reason::COUNT;
        bits.fold(forwarded, |all, bit: u64| all | bit)
    }

    /// Bytes that a program has room for.
    fn room(&self) -> u16 {
        self.snap + TAG
    }
}

/// A program that shows frames, or why a port has none, and whether the filter is in it.
type Loaded = Result<(Program, bool)>;

/// A capture under way.
#[derive(Debug)]
pub(super) struct Capture {
    wanted: Wanted,
    maps: HashMap<&'static str, Map>,
    /// By interface index.
    coming: BTreeMap<u32, Receiver<Loaded>>,
    programs: BTreeMap<u32, Program>,
    failed: BTreeMap<u32, String>,
    /// Ports whose frames are filtered by who reads.
    unfiltered: HashSet<u32>,
}

/// How far a capture is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capturing {
    /// Interface indices of the ports that show frames.
    pub ports: Vec<u32>,
    /// Ports that cannot, and why.
    pub failed: Vec<(u32, String)>,
    /// Some are still on their way.
    pub comes: bool,
    /// The filter runs in the kernel, on every port.
    pub filtered: bool,
}

impl Load {
    /// What a filter reads: the frame, unless some of its header may lie elsewhere.
    fn filtered_bytes(&self) -> Bytes {
        match self.mode {
            Mode::Tc => Bytes::Copied,
            Mode::Native | Mode::Generic => Bytes::Frame,
        }
    }

    /// The program of a port that shows frames; `in_kernel`: the filter is a part of it.
    fn load_captured(
        &self,
        wanted: &Wanted,
        in_kernel: bool,
        maps: &HashMap<&'static str, Map>,
    ) -> bpf::Result<Program> {
        let at_tc = self.mode == Mode::Tc;
        let loader = if at_tc {
            let loader = Loader::new(CAPTURED_SEGMENT)?.constant("PORT", self.port as u64);
            let loader = loader.value_size("own4", OWN_BYTES)?;
            self.capacity.shape(shared(loader, maps), self.cpus)?
        } else {
            self.loader(CAPTURED, maps)?
        };
        let bytes = in_kernel.then(|| self.filtered_bytes());
        let loader = shape(loader, wanted, bytes, self.cpus)?;
        let program = if at_tc { "segment" } else { "forward" };
        loader.load()?.program(program)
    }
}

/// Sizes the maps and sets the constants by which a program shows frames.
fn shape(
    loader: Loader,
    wanted: &Wanted,
    filtered: Option<Bytes>,
    cpus: usize,
) -> bpf::Result<Loader> {
    let room = wanted.room();
    let filter = wanted.filter.as_ref().zip(filtered);
    let filter = filter.and_then(|(filter, bytes)| translate(filter, room, bytes));
    let bytes = match filtered {
        _ if filter.is_none() => 0,
        Some(Bytes::Frame) => 2,
        _ => 1,
    };
    let loader = loader
        .constant("SNAP", room.into())
        .constant("EVERY", wanted.every.into())
        .constant("WANTED", wanted.bits())
        .constant("FILTERED", bytes)
        .value_size("preparing", shown::HEAD as u32 + u32::from(room))?
        .entries("shown_counts", cpus as u32)?
        .entries("shown_ring", RING_BYTES)?;
    Ok(match filter {
        Some(filter) => loader.behind(STAND_IN, filter),
        None => loader,
    })
}

/// Loads with the filter, or without when the kernel does not take it.
fn load(load: &Load, wanted: &Wanted, maps: &HashMap<&'static str, Map>) -> Loaded {
    let filter = wanted.filter.as_ref();
    if filter.is_some_and(|filter| translate(filter, wanted.room(), Bytes::Copied).is_some()) {
        match load.load_captured(wanted, true, maps) {
            Err(bpf::Error::Refused { .. }) => {}
            outcome => return Ok((outcome?, true)),
        }
    }
    Ok((
        load.load_captured(wanted, false, maps)?,
        wanted.filter.is_none(),
    ))
}

impl Capture {
    fn load(&mut self, attacher: &Attacher, ifindex: u32, with: Load) {
        let (wanted, maps) = (self.wanted.clone(), self.maps.clone());
        let loaded = attacher.load(move || load(&with, &wanted, &maps));
        self.coming.insert(ifindex, loaded);
    }

    fn knows(&self, ifindex: u32) -> bool {
        self.coming.contains_key(&ifindex)
            || self.programs.contains_key(&ifindex)
            || self.failed.contains_key(&ifindex)
    }

    /// A port is no port any more, or another.
    pub(super) fn forget(&mut self, ifindex: u32) {
        self.coming.remove(&ifindex);
        self.programs.remove(&ifindex);
        self.failed.remove(&ifindex);
        self.unfiltered.remove(&ifindex);
    }
}

impl Forwarder {
    /// Has ports show frames from soon on; [`Forwarder::tend_capture`] says when. One capture at a
    /// time: another ends before.
    ///
    /// # Errors
    /// What cannot be captured, and what to do; the loader's.
    pub fn capture(&mut self, wanted: Wanted) -> Result<()> {
        self.end_capture();
        wanted.check()?;
        if let Target::Copies { .. } = self.target {
            let remedy = "its packet sockets decide in a filter, which shows nothing; run --engine \
                          auto, or capture on the interface: tcpdump -i PORT";
            return Err(Error::value("capture", "engine af-packet", remedy));
        }
        let load = self.load_for(0, Mode::Native, Teller::Nobody);
        let loader = load.loader(CAPTURED, &self.maps)?;
        let made = shape(loader, &wanted, None, self.cpus)?.maps()?;
        let mut maps = self.maps.clone();
        for name in MAPS {
            maps.insert(name, made.map(name)?);
        }
        self.capture = Some(Capture {
            wanted,
            maps,
            coming: BTreeMap::new(),
            programs: BTreeMap::new(),
            failed: BTreeMap::new(),
            unfiltered: HashSet::new(),
        });
        self.tend_capture();
        Ok(())
    }

    /// Goes on with a capture: ports that have come since show frames, too. Call it now and then.
    pub fn tend_capture(&mut self) -> Option<Capturing> {
        let mut capture = self.capture.take()?;
        for number in 0..self.ports.len() {
            let Some(port) = &self.ports[number] else {
                continue;
            };
            let (ifindex, ports) = (port.ifindex, &capture.wanted.ports);
            let is_wanted = ports.is_empty() || ports.contains(&ifindex);
            if is_wanted && !capture.knows(ifindex) {
                let load = self.load_for(number, port.attachment.mode(), port.teller);
                capture.load(&self.attacher, ifindex, load);
            }
        }
        let coming = std::mem::take(&mut capture.coming);
        for (ifindex, loaded) in coming {
            let outcome = match loaded.try_recv() {
                Err(TryRecvError::Empty) => {
                    capture.coming.insert(ifindex, loaded);
                    continue;
                }
                Err(TryRecvError::Disconnected) => continue,
                Ok(outcome) => outcome,
            };
            let shows = outcome.and_then(|(program, filtered)| {
                self.port(ifindex)?.attachment.exchange(&program)?;
                Ok((program, filtered))
            });
            match shows {
                Ok((program, filtered)) => {
                    if !filtered {
                        capture.unfiltered.insert(ifindex);
                    }
                    capture.programs.insert(ifindex, program);
                }
                Err(error) => {
                    capture.failed.insert(ifindex, error.to_string());
                }
            }
        }
        let failed = capture.failed.iter();
        let capturing = Capturing {
            ports: capture.programs.keys().copied().collect(),
            failed: failed
                .map(|(ifindex, why)| (*ifindex, why.clone()))
                .collect(),
            comes: !capture.coming.is_empty(),
            filtered: capture.unfiltered.is_empty(),
        };
        self.capture = Some(capture);
        Some(capturing)
    }

    /// From the next frame on, ports run their own programs again.
    pub fn end_capture(&mut self) {
        let Some(capture) = self.capture.take() else {
            return;
        };
        for &ifindex in capture.programs.keys() {
            // What is no port any more has nothing to be put back.
            let _gone = self.take_back(ifindex);
        }
    }

    /// What frames come through, and what is counted of them, for [`Frames::new`].
    pub fn captured(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let capture = self.capture.as_ref()?;
        Some(["shown_ring", "shown_counts"].map(|name| capture.maps[name].as_fd()))
    }

    /// The interface of each port by its place, as frames name it.
    pub fn places(&self) -> impl Iterator<Item = (usize, u32)> {
        let ports = self.ports.iter().enumerate();
        ports.filter_map(|(place, port)| Some((place, port.as_ref()?.ifindex)))
    }

    /// The caller's number of the table at a place, as frames name it.
    pub fn table_at(&self, place: u32) -> Option<u32> {
        let mut numbers = self.table_numbers.iter();
        let found = numbers.find(|(_, of)| **of == place as usize);
        found.map(|(number, _)| *number)
    }
}
