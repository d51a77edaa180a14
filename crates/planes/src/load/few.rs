//! Frames that leave through a packet socket: for streams of which only a few are due at a time.
//!
//! Frames that the kernel makes ([`Generator::send`]) lie in memory that it sets up for each call
//! and clears away with the last of them. When some still wait in a queue as the call ends, it
//! looks for them again a second later, under one of 65,534 numbers that such memories have
//! (`page_pool_release_retry`, `net/core/page_pool.c`; `MEM_ID_MAX`, `net/core/xdp.c`), and each
//! look goes through all memories that there are. Guests keep frames waiting, at thousands of calls
//! a second: the clearing took 7 % of a core here, and where a guest had fallen behind for seconds
//! no number was left. A packet socket copies a frame into the kernel's ordinary memory, for
//! more time a frame and none a call: 1.2 µs, against 9 µs and 0.5 µs a frame with all that is done
//! until they are received.

use fastpath::generate::{Generator, Signature};
use host::clock::now_ns;
use port::packet::Outlet;
use port::pool::Layout;
use port::{Burst, Pool, PortError};

use crate::error::Error;

/// Frames that one stream may send in a tick this way: as many take as long in either.
pub(super) const FEW: f64 = 50.0;
/// Frames handed to the kernel at once: the last one's departure is stamped some 20 µs before it
/// leaves.
const BURST: usize = 16;
/// Bytes of frames on their way, with all that the kernel counts to them: more than a cable's end
/// takes, so that it is the end that is full.
const ROOM: usize = 4 << 20;
/// Where an IPv4 datagram's UDP checksum is; zero: none (RFC 768).
const UDP_CHECKSUM: std::ops::Range<usize> = 40..42;

/// Bytes before the payload: the headers of an untagged IPv4 datagram.
pub(super) const HEAD: usize = 14 + 20 + 8;

/// The same frames as a generator's, sent in user space.
#[derive(Debug)]
pub(super) struct FewFrames {
    outlet: Outlet,
    pool: Pool,
    /// One for each destination, by turns.
    heads: Vec<[u8; HEAD]>,
    next: usize,
    length: u16,
    stream: u16,
    sequence: u32,
}

impl FewFrames {
    /// The frames of `generator`, which sends `length` bytes to `destinations` by turns, into
    /// `interface` of the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error`].
    pub(super) fn like(
        generator: &mut Generator,
        destinations: usize,
        length: u16,
        stream: u16,
        interface: &str,
    ) -> Result<Self, Error> {
        let heads = (0..destinations).map(|_| Ok(head(&generator.preview()?)));
        Ok(Self {
            outlet: Outlet::open(interface)?.with_room(ROOM)?,
            pool: Pool::new(Layout::holding(BURST as u32, u32::from(length)))?,
            heads: heads.collect::<Result<_, Error>>()?,
            next: 0,
            length,
            stream,
            sequence: 0,
        })
    }

    /// Sends `count` frames. Those that the cable's other end has no room for are lost there, as
    /// the generator's are.
    ///
    /// # Errors
    /// The interface cannot be used any more.
    pub(super) fn send(&mut self, count: u32) -> Result<(), PortError> {
        let mut left = count as usize;
        let mut burst = Burst::new();
        while left > 0 {
            let taken = BURST.min(left);
            self.pool.allocate_burst(taken, self.length, &mut burst);
            for frame in burst.frames() {
                let bytes = self.pool.bytes_mut(frame);
                bytes[..HEAD].copy_from_slice(&self.heads[self.next]);
                self.next = (self.next + 1) % self.heads.len();
                self.sequence = self.sequence.wrapping_add(1);
                let signature = Signature {
                    stream: self.stream,
                    sequence: self.sequence,
                    sent_ns: now_ns(),
                };
                let fits = signature.write(bytes);
                debug_assert!(fits, "the generator took frames of this length");
            }
            self.outlet.transmit(&mut self.pool, &mut burst)?;
            self.pool.release_all(&mut burst);
            left -= taken;
        }
        Ok(())
    }
}

/// The head of a generated frame, without a UDP checksum: that of the generator is right for one
/// signature only.
fn head(frame: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head.copy_from_slice(&frame[..HEAD]);
    head[UDP_CHECKSUM].fill(0);
    head
}
