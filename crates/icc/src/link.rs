//! Two sides, one memory: the layout, who opens it how, and the three kinds of communication.

use crate::memory::Memory;
use crate::peer::{Peer, PeerState, PeerWatch};
use crate::ring::{Consumer, Place, Producer, RingError};
use crate::sync::Ordering;

/// "icc" and the version of the layout.
const MAGIC: u64 = 0x0069_6363_0000_0001;
/// Words of the header and of each side: four cache lines.
const LINE: usize = 32;
const HEADER: usize = 0;
const STATE: usize = 0;
const BEAT: usize = 1;
const PRIORITIES: usize = 4;
/// Message rings, the packet ring and the scalar ring of one direction, as shares of 16.
const SHARES: [usize; PRIORITIES + 2] = [1, 1, 1, 1, 8, 1];
/// The smallest data part of a ring: a record of 120 bytes.
const LEAST: usize = 16;

/// Which end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that formats the memory.
    A,
    /// The end that joins.
    B,
}

impl Side {
    fn line(self) -> usize {
        match self {
            Self::A => LINE,
            Self::B => 2 * LINE,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Who on the other side a message is for. With the link it names an MCAPI endpoint
/// (domain, node, port).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port(pub u16);

/// A message's rank. A receiver sees all urgent messages before any normal one; within a priority
/// order is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// First: faults, withdrawals.
    Urgent,
    /// Second.
    High,
    /// Third: what nobody ranks.
    Normal,
    /// Last: statistics, housekeeping.
    Low,
}

/// A message as received: its payload is in the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The sender's port.
    pub from: Port,
    /// The addressee.
    pub to: Port,
    /// The rank it was sent with.
    pub priority: Priority,
    /// Payload bytes.
    pub length: usize,
}

/// Why a link could not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The memory is too small for the rings.
    #[error("a link needs at least {needs} words of memory, got {words}")]
    Small {
        /// Words given.
        words: usize,
        /// Words needed.
        needs: usize,
    },
    /// Nobody formatted the memory, or a build with another layout did.
    #[error(
        "no link of this version in the memory (found {found:#x}): side A creates it, with the \
         same build"
    )]
    Foreign {
        /// The first word.
        found: u64,
    },
    /// No room: the other side does not keep up.
    #[error("the ring is full: the other side does not take its records; try again or drop")]
    Full,
    /// The payload is longer than the ring.
    #[error("a record of {length} bytes cannot fit, the most is {most}: make the memory larger")]
    TooLong {
        /// Bytes asked.
        length: usize,
        /// Bytes possible.
        most: usize,
    },
    /// The caller's buffer is too small; the record waits.
    #[error("the next record has {needs} bytes, the buffer {has}: call again with a larger one")]
    Buffer {
        /// Bytes of the record.
        needs: usize,
        /// Bytes of the buffer.
        has: usize,
    },
    /// The other side broke the layout's rules.
    #[error(
        "the other side left impossible positions in the memory: close the link and create it anew"
    )]
    Corrupt,
}

/// One end of a link. Not shared between threads: each side has one user per kind.
pub struct Link<M: Memory> {
    memory: M,
    side: Side,
    beat: u64,
    messages_out: [Producer<M>; PRIORITIES],
    messages_in: [Consumer<M>; PRIORITIES],
    packets_out: Producer<M>,
    packets_in: Consumer<M>,
    scalars_out: Producer<M>,
    scalars_in: Consumer<M>,
}

impl<M: Memory> Link<M> {
    /// Formats `memory` and opens side A.
    ///
    /// # Errors
    /// [`LinkError::Small`].
    pub fn create(memory: M) -> Result<Self, LinkError> {
        plan(memory.len())?;
        memory.word(HEADER).store(0, Ordering::Release);
        for index in 1..memory.len() {
            memory.word(index).store(0, Ordering::Relaxed);
        }
        memory
            .word(HEADER + 1)
            .store(memory.len() as u64, Ordering::Relaxed);
        memory.word(HEADER).store(MAGIC, Ordering::Release);
        Self::attach(memory, Side::A)
    }

    /// Opens side B of a link that side A has created.
    ///
    /// # Errors
    /// [`LinkError::Foreign`] as long as it has not.
    pub fn join(memory: M) -> Result<Self, LinkError> {
        if memory.is_empty() {
            return Err(LinkError::Small { words: 0, needs: 1 });
        }
        let found = memory.word(HEADER).load(Ordering::Acquire);
        let words = memory.word(HEADER + 1).load(Ordering::Relaxed);
        if found != MAGIC || words != memory.len() as u64 {
            return Err(LinkError::Foreign { found });
        }
        Self::attach(memory, Side::B)
    }

    fn attach(memory: M, side: Side) -> Result<Self, LinkError> {
        let (a_to_b, b_to_a) = plan(memory.len())?;
        let (out, into) = match side {
            Side::A => (a_to_b, b_to_a),
            Side::B => (b_to_a, a_to_b),
        };
        let link = Self {
            side,
            beat: memory.word(side.line() + BEAT).load(Ordering::Relaxed),
            messages_out: std::array::from_fn(|rank| Producer::new(memory.clone(), out[rank])),
            messages_in: std::array::from_fn(|rank| Consumer::new(memory.clone(), into[rank])),
            packets_out: Producer::new(memory.clone(), out[PRIORITIES]),
            packets_in: Consumer::new(memory.clone(), into[PRIORITIES]),
            scalars_out: Producer::new(memory.clone(), out[PRIORITIES + 1]),
            scalars_in: Consumer::new(memory.clone(), into[PRIORITIES + 1]),
            memory,
        };
        link.set_state(PeerState::Open);
        Ok(link)
    }

    /// Sends a message to `to`; `from` tells the receiver where an answer goes.
    ///
    /// # Errors
    /// [`LinkError::Full`], [`LinkError::TooLong`], [`LinkError::Corrupt`].
    pub fn send_message(
        &mut self,
        from: Port,
        to: Port,
        priority: Priority,
        payload: &[u8],
    ) -> Result<(), LinkError> {
        let tag = u32::from(from.0) << 16 | u32::from(to.0);
        self.messages_out[priority as usize]
            .send(tag, payload)
            .map_err(|error| sending(error, payload.len()))
    }

    /// The most urgent message that waits, its payload in `buffer`.
    ///
    /// # Errors
    /// [`LinkError::Buffer`] (the message stays), [`LinkError::Corrupt`].
    pub fn receive_message(&mut self, buffer: &mut [u8]) -> Result<Option<Message>, LinkError> {
        let ranks = [
            Priority::Urgent,
            Priority::High,
            Priority::Normal,
            Priority::Low,
        ];
        for (ring, priority) in self.messages_in.iter_mut().zip(ranks) {
            let has = buffer.len();
            if let Some((tag, length)) = ring.receive(buffer).map_err(|e| receiving(e, has))? {
                return Ok(Some(Message {
                    from: Port((tag >> 16) as u16),
                    to: Port(tag as u16),
                    priority,
                    length,
                }));
            }
        }
        Ok(None)
    }

    /// Sends a packet on the packet channel.
    ///
    /// # Errors
    /// [`LinkError::Full`], [`LinkError::TooLong`], [`LinkError::Corrupt`].
    pub fn send_packet(&mut self, payload: &[u8]) -> Result<(), LinkError> {
        self.packets_out
            .send(0, payload)
            .map_err(|error| sending(error, payload.len()))
    }

    /// The next packet's length, its bytes in `buffer`.
    ///
    /// # Errors
    /// [`LinkError::Buffer`] (the packet stays), [`LinkError::Corrupt`].
    pub fn receive_packet(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, LinkError> {
        let has = buffer.len();
        let record = self
            .packets_in
            .receive(buffer)
            .map_err(|e| receiving(e, has))?;
        Ok(record.map(|(_, length)| length))
    }

    /// Sends a scalar: anything of 8 to 64 bits, widened.
    ///
    /// # Errors
    /// [`LinkError::Full`], [`LinkError::Corrupt`].
    pub fn send_scalar(&mut self, value: impl Into<u64>) -> Result<(), LinkError> {
        self.scalars_out
            .send(0, &value.into().to_le_bytes())
            .map_err(|error| sending(error, 8))
    }

    /// The next scalar.
    ///
    /// # Errors
    /// [`LinkError::Corrupt`].
    pub fn receive_scalar(&mut self) -> Result<Option<u64>, LinkError> {
        let mut value = [0; 8];
        match self.scalars_in.receive(&mut value) {
            Ok(None) => Ok(None),
            Ok(Some((_, 8))) => Ok(Some(u64::from_le_bytes(value))),
            Ok(Some(_)) | Err(_) => Err(LinkError::Corrupt),
        }
    }

    /// Says "still here" to the other side. Call it once per turn of the loop.
    pub fn beat(&mut self) {
        self.beat += 1;
        self.memory
            .word(self.side.line() + BEAT)
            .store(self.beat, Ordering::Relaxed);
    }

    /// What is known of the other side at `now_ns`.
    pub fn peer(&self, watch: &mut PeerWatch, now_ns: u64) -> Peer {
        let line = self.side.other().line();
        let state = self.memory.word(line + STATE).load(Ordering::Acquire);
        let beat = self.memory.word(line + BEAT).load(Ordering::Relaxed);
        watch.observe(PeerState::of(state), beat, now_ns)
    }

    fn set_state(&self, state: PeerState) {
        self.memory
            .word(self.side.line() + STATE)
            .store(state as u64, Ordering::Release);
    }
}

impl<M: Memory> Drop for Link<M> {
    fn drop(&mut self) {
        self.set_state(PeerState::Closed);
    }
}

type Direction = [Place; PRIORITIES + 2];

/// Divides the memory: a direction each way, rings by their shares, each a power of two of words.
fn plan(words: usize) -> Result<(Direction, Direction), LinkError> {
    let fixed = 3 * LINE + 2 * SHARES.len() * Place::words(0);
    let shares: usize = SHARES.iter().sum();
    let unit = words.saturating_sub(fixed) / (2 * shares);
    if unit < LEAST {
        return Err(LinkError::Small {
            words,
            needs: fixed + 2 * shares * LEAST,
        });
    }
    let unit = 1_usize << unit.ilog2();
    let mut next = 3 * LINE;
    let mut direction = || {
        SHARES.map(|share| {
            let place = Place {
                first: next,
                capacity: unit * share,
            };
            next += Place::words(place.capacity);
            place
        })
    };
    Ok((direction(), direction()))
}

fn sending(error: RingError, length: usize) -> LinkError {
    match error {
        RingError::Full => LinkError::Full,
        RingError::TooLong { most } => LinkError::TooLong { length, most },
        RingError::Buffer { .. } | RingError::Corrupt => LinkError::Corrupt,
    }
}

fn receiving(error: RingError, has: usize) -> LinkError {
    match error {
        RingError::Buffer { needs } => LinkError::Buffer { needs, has },
        RingError::Full | RingError::TooLong { .. } | RingError::Corrupt => LinkError::Corrupt,
    }
}
