//! Looking ahead (`bpf/ahead.h`): the program on a veth searches for several frames at once, as it
//! may read from the veth's ring which of them wait.
//!
//! The kernel's description of itself says where things are in its structures. Where that lacks one
//! of them, frames are searched for one by one.

use std::path::Path;

use bpf::btf::Btf;
use bpf::features;
use bpf::program::Loader;

/// `kernel_context` and `kernel_box` of the C source, and the functions that they stand for.
const FUNCTIONS: [(i32, &str); 2] = [
    (0x6168_6501, "bpf_cast_to_kern_ctx"),
    (0x6168_6502, "bpf_rdonly_cast"),
];
/// Any structure whose first field is a number of 64 bits.
const BOX: &str = "timespec64";
/// The structure of a veth's queue may be described beside the others.
const VETH: &str = "/sys/kernel/btf/veth";
/// Of `struct ahead` in the C source.
const BYTES: usize = 2112;

/// Constants of the C source that say where the program finds what waits. All are 0 where it does not
/// look.
const PLACES: [&str; 7] = [
    "BOX",
    "BUFF_RXQ",
    "RXQ_RING",
    "RING_HEAD",
    "RING_SIZE",
    "RING_QUEUE",
    "FRAME_DATA",
];

/// Where a program finds what waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    functions: [(i32, u32); 2],
    places: [u64; 7],
}

impl Ahead {
    /// By how the kernel describes itself; `None` where something is not there.
    pub(super) fn of(types: &Btf) -> Option<Self> {
        let [context, plain] =
            FUNCTIONS.map(|(stand_in, name)| Some((stand_in, types.function(name)?)));
        let place =
            |structure, field| Some(u64::from(types.offset(structure, &[field])?.unsigned_abs()));
        let module;
        let veth = if types.structure("veth_rq").is_some() {
            types
        } else {
            module = types.with_module(Path::new(VETH))?;
            &module
        };
        let in_queue = |field| veth.offset("veth_rq", &[field]);
        let ring = in_queue("xdp_rxq")?.checked_sub(in_queue("xdp_ring")?)?;
        let places = [
            u64::from(types.structure(BOX)?),
            place("xdp_buff", "rxq")?,
            u64::try_from(ring).ok()?,
            place("ptr_ring", "consumer_head")?,
            place("ptr_ring", "size")?,
            place("ptr_ring", "queue")?,
            place("xdp_frame", "data")?,
        ];
        Some(Self {
            functions: [context?, plain?],
            places,
        })
    }

    /// This, for a device that has such a ring.
    pub(super) fn at(self, ifindex: u32) -> Option<Self> {
        let kind = features::kind(ifindex).ok()??;
        (kind == "veth").then_some(self)
    }

    /// Has the forwarder's program look ahead, or not.
    pub(super) fn shape(ahead: Option<Self>, loader: Loader, cpus: usize) -> bpf::Result<Loader> {
        let places = ahead.map_or([0; 7], |ahead| ahead.places);
        let functions = ahead.map_or_else(Vec::new, |ahead| ahead.functions.to_vec());
        let records = if ahead.is_some() { cpus } else { 1 };
        let mut loader = loader
            .value_size("ahead", (records * BYTES) as u32)?
            .constant("AHEADS", records as u64);
        for (name, place) in PLACES.iter().zip(places) {
            loader = loader.constant(name, place);
        }
        for (stand_in, number) in functions {
            loader = loader.function(stand_in, number);
        }
        Ok(loader)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ahead.rs"]
mod tests;
