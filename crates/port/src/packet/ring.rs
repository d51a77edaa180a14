//! The receive ring of a packet socket: memory that the kernel fills, slot by slot.
//!
//! A slot belongs to the kernel or to us, by one bit of its status word. The kernel sets it after
//! writing the frame; we clear it after reading. Nothing else synchronises the two, so the status
//! is read with Acquire and written with Release.

use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::MmapRaw;

use super::interface::longest_frame;
use super::socket::Socket;
use crate::PortError;

/// Bytes of a ring: some milliseconds of small frames at the rates that packet sockets reach.
const RING_BYTES: usize = 8 << 20;
/// The least block: contiguous memory that the kernel allocates for the ring.
const LEAST_BLOCK: usize = 1 << 16;

/// A ring and our place in it.
#[derive(Debug)]
pub(super) struct Ring {
    memory: MmapRaw,
    slot_bytes: usize,
    slots: usize,
    next: usize,
}

/// A frame that the kernel has handed over.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    status: &'a AtomicU32,
    /// The frame, as far as it fitted, without a tag that the kernel took out.
    pub(super) bytes: &'a [u8],
    /// Whether the frame was longer than the slot.
    pub(super) is_cut: bool,
    /// The four bytes of the tag that was taken out.
    pub(super) tag: Option<[u8; 4]>,
    /// Whether its sender left the checksum to the card.
    pub(super) checksum_is_partial: bool,
}

impl Slot<'_> {
    /// Gives the slot back to the kernel.
    pub(super) fn release(self) {
        self.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

impl Ring {
    /// A ring on the socket whose slots hold any frame of an interface with this MTU.
    pub(super) fn new(socket: &Socket, mtu: u32) -> Result<Self, PortError> {
        // Header, address and alignment before the frame take less than 128 bytes (if_packet.h).
        let slot_bytes = (longest_frame(mtu) + 128).next_power_of_two();
        let block_bytes = slot_bytes.max(LEAST_BLOCK);
        let blocks = (RING_BYTES / block_bytes).max(2);
        let bytes = blocks * block_bytes;
        let slots = bytes / slot_bytes;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        let memory = socket.map_ring(&request, bytes)?;
        Ok(Self {
            memory,
            slot_bytes,
            slots,
            next: 0,
        })
    }

    /// The next frame, if the kernel has one for us. Call [`Slot::release`] before asking again.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Slot<'_>> {
        // SAFETY: `next` is below `slots`, so the slot lies within the mapping; it begins with a
        // `tpacket2_hdr`, whose first field is the aligned status word that both sides access
        // atomically.
        let (start, status) = unsafe {
            let start = self.memory.as_mut_ptr().add(self.next * self.slot_bytes);
            (start, AtomicU32::from_ptr(start.cast()))
        };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.next = if self.next + 1 == self.slots {
            0
        } else {
            self.next + 1
        };
        #[allow(
            clippy::cast_ptr_alignment,
            reason = "slots are powers of two apart from the start of a page"
        )]
        // SAFETY: the kernel has handed the slot over and writes to it no more until we release it.
        let header = unsafe { start.cast::<libc::tpacket2_hdr>().read() };
        let offset = usize::from(header.tp_mac).min(self.slot_bytes);
        let length = (header.tp_snaplen as usize).min(self.slot_bytes - offset);
        // SAFETY: offset and length have been bounded by the slot, which is ours until it is
        // released.
        let bytes = unsafe { std::slice::from_raw_parts(start.add(offset), length) };
        let tag = (flags & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let protocol = if flags & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
                wire::ethernet::TYPE_VLAN
            } else {
                header.tp_vlan_tpid
            };
            let ([a, b], [c, d]) = (protocol.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
            [a, b, c, d]
        });
        Some(Slot {
            status,
            bytes,
            is_cut: header.tp_len > header.tp_snaplen,
            tag,
            checksum_is_partial: flags & libc::TP_STATUS_CSUMNOTREADY != 0,
        })
    }

    /// Gives every waiting frame back unread.
    pub(super) fn skip_all(&mut self) {
        while let Some(slot) = self.next() {
            slot.release();
        }
    }
}
