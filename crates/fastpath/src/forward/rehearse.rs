//! What a port's program does with a frame, found out by hand: the same program, tables, next hops
//! and settings, and nothing is sent.
//!
//! Nothing that anybody watches changes. The program that is run has counters and limiters of its
//! own. Its limiters are copied from those in use before each run, so a frame that would be above a
//! limit now is above it here, and takes nobody's place.
//!
//! A VLAN tag is in the frame. At tc the kernel takes it out before, and keeps it beside the frame. Nobody
//! can do that by hand, so the program is told the tag in the frame's scratch words, and does it.

use std::collections::HashMap;

use bpf::attach::Mode;
use bpf::map::{Map, MappedArray};
use bpf::program::Program;
use bpf::sys::SocketBuffer;
use fib::NextHop;

use super::tags::Teller;
use super::{Forwarder, Load, OBJECT, Reason, Target, counters, punts};
use crate::{Error, Result};

/// Maps that are not shared with the programs in use.
const OWN: [&str; 5] = [
    "counters",
    "vlan_counters",
    "carried",
    "policers",
    "unresolved",
];
/// `ETHERNET_LENGTH` of the C source: the kernel takes so much off what a filter is run on.
const LINK: usize = 14;
/// Where a tag lies in a frame, and how long a frame must be for the kernel to take it out.
const TAG: std::ops::Range<usize> = 12..16;
const SHORTEST_TAGGED: usize = 20;
/// `DESTINATIONS` of the C source.
const DESTINATIONS: usize = 256;

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsed {
    /// Why it was not forwarded.
    pub left: Option<Reason>,
    /// The next hop that it was counted under, if it was forwarded by one of those asked for.
    pub next_hop: Option<NextHop>,
    /// As the program left it, with its tag: with workers, as they get it.
    pub frame: Vec<u8>,
}

/// Programs to be run by hand, and what they count.
#[derive(Debug)]
pub(super) struct Rehearsal {
    maps: HashMap<&'static str, Map>,
    counters: MappedArray<u64>,
    carried: MappedArray<u64>,
    policers: MappedArray<u64>,
    /// By the port's place and where its program is; with packet sockets, what the filter notes.
    programs: HashMap<(usize, Mode), (Program, Option<Map>)>,
}

/// What the filter of packet sockets says of a frame: `struct said` of the C source.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Said {
    length: u32,
    reason: u16,
    next_hop: u16,
    vlan: u32,
}

// SAFETY: integers without padding: any bytes are one.
unsafe impl bpf::map::Plain for Said {}

impl Forwarder {
    /// What the program of a port does with a frame now; `next_hops` are those that it may take.
    /// The first time for each port this loads a program, which takes some hundredths of a second.
    ///
    /// # Errors
    /// [`Error::NoPort`]; [`Error::Value`] for a frame so short that the kernel cannot take its tag out;
    /// the kernel's, for a frame that it does not run a program on, as one of fewer than 14 bytes.
    pub fn rehearse(
        &mut self,
        ifindex: u32,
        frame: &[u8],
        next_hops: &[NextHop],
    ) -> Result<Rehearsed> {
        self.rehearse_segments(ifindex, frame, 0, next_hops)
    }

    /// The same of a frame that stands for segments with so many bytes of data each; 0: for itself.
    ///
    /// # Errors
    /// As [`Forwarder::rehearse`]; [`Error::Value`] where a frame is never more than one.
    pub fn rehearse_segments(
        &mut self,
        ifindex: u32,
        frame: &[u8],
        segment: u16,
        next_hops: &[NextHop],
    ) -> Result<Rehearsed> {
        let number = self.number_of(ifindex)?;
        let mode = self.port(ifindex)?.attachment.mode();
        let is_filter = matches!(self.target, Target::Copies { .. });
        if segment > 0 && (mode != Mode::Tc || is_filter) {
            let remedy = "only at tc a frame stands for many: ask a router of engine tc";
            return Err(Error::value("segment", segment, remedy));
        }
        let (mut frame, mut tag) = (frame.to_vec(), 0);
        if (mode == Mode::Tc || is_filter) && frame.get(12..14) == Some(&[0x81, 0]) {
            if frame.len() < SHORTEST_TAGGED {
                let remedy = "the kernel drops it before the program; give 20 bytes or more";
                return Err(Error::value("frame", "with a tag and nothing else", remedy));
            }
            tag = 0x10000 | u32::from(frame[14]) << 8 | u32::from(frame[15]);
            frame.drain(TAG);
        }
        let mut rehearsal = match self.rehearsal.take() {
            Some(rehearsal) => rehearsal,
            None => self.new_rehearsal()?,
        };
        // Who has counted the segments is not asked: the program counts them by their size.
        let mut buffer = SocketBuffer::default();
        (buffer.segment_size, buffer.scratch) = (segment.into(), tag);
        let place = (number, mode);
        let done = self.rehearse_with(&mut rehearsal, place, &frame, &mut buffer, next_hops);
        self.rehearsal = Some(rehearsal);
        done
    }

    fn new_rehearsal(&self) -> Result<Rehearsal> {
        let mut maps = self.maps.clone();
        maps.retain(|name, _| !OWN.contains(name));
        let load = self.load_for(0, Mode::Native, Teller::Nobody);
        let made = load.loader(&OBJECT.bytes(), &maps)?.maps()?;
        for name in OWN {
            maps.insert(name, made.map(name)?);
        }
        Ok(Rehearsal {
            counters: counters::rows(&maps["counters"])?,
            carried: maps["carried"].mapped()?,
            policers: maps["policers"].mapped()?,
            maps,
            programs: HashMap::new(),
        })
    }

    fn rehearse_with(
        &self,
        rehearsal: &mut Rehearsal,
        place: (usize, Mode),
        frame: &[u8],
        buffer: &mut SocketBuffer,
        next_hops: &[NextHop],
    ) -> Result<Rehearsed> {
        if !rehearsal.programs.contains_key(&place) {
            let program = self.load_rehearsed(&rehearsal.maps, place)?;
            rehearsal.programs.insert(place, program);
        }
        let (program, notes) = &rehearsal.programs[&place];
        if let Some(notes) = notes {
            return hear(program, notes, place.0, frame, buffer);
        }
        self.copy_limits(rehearsal, place.0)?;
        rehearsal.counters.clear();
        for &next_hop in next_hops {
            counters::forget(&rehearsal.carried, self.cpus, next_hop);
        }
        let mut tag = buffer.scratch as u16;
        let mut result = if place.1 == Mode::Tc {
            program.run_buffer(frame, buffer)?
        } else {
            program.run(frame, 0, 1)?
        };
        let mut counted = counters::port(&rehearsal.counters, 0, place.0);
        for cpu in 1..self.cpus {
            counted += &counters::port(&rehearsal.counters, cpu, place.0);
        }
        let took = |next_hop: &&NextHop| {
            counters::carried(&rehearsal.carried, self.cpus, **next_hop).frames > 0
        };
        let left = counted.reasons().next().map(|(reason, _)| reason);
        if left.is_none() && counted.forwarded == 0 {
            let remedy = "ask again; the program found no room to count";
            return Err(Error::value("run by hand", "counted nowhere", remedy));
        }
        let next_hop = next_hops.iter().find(took).copied();
        if place.1 == Mode::Tc {
            // The kernel keeps it beside the frame until that leaves.
            if let Some(next_hop) = next_hop {
                tag = self.next_hop(next_hop).vlan;
            }
            if tag != 0 {
                let [high, low] = tag.to_be_bytes();
                result
                    .frame
                    .splice(TAG.start..TAG.start, [0x81, 0, high, low]);
            }
        }
        Ok(Rehearsed {
            left,
            next_hop,
            frame: result.frame,
        })
    }

    fn load_rehearsed(
        &self,
        maps: &HashMap<&'static str, Map>,
        (number, mode): (usize, Mode),
    ) -> Result<(Program, Option<Map>)> {
        let load = Load {
            rehearsed: true,
            ..self.load_for(number, mode, Teller::Nobody)
        };
        if let Target::Copies { longest } = self.target {
            let loaded = load.load_take(longest, maps)?;
            return Ok((loaded.program("hear")?, Some(loaded.map("notes")?)));
        }
        Ok((load.load(maps)?, None))
    }

    /// Has the limits of a port be as they are now.
    fn copy_limits(&self, rehearsal: &Rehearsal, number: usize) -> Result<()> {
        for at in 0..rehearsal.policers.len() {
            rehearsal.policers.write(at, self.policers.read(at));
        }
        if !punts::limits_unresolved(&self.policers, number) {
            return Ok(());
        }
        for at in number * DESTINATIONS..(number + 1) * DESTINATIONS {
            let full: u64 = self.maps["unresolved"].get(at as u32)?;
            rehearsal.maps["unresolved"].set(at as u32, &full)?;
        }
        Ok(())
    }
}

/// What the filter in front of packet sockets says.
fn hear(
    program: &Program,
    notes: &Map,
    number: usize,
    frame: &[u8],
    buffer: &mut SocketBuffer,
) -> Result<Rehearsed> {
    notes.clear_per_cpu(number as u32)?;
    // A filter sees what follows the Ethernet header that the kernel takes off: the whole frame.
    let shown = [&[0; LINK], frame].concat();
    program.run_buffer(&shown, buffer)?;
    let said: Vec<Said> = notes.get_per_cpu(number as u32)?;
    let said = said.into_iter().find(|said| said.length != 0);
    let said = said.ok_or_else(|| {
        Error::value(
            "run by hand",
            "noted nowhere",
            "ask again; the filter did not run",
        )
    })?;
    let left = Reason::ALL.get(usize::from(said.reason)).copied();
    Ok(Rehearsed {
        left,
        next_hop: left.is_none().then_some(NextHop(said.next_hop)),
        frame: frame.to_vec(),
    })
}
