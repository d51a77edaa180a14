//! How the programs that show frames are loaded.

use std::collections::HashMap;

use bpf::attach::Mode;
use bpf::classic::{Bytes, Filter, translate};
use bpf::map::Map;
use bpf::program::{Loader, Program};

use super::wanted::{Purpose, Wanted, bits};
use super::{RING_BYTES, samples, shown};
use crate::Result;
use crate::forward::{Load, Reason};
use crate::packed::{Packed, packed};

pub(super) const CAPTURED: Packed = packed!("captured");
const CAPTURED_SEGMENT: Packed = packed!("captured_segment");
/// `passes_filter` of the C source.
const STAND_IN: i32 = 0x6669_6c74;
/// `GO_PAST`, `GO_LOOK` and `GO_LEFT` of the C source.
const GO_PAST: i32 = 0x7061_7374;
const GO_LOOK: i32 = 0x6c6f_6f6b;
const GO_LEFT: i32 = 0x6c65_6674;
/// What forwards frames that are not looked at: when they are of no interest, and when those that are
/// left may be told of. It goes on as `LEFT` for these.
const PAST: &str = "past";
const TOLD: &str = "told";
const LEFT: &str = "left";
/// The smallest ring: nobody reads it.
const NO_RING: u32 = 4096;

/// A program that shows frames, or why a port has none, and whether the filter is in it.
pub(super) type Loaded = Result<(Program, bool)>;

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
        purpose: &Purpose,
        in_kernel: bool,
        maps: &HashMap<&'static str, Map>,
    ) -> bpf::Result<Program> {
        let at_tc = self.mode == Mode::Tc;
        let loader = if at_tc {
            self.loader_at_tc(&CAPTURED_SEGMENT.bytes(), maps)?
        } else {
            self.loader(&CAPTURED.bytes(), maps)?
        };
        let bytes = in_kernel.then(|| self.filtered_bytes());
        let loader = shape(loader, purpose, bytes, self.cpus)?;
        let program = if at_tc { "segment" } else { "forward" };
        loader.load()?.program(program)
    }
}

/// Sizes the maps and sets the constants by which a program shows frames.
pub(super) fn shape(
    loader: Loader,
    purpose: &Purpose,
    filtered: Option<Bytes>,
    cpus: usize,
) -> bpf::Result<Loader> {
    let (room, capture) = (purpose.room(), purpose.capture.as_ref());
    let filter = purpose.filter().zip(filtered);
    let filter = filter.and_then(|(filter, bytes)| translate(filter, room, bytes));
    let bytes = match filtered {
        _ if filter.is_none() => 0,
        Some(Bytes::Frame) => 2,
        _ => 1,
    };
    let measures = purpose.filter().is_some_and(Filter::measures);
    let discards = Reason::ALL.iter().copied();
    let discards = bits(discards.filter(|reason| reason.discard().is_some()));
    let tells = purpose.tells_of_any();
    let [past, other] = if tells { [TOLD, PAST] } else { [PAST, TOLD] };
    let ring = |wanted: bool, size| if wanted { size } else { NO_RING };
    let turns = purpose.takes_turns();
    let loader = if turns {
        loader.begins_as(past, GO_LOOK)?
    } else {
        loader.goes_on(GO_PAST, past)?
    };
    let loader = if tells {
        loader.goes_on(GO_LEFT, LEFT)?
    } else {
        loader.without(LEFT)?
    };
    let loader = loader
        .without(other)?
        .constant("SNAP", room.into())
        .constant("EVERY", capture.map_or(1, |wanted| wanted.every).into())
        .constant("WANTED", capture.map_or(0, Wanted::bits))
        .constant("FILTERED", bytes)
        .constant("MEASURES", measures.into())
        .constant("TURNS", turns.into())
        .constant("SAMPLES", purpose.samples.into())
        .constant("DISCARDS", if purpose.samples { discards } else { 0 })
        .value_size("preparing", shown::HEAD as u32 + u32::from(room))?
        .entries("shown_counts", cpus as u32)?
        .entries("shown_ring", ring(capture.is_some(), RING_BYTES))?
        .entries("sample_counts", cpus as u32)?
        .entries("sample_ring", ring(purpose.samples, samples::RING_BYTES))?;
    Ok(match filter {
        Some(filter) => loader.behind(STAND_IN, filter),
        None => loader,
    })
}

/// Loads with the filter, or without when the kernel does not take it.
pub(super) fn load(load: &Load, purpose: &Purpose, maps: &HashMap<&'static str, Map>) -> Loaded {
    let filter = purpose.filter();
    if filter.is_some_and(|filter| translate(filter, purpose.room(), Bytes::Copied).is_some()) {
        match load.load_captured(purpose, true, maps) {
            Err(bpf::Error::Refused { .. }) => {}
            outcome => return Ok((outcome?, true)),
        }
    }
    Ok((load.load_captured(purpose, false, maps)?, filter.is_none()))
}
