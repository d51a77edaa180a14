//! Frames replayed from memory for ever; what is transmitted is counted and dropped.
//!
//! The counterpart of DPDK's pcap driver with `infinite_rx`: every receive copies the next frames
//! of a [`Replay`] into fresh buffers, every transmit releases the buffers. There is no system call
//! and no other program in it, so a worker between two memory ports runs at its own speed.
//!
//! Memory: a replay is read by any number of ports at once and written by none. The first 64 bytes
//! of each frame, which is all that a router reads, are stored frame by frame; the rest is stored
//! once if it is the same for all, as a payload of test traffic is. So a million distinct frames
//! take 64 MiB at any frame size. The copy into the buffer is always of the whole frame.
//!
//! What it cannot do: wait. A worker on memory ports never idles, so its rate is a closed loop's:
//! the frames it forwards a second are what it can forward at most, and none is lost.

use std::sync::Arc;

use crate::pool::LINE;
use crate::{Burst, Pool, Port, PortError};

/// Frames further ahead than this many lines have had their memory fetched: two bursts.
const PREFETCH_DISTANCE: usize = 2 * Burst::CAPACITY;

/// One cache line, so that a frame's head is one line and not two halves.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u8; LINE]);

/// What is behind the head of each frame.
#[derive(Debug)]
enum Tails {
    /// Every frame has this length and these bytes behind its head.
    Same { length: u16, tail: Vec<u8> },
    /// Frame by frame: length, and where its bytes behind the head begin.
    Each {
        lengths: Vec<u16>,
        starts: Vec<usize>,
        bytes: Vec<u8>,
    },
}

/// Frames to replay.
#[derive(Debug)]
pub struct Replay {
    heads: Vec<Line>,
    tails: Tails,
}

/// Why frames cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to replay.
    #[error("no frame to replay; give at least one")]
    Empty,
    /// A frame has an impossible length.
    #[error(
        "frame {number} is {length} bytes long; a replay takes 1 to {} bytes",
        Replay::LONGEST
    )]
    Length {
        /// Which, counted from 0.
        number: usize,
        /// Its bytes.
        length: usize,
    },
}

impl Replay {
    /// The longest frame: what a buffer of an ordinary pool holds.
    pub const LONGEST: usize = 2048;

    /// Frames that differ in their first 64 bytes only: `heads` gives those, `template` the length
    /// and whatever is behind. The frames of test traffic.
    ///
    /// # Errors
    /// [`ReplayError`] when there is no frame or the template's length is impossible.
    pub fn uniform(
        template: &[u8],
        heads: impl IntoIterator<Item = [u8; LINE]>,
    ) -> Result<Self, ReplayError> {
        if template.is_empty() || template.len() > Self::LONGEST {
            return Err(ReplayError::Length {
                number: 0,
                length: template.len(),
            });
        }
        let heads: Vec<Line> = heads.into_iter().map(Line).collect();
        if heads.is_empty() {
            return Err(ReplayError::Empty);
        }
        let tail = template.get(LINE..).unwrap_or_default().to_vec();
        Ok(Self {
            heads,
            tails: Tails::Same {
                length: template.len() as u16,
                tail,
            },
        })
    }

    /// Any frames, each stored whole.
    ///
    /// # Errors
    /// [`ReplayError`] when there is no frame or one has an impossible length.
    pub fn of<'a>(frames: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, ReplayError> {
        let (mut heads, mut lengths, mut starts, mut bytes) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, frame) in frames.into_iter().enumerate() {
            if frame.is_empty() || frame.len() > Self::LONGEST {
                return Err(ReplayError::Length {
                    number,
                    length: frame.len(),
                });
            }
            let mut head = [0; LINE];
            let near = frame.len().min(LINE);
            head[..near].copy_from_slice(&frame[..near]);
            heads.push(Line(head));
            lengths.push(frame.len() as u16);
            starts.push(bytes.len());
            bytes.extend_from_slice(&frame[near..]);
        }
        if heads.is_empty() {
            return Err(ReplayError::Empty);
        }
        Ok(Self {
            heads,
            tails: Tails::Each {
                lengths,
                starts,
                bytes,
            },
        })
    }

    /// Distinct frames.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Never: a replay has at least one frame.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Copies as many frames from `position` on as `burst` has room for and the end of the replay
    /// allows.
    #[inline]
    fn copy_into(&self, position: usize, pool: &mut Pool, burst: &mut Burst) -> usize {
        let first = burst.len();
        match &self.tails {
            Tails::Same { length, tail } => {
                let count = pool.allocate_burst(self.heads.len() - position, *length, burst);
                for (frame, head) in burst.frames()[first..].iter().zip(&self.heads[position..]) {
                    *pool.line_mut(frame) = head.0;
                }
                if !tail.is_empty() {
                    for frame in &burst.frames()[first..] {
                        pool.bytes_mut(frame)[LINE..].copy_from_slice(tail);
                    }
                }
                count
            }
            Tails::Each {
                lengths,
                starts,
                bytes,
            } => {
                let mut count = 0;
                for ((head, &length), &start) in
                    self.heads.iter().zip(lengths).zip(starts).skip(position)
                {
                    if burst.room() == 0 {
                        break;
                    }
                    let Some(frame) = pool.allocate(length) else {
                        break;
                    };
                    *pool.line_mut(&frame) = head.0;
                    if let Some(rest) = usize::from(length).checked_sub(LINE) {
                        pool.bytes_mut(&frame)[LINE..].copy_from_slice(&bytes[start..start + rest]);
                    }
                    let pushed = burst.push(frame);
                    debug_assert!(pushed.is_ok(), "there was room");
                    count += 1;
                }
                count
            }
        }
    }

    /// Asks the memory for what the receive after the next one will read.
    #[inline]
    fn prefetch(&self, position: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in self
            .heads
            .iter()
            .skip(position + PREFETCH_DISTANCE)
            .take(Burst::CAPACITY)
        {
            // SAFETY: a prefetch reads nothing architecturally; the address is that of a live
            // element.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                    line.0.as_ptr().cast(),
                );
            }
        }
    }
}

/// A port between a [`Replay`] and nowhere.
#[derive(Debug)]
pub struct MemoryPort {
    name: String,
    replay: Arc<Replay>,
    position: usize,
}

impl MemoryPort {
    /// A port that begins with frame `first` of the replay (modulo its length), so that several
    /// workers do not walk through it in step.
    pub fn new(name: impl Into<String>, replay: Arc<Replay>, first: usize) -> Self {
        let position = first % replay.len();
        Self {
            name: name.into(),
            replay,
            position,
        }
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let count = self.replay.copy_into(self.position, pool, burst);
        self.replay.prefetch(self.position);
        self.position += count;
        if self.position >= self.replay.len() {
            self.position = 0;
        }
        Ok(count)
    }

    #[inline]
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let count = burst.len();
        pool.release_all(burst);
        Ok(count)
    }
}
