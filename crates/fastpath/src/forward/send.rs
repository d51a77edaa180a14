//! Bursts of workers leave by one run of a program, not by a socket buffer for each frame.
//!
//! A device that does not work on a socket's memory costs the kernel a buffer and a walk through its
//! stack for each frame that a socket sends. A program that is run by hand costs some ten
//! microseconds, and a copy of a page for each frame: less from about twenty frames on. How it does
//! that says `bpf/send.bpf.c`.
//!
//! # Who owns what
//! A worker has a [`Desk`]: a box in memory that it shares with the programs. It lays a burst there
//! and runs the program of the port: a [`Sender`] for each port, made from its [`Way`]. No two
//! workers write the same line.
//!
//! # What is known of each frame
//! The device was not asked (no frame is lost: the socket can have it), it took the frame, or it did
//! not. The kernel says so at a tracepoint; its program needs to know how many arguments that has.
//!
//! # What it cannot do
//! - Before Linux 6.3 the kernel gives frames even to a device that loses them: there is no such way.
//! - Frames are 2048 bytes at most, and some 60 KiB together: what does not fit is the socket's.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};

use bpf::btf::Btf;
use bpf::features;
use bpf::map::{Map, MappedArray};
use bpf::program::Program;
use bpf::sys::run_live;

use super::tracepoints::AtTracepoints;
use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("send");
const TELLER: Packed = packed!("sent");
const TRACEPOINT: &str = "xdp_devmap_xmit";
const ARGUMENTS: usize = 5;

/// `BOX_BYTES` and `BOX_HEAD` of the C source, in words of 64 bits.
const BOX_WORDS: usize = 65_536 / 8;
const HEAD_WORDS: usize = 8;
/// `LONGEST` there, in bytes.
const LONGEST: usize = 2048;
/// The last place in a box where a frame may begin.
const LAST: usize = 8 * (BOX_WORDS - HEAD_WORDS) - LONGEST - 8;
/// The maps of devices there, and how many copies each makes.
const COPIES: [(&str, usize); 3] = [("few", 34), ("some", 50), ("many", 66)];
/// Most frames of one run.
pub const MOST_SENT: usize = 64;
/// Bytes of `struct order`.
const ORDER: usize = 16;

/// What all workers share: the program at the tracepoint, and their boxes.
#[derive(Clone, Debug)]
pub(super) struct Sends {
    boxes: Arc<Boxes>,
    maps: [Map; 2],
}

#[derive(Debug)]
struct Boxes {
    words: MappedArray<u64>,
    /// Boxes that nobody has.
    free: Mutex<Vec<usize>>,
    teller: AtTracepoints,
}

impl Sends {
    /// For so many workers at a time; `None` where the kernel does not describe itself, or has
    /// another tracepoint.
    pub(super) fn watch(types: Option<&Btf>, desks: usize) -> Result<Option<Self>> {
        let told = types.and_then(|types| types.tracepoint(TRACEPOINT));
        if told.is_none_or(|(_, arguments)| arguments != ARGUMENTS) || desks == 0 {
            return Ok(None);
        }
        let loader = TELLER.loader()?.entries("boxes", desks as u32)?;
        let loaded = loader.load()?;
        let maps = [loaded.map("boxes")?, loaded.map("sending")?];
        Ok(Some(Self {
            boxes: Arc::new(Boxes {
                words: maps[0].mapped()?,
                free: Mutex::new((0..desks).rev().collect()),
                teller: AtTracepoints::attach(vec![(TRACEPOINT, loaded.program("sent")?)])?,
            }),
            maps,
        }))
    }

    /// Attaches the program at the tracepoint or takes it away: nobody may send meanwhile.
    pub(super) fn listen(&self, listen: bool) -> Result<()> {
        self.boxes.teller.listen(listen)
    }

    /// The way out of the port with this place; `None` when the kernel does not say which devices
    /// take redirected frames.
    pub(super) fn way(&self, port: u32, ifindex: u32) -> Result<Option<Way>> {
        if !matches!(features::runs_programs(ifindex), Ok(Some(_))) {
            return Ok(None);
        }
        let [boxes, sending] = &self.maps;
        let loaded = OBJECT
            .loader()?
            .constant("PORT", port.into())
            .share("boxes", boxes.clone())
            .share("sending", sending.clone())
            .load()?;
        let fill = loaded.program("fill")?;
        let element = [ifindex, fill.as_fd().as_raw_fd() as u32];
        for (name, copies) in COPIES {
            let map = loaded.map(name)?;
            for at in 0..copies as u32 {
                map.set(at, &element)?;
            }
        }
        Ok(Some(Way {
            program: loaded.program("send")?,
            port,
            boxes: Arc::clone(&self.boxes),
        }))
    }
}

/// A way out of a port, for all workers.
#[derive(Clone, Debug)]
pub struct Way {
    program: Program,
    port: u32,
    boxes: Arc<Boxes>,
}

impl Way {
    /// A box for one more worker, for all ports of the same forwarder; `None` when all are taken.
    pub fn desk(&self) -> Option<Desk> {
        let mut free = self.boxes.free();
        Some(Desk(Arc::new(Owned {
            number: free.pop()?,
            boxes: Arc::clone(&self.boxes),
        })))
    }

    /// This way for the worker with this box.
    pub fn sender(&self, desk: &Desk) -> Sender {
        let mut order = Box::new([0; LONGEST]);
        let words = [desk.0.number as u32, self.port];
        for (to, word) in order.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        Sender {
            program: self.program.clone(),
            desk: desk.clone(),
            order,
        }
    }
}

impl Boxes {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's box: its senders use it one after the other. It is free again when the last has gone.
#[derive(Clone, Debug)]
pub struct Desk(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    number: usize,
    boxes: Arc<Boxes>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.boxes.free().push(self.number);
    }
}

/// What became of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The first so many frames were given to the device; it was not asked for the others.
    pub given: usize,
    /// A bit for each of those that it did not take.
    pub refused: u64,
}

/// A worker's way out of one port.
#[derive(Debug)]
pub struct Sender {
    program: Program,
    desk: Desk,
    /// The live frame, which begins with what the programs are to do.
    order: Box<[u8; LONGEST]>,
}

impl Sender {
    /// Sends frames, as many from the first on as a run takes.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> Sent {
        let Owned { number, boxes } = &*self.desk.0;
        let (words, head) = (&boxes.words, number * BOX_WORDS);
        let (mut at, mut count, mut first) = (0, 0, 0);
        for frame in frames.take(MOST_SENT) {
            if at > LAST || !(ORDER - 2..=LONGEST).contains(&frame.len()) {
                break;
            }
            let here = head + HEAD_WORDS + at / 8;
            words.write(here, frame.len() as u64);
            words.copy_in(here + 1, frame);
            at += 8 + frame.len().next_multiple_of(8);
            count += 1;
            if count == 1 {
                first = frame.len().max(ORDER);
            }
        }
        let enough = COPIES.into_iter().find(|(_, copies)| count < *copies);
        let (Some((_, copies)), true) = (enough, count > 0) else {
            return Sent::default();
        };
        self.order[8..12].copy_from_slice(&(copies as u32).to_ne_bytes());
        words.write(head + 1, (copies - 1 - count) as u64);
        words.write(head + 2, 0);
        words.write(head + 3, 0);
        words.write(head, count as u64);
        // What is left says how far it came.
        let _refused = run_live(self.program.as_fd(), &self.order[..first], 1, 1, 0);
        words.write(head, 0);
        let given = words.read(head + 1) >> 32;
        let told = words.read(head + 2) & 0xffff_ffff;
        Sent {
            given: given as usize,
            refused: words.read(head + 3) | (first_bits(given) & !first_bits(told)),
        }
    }
}

fn first_bits(bits: u64) -> u64 {
    1_u64
        .checked_shl(bits as u32)
        .map_or(u64::MAX, |bit| bit - 1)
}
