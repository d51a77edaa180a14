//! Frames shown to whoever captures or wants samples, with what the program made of them.
//!
//! While somebody wants either, ports run another program in the place of theirs: the same source with
//! what shows frames around it (bpf/captured.h). One exchange of a pointer puts it there and takes it
//! away, so nobody pays for it at other times, and no frame passes between. Both count in the same maps.
//!
//! A program that shows frames is loaded by the thread that attaches, as any is. Frames go through a
//! ring buffer of fixed size to whoever has its descriptor: captured ones through one ([`Frames`]),
//! samples through another ([`Samples`]). What finds no room there is counted. When one of the two
//! begins or ends, the other goes on: its ring stays, and ports run what shows frames for it until the
//! next program has come.
//!
//! # What it cannot do
//! Frames that a device refuses after the program (`egress-refused`), or a worker
//! (`transmit-full`), are forwarded as far as the program knows. Packet sockets decide in a filter,
//! which shows nothing.

mod counts;
mod load;
mod samples;
mod shown;
mod wanted;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, TryRecvError};

use bpf::attach::Mode;
use bpf::map::Map;
use bpf::program::Program;

use super::attacher::Attacher;
use super::tags::Teller;
use super::{Forwarder, Load, Target};
use crate::{Error, Result};

use load::{CAPTURED, Loaded, load, shape};
pub use samples::{Sample, Sampled, Samples};
pub use shown::{Counted, Frames, Shown};
use wanted::Purpose;
pub use wanted::{LONGEST_SNAP, Wanted};

/// What all ports show frames by.
const MAPS: [&str; 5] = [
    "preparing",
    "shown_counts",
    "shown_ring",
    "sample_counts",
    "sample_ring",
];
/// Those of a capture, and of samples: what is counted, and the ring.
const OF_CAPTURE: [&str; 2] = ["shown_ring", "shown_counts"];
const OF_SAMPLES: [&str; 2] = ["sample_ring", "sample_counts"];
/// Bytes of frames that wait for the reader, with what is said of them.
pub const RING_BYTES: u32 = 4 << 20;

/// Ports show frames.
#[derive(Debug)]
pub(super) struct Shows {
    purpose: Purpose,
    maps: HashMap<&'static str, Map>,
    /// By interface index.
    coming: BTreeMap<u32, Receiver<Loaded>>,
    programs: BTreeMap<u32, Program>,
    failed: BTreeMap<u32, String>,
    /// Ports whose frames are filtered by who reads.
    unfiltered: HashSet<u32>,
    /// Ports that run what showed frames before, until theirs has come.
    earlier: BTreeSet<u32>,
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

impl Shows {
    fn load(&mut self, attacher: &Attacher, ifindex: u32, with: Load) {
        let (purpose, maps) = (self.purpose.clone(), self.maps.clone());
        let loaded = attacher.load(move || load(&with, &purpose, &maps));
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
        self.earlier.remove(&ifindex);
    }

    /// The program by which a port shows frames.
    pub(super) fn program(&self, ifindex: u32) -> Option<&Program> {
        self.programs.get(&ifindex)
    }

    /// Ports that do not run their own programs.
    fn exchanged(&self) -> BTreeSet<u32> {
        let own = self.programs.keys().copied();
        own.chain(self.earlier.iter().copied()).collect()
    }

    /// How far it is on the ports that are of interest.
    fn state(&self, of_it: impl Fn(u32) -> bool) -> Capturing {
        let of_it = |ifindex: &u32| of_it(*ifindex);
        let failed = self.failed.iter().filter(|(ifindex, _)| of_it(ifindex));
        Capturing {
            ports: self.programs.keys().copied().filter(of_it).collect(),
            failed: failed
                .map(|(ifindex, why)| (*ifindex, why.clone()))
                .collect(),
            comes: self.coming.keys().any(of_it),
            filtered: self.unfiltered.is_empty(),
        }
    }

    fn maps(&self, names: [&str; 2]) -> [BorrowedFd<'_>; 2] {
        names.map(|name| self.maps[name].as_fd())
    }
}

impl Forwarder {
    /// Has ports show frames from soon on; [`Forwarder::tend_capture`] says when. One capture at a
    /// time: another ends before.
    ///
    /// # Errors
    /// What cannot be captured, and what to do; the loader's.
    pub fn capture(&mut self, wanted: Wanted) -> Result<()> {
        wanted.check()?;
        let samples = self.samples();
        self.show(
            Some(wanted),
            samples,
            if samples { &OF_SAMPLES } else { &[] },
        )
    }

    /// Goes on with a capture: ports that have come since show frames, too. Call it now and then.
    pub fn tend_capture(&mut self) -> Option<Capturing> {
        self.tend_shows();
        let shows = self.shows.as_ref()?;
        shows.purpose.capture.as_ref()?;
        Some(shows.state(|ifindex| shows.purpose.captures(ifindex)))
    }

    /// From the next frame on, ports run their own programs again, or soon those that take samples.
    pub fn end_capture(&mut self) {
        let captures = |shows: &Shows| shows.purpose.capture.is_some();
        if self.shows.as_ref().is_some_and(captures) {
            self.show_less(None, self.samples(), &OF_SAMPLES);
        }
    }

    /// Has ports take samples from soon on; who reads them says how many
    /// ([`Samples::set_rate`]): until then there is none.
    ///
    /// # Errors
    /// As [`Forwarder::capture`].
    pub fn take_samples(&mut self) -> Result<()> {
        if self.samples() {
            return Ok(());
        }
        let shows = self.shows.as_ref();
        let capture = shows.and_then(|shows| shows.purpose.capture.clone());
        let kept: &[&'static str] = if capture.is_some() { &OF_CAPTURE } else { &[] };
        self.show(capture, true, kept)
    }

    /// Goes on with samples, as [`Forwarder::tend_capture`].
    pub fn tend_samples(&mut self) -> Option<Capturing> {
        self.tend_shows();
        let shows = self.shows.as_ref().filter(|shows| shows.purpose.samples)?;
        Some(shows.state(|_| true))
    }

    /// From the next frame on, ports run their own programs again, or soon those of a capture.
    pub fn end_samples(&mut self) {
        if self.samples() {
            let shows = self.shows.as_ref();
            let capture = shows.and_then(|shows| shows.purpose.capture.clone());
            self.show_less(capture, false, &OF_CAPTURE);
        }
    }

    /// Are samples taken?
    fn samples(&self) -> bool {
        self.shows
            .as_ref()
            .is_some_and(|shows| shows.purpose.samples)
    }

    /// Has ports show frames for this, by the maps of before that are named, and new ones.
    fn show(
        &mut self,
        capture: Option<Wanted>,
        samples: bool,
        kept: &[&'static str],
    ) -> Result<()> {
        if let Target::Copies { .. } = self.target {
            let remedy = "its packet sockets decide in a filter, which shows nothing; run --engine \
                          auto, or capture on the interface: tcpdump -i PORT";
            return Err(Error::value("capture", "engine af-packet", remedy));
        }
        let purpose = Purpose { capture, samples };
        let mut maps = self.maps.clone();
        if let Some(shows) = &self.shows {
            maps.extend(kept.iter().map(|&name| (name, shows.maps[name].clone())));
        }
        let load = self.load_for(0, Mode::Native, Teller::Nobody);
        let loader = load.loader(&CAPTURED.bytes(), &maps)?;
        let made = shape(loader, &purpose, None, self.cpus)?.maps()?;
        for name in MAPS {
            if !maps.contains_key(name) {
                maps.insert(name, made.map(name)?);
            }
        }
        let earlier = self.shows.as_ref().map(Shows::exchanged);
        self.shows = Some(Shows {
            purpose,
            maps,
            coming: BTreeMap::new(),
            programs: BTreeMap::new(),
            failed: BTreeMap::new(),
            unfiltered: HashSet::new(),
            earlier: earlier.unwrap_or_default(),
        });
        self.tend_shows();
        Ok(())
    }

    /// As [`Forwarder::show`], for less than before; for nothing when that cannot be.
    fn show_less(&mut self, capture: Option<Wanted>, samples: bool, kept: &[&'static str]) {
        let wanted = capture.is_some() || samples;
        if wanted && self.show(capture, samples, kept).is_ok() {
            return;
        }
        let Some(shows) = self.shows.take() else {
            return;
        };
        for ifindex in shows.exchanged() {
            // What is no port any more has nothing to be put back.
            let _gone = self.take_back(ifindex);
        }
    }

    fn tend_shows(&mut self) {
        let Some(mut shows) = self.shows.take() else {
            return;
        };
        for number in 0..self.ports.len() {
            let Some(port) = &self.ports[number] else {
                continue;
            };
            let ifindex = port.ifindex;
            if shows.purpose.wants(ifindex) && !shows.knows(ifindex) {
                let load = self.load_as(number, port);
                shows.load(&self.attacher, ifindex, load);
            }
        }
        for ifindex in shows.earlier.clone() {
            if !shows.purpose.wants(ifindex) {
                shows.earlier.remove(&ifindex);
                // As in `show_less`.
                let _gone = self.take_back(ifindex);
            }
        }
        let coming = std::mem::take(&mut shows.coming);
        for (ifindex, loaded) in coming {
            let outcome = match loaded.try_recv() {
                Err(TryRecvError::Empty) => {
                    shows.coming.insert(ifindex, loaded);
                    continue;
                }
                Err(TryRecvError::Disconnected) => continue,
                Ok(outcome) => outcome,
            };
            let shown = outcome.and_then(|(program, filtered)| {
                self.port(ifindex)?.attachment.exchange(&program)?;
                Ok((program, filtered))
            });
            match shown {
                Ok((program, filtered)) => {
                    if !filtered {
                        shows.unfiltered.insert(ifindex);
                    }
                    shows.programs.insert(ifindex, program);
                    shows.earlier.remove(&ifindex);
                }
                Err(error) => {
                    shows.failed.insert(ifindex, error.to_string());
                }
            }
        }
        self.shows = Some(shows);
    }

    /// What captured frames come through, and what is counted of them, for [`Frames::new`].
    pub fn captured(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let shows = self.shows.as_ref();
        let shows = shows.filter(|shows| shows.purpose.capture.is_some())?;
        Some(shows.maps(OF_CAPTURE))
    }

    /// The same of samples, for [`Samples::new`].
    pub fn sampled(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let shows = self.shows.as_ref();
        Some(
            shows
                .filter(|shows| shows.purpose.samples)?
                .maps(OF_SAMPLES),
        )
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
