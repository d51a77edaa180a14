//! The generator: frames made inside the kernel and sent into a device, several times faster than
//! through a socket.
//!
//! A [`Generator`] owns one program with its template, destinations and counters.
//! [`Generator::send`] runs it on live frames (`BPF_PROG_RUN`) on the calling thread's core and
//! returns when they have been handed to the device: pacing is the caller's, by how many it asks
//! for and when. Live frames are recycled; the program writes every byte before the payload each
//! time, so nothing that the device under test did to a frame comes back with the next.
//!
//! Frames of two kinds may leave by turns into two devices ([`Generator::by_turns`]): both ways
//! through a router at once, by one timetable.
//!
//! Frames carry a [`Signature`] in their last 16 bytes, which [`crate::sink::Sink`] checks.
//!
//! # Why the program is also attached to a loopback interface
//! The kernel enters every program that it runs by hand into the dispatcher of XDP programs, and
//! takes it out again: each time it patches code and waits for all cores, some ten milliseconds a
//! call. A program that is attached somewhere is there already. So the generator attaches its
//! program, from its first frame to its end, to the loopback interface of a network namespace that
//! nobody uses.
//!
//! # What it cannot do
//! The kernel does not tell how many frames the *device* refused (a full ring): [`Generator::sent`]
//! counts frames made, the receiver counts frames arrived. A veth takes frames only when its peer
//! has an XDP program (or GRO on). A frame must fit a page with its head-room: [`LENGTH_MAX`]
//! bytes.

mod frames;
mod looks;
mod resident;
mod signature;
mod timetable;

use std::os::fd::AsFd;
use std::sync::OnceLock;

use bpf::attach::{Attachment, Request};
use bpf::map::{Map, MappedArray};
use bpf::program::Program;
use bpf::sys;
pub use frames::{DESTINATIONS_MAX, Destinations, Frames, LENGTH_MAX};
pub use looks::Look;
use resident::Resident;
pub use signature::{SIGNATURE_LENGTH, SIGNATURE_MAGIC, Signature};
use timetable::State;

use crate::packed::{Packed, packed};
use crate::{Error, Result};

const OBJECT: Packed = packed!("generate");

/// Most frames that the kernel handles at once (`TEST_XDP_MAX_BATCH`).
pub const BATCH_MAX: u32 = 256;

/// Sends frames of one kind into one device.
#[derive(Debug)]
pub struct Generator {
    program: Program,
    state: MappedArray<State>,
    looks: MappedArray<Look>,
    frame: Vec<u8>,
    batch: u32,
    out: Map,
    /// From the first call of [`Generator::send`] on; `None`: the kernel refused.
    resident: OnceLock<Option<Resident>>,
}

impl Generator {
    /// Loads a generator for `frames` into the interface with index `ifindex` of the calling
    /// thread's network namespace; afterwards it can be used from any namespace.
    ///
    /// # Errors
    /// [`Error::Value`] for a setting out of range, else the loader's errors.
    pub fn new(ifindex: u32, frames: &Frames) -> Result<Self> {
        Self::load(ifindex, &[frames], false)
    }

    /// As [`Generator::new`], but frames leave by the timetable of [`Generator::pace`], which is
    /// kept inside the kernel.
    ///
    /// # Errors
    /// As [`Generator::new`].
    pub fn with_timetable(ifindex: u32, frames: &Frames) -> Result<Self> {
        Self::load(ifindex, &[frames], true)
    }

    /// A generator whose frames leave by turns: those of the first kind into the interface with
    /// index `ifindex` of the calling thread's network namespace, those of the second into that of
    /// [`Generator::second_into`]. With a timetable where `paced`.
    ///
    /// # Errors
    /// As [`Generator::new`]; and [`Error::Value`] where the kinds differ by more than addresses,
    /// destination port and TTL.
    pub fn by_turns(ifindex: u32, kinds: [&Frames; 2], paced: bool) -> Result<Self> {
        kinds[0].check_turns(kinds[1])?;
        Self::load(ifindex, &kinds, paced)
    }

    /// Sets where frames of the second kind of [`Generator::by_turns`] leave: an interface of the
    /// calling thread's network namespace. Before it is set they are dropped.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn second_into(&self, ifindex: u32) -> Result<()> {
        Ok(self.out.set(1_u32, &ifindex)?)
    }

    fn load(ifindex: u32, kinds: &[&Frames], paced: bool) -> Result<Self> {
        for frames in kinds {
            frames.check()?;
        }
        let frames = kinds[0];
        let count = frames.destinations.len() * kinds.len();
        let words = if frames.source.is_ipv6() { 4 } else { 1 };
        let longest = frames.lengths.iter().copied().max().unwrap_or(LENGTH_MAX);
        let loaded = OBJECT
            .loader()?
            .constant("IPV6", u64::from(frames.source.is_ipv6()))
            .constant("VLAN", u64::from(frames.vlan.is_some()))
            .constant("DESTINATIONS", count as u64)
            .constant("LENGTHS", frames.lengths.len() as u64)
            .constant("FRAME_LENGTH", u64::from(longest))
            .constant("SOURCE_PORTS", u64::from(frames.source_ports))
            .constant("STREAM", u64::from(frames.stream))
            .constant("STAMP_EVERY", u64::from(frames.stamp_every))
            .constant("WAYS", kinds.len() as u64)
            .constant("LOOKING", u64::from(!paced))
            .constant("PACED", u64::from(paced))
            .value_size(
                "destinations",
                (4 * words * count).next_multiple_of(8) as u32,
            )?
            .entries("lengths", frames.lengths.len() as u32)?
            .load()?;

        let lengths = loaded.map("lengths")?;
        for (index, &length) in (0_u32..).zip(&frames.lengths) {
            lengths.set(index, &u32::from(length))?;
        }
        let templates = loaded.map("templates")?;
        let destinations = loaded.map("destinations")?.mapped::<u32>()?;
        for (way, frames) in kinds.iter().enumerate() {
            templates.set(way as u32, &frames.template())?;
            for (turn, address) in frames.destinations.words().chunks(words).enumerate() {
                let first = (turn * kinds.len() + way) * words;
                for (place, &word) in (first..).zip(address) {
                    destinations.write(place, word);
                }
            }
        }
        let out = loaded.map("out")?;
        out.set(0_u32, &ifindex)?;
        let program = loaded.program("generate")?;
        Ok(Self {
            resident: OnceLock::new(),
            program,
            state: loaded.map("states")?.mapped()?,
            looks: loaded.map("looks")?.mapped()?,
            frame: vec![0; usize::from(longest)],
            batch: 64,
            out,
        })
    }

    /// Sets how many frames the kernel handles at once, 1 to [`BATCH_MAX`] (64 at first).
    ///
    /// # Errors
    /// [`Error::Value`] when out of range.
    pub fn set_batch(&mut self, batch: u32) -> Result<()> {
        if !(1..=BATCH_MAX).contains(&batch) {
            return Err(Error::value(
                "batch",
                batch,
                format!("give 1 to {BATCH_MAX}"),
            ));
        }
        self.batch = batch;
        Ok(())
    }

    /// Makes and sends `count` frames, as fast as it goes, on the core that the calling thread runs
    /// on. Returns how many were made: fewer than `count` only when a signal came.
    ///
    /// # Errors
    /// [`bpf::Error::Run`].
    pub fn send(&mut self, count: u32) -> Result<u32> {
        if count == 0 {
            return Ok(0);
        }
        self.resident.get_or_init(|| Resident::new(&self.program));
        let before = self.sent();
        let outcome = sys::run_live(
            self.program.as_fd(),
            &self.frame,
            count,
            self.batch.min(count),
            0,
        );
        match outcome {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => Err(bpf::Error::Run {
                program: self.program.name().to_owned(),
                error,
            }
            .into()),
            _ => Ok((self.sent() - before) as u32),
        }
    }

    /// Attaches the program to an interface at which nothing arrives (the loopback of an empty
    /// namespace), which makes short calls of [`Generator::send`] quick: the kernel keeps XDP
    /// programs that are attached in a dispatch table, and a call with a program that is not in
    /// it waits for two grace periods of RCU, some 25 ms, to put it there and take it out.
    ///
    /// # Errors
    /// As [`Attachment::new`].
    pub fn park(&self, interface: &str) -> Result<Attachment> {
        Ok(Attachment::new(&self.program, interface, Request::Generic)?)
    }

    /// Number of the last frame: frames made since the start, beyond what
    /// [`Generator::numbered_after`] left out.
    pub fn sent(&self) -> u64 {
        self.state.read(0).sent
    }

    /// The next frame as it would be sent now, with its signature; moves the generator one frame
    /// on, sends nothing.
    ///
    /// # Errors
    /// [`bpf::Error::Run`].
    pub fn preview(&mut self) -> Result<Vec<u8>> {
        Ok(self.program.run(&self.frame, 0, 1)?.frame)
    }
}
